//! The search: paths that compete, each moved until it fits.
//!
//! Each round tries every number of a path a step up and a step down, with the same seeds, and then the minima of the
//! parabolas through these, all together. Steps shrink where nothing is better. How steep the parabolas are at the end says
//! what range of a number fits nearly as well.

use crate::FitError;
use crate::flows::FittedFlow;
use crate::misfit::{self, LogFigures};
use crate::model::FitFigures;
use crate::path_model::{FitParameter, FittedPath};
use crate::trial::{TrialFrame, TrialRunner, scenario};

/// Seeds of each trial of the search.
pub const SEEDS: u32 = 2;
/// Paths that are moved; the others are given up after their first trial.
const MOVED: usize = 3;
/// Rounds of one path at most.
const ROUNDS: usize = 6;
/// A rise of the misfit that is told as fitting nearly as well: two standard deviations.
const NEARLY: f64 = 4.0;

/// A path that was tried.
#[derive(Clone, Debug)]
pub struct TriedPath {
    /// The path.
    pub path: FittedPath,
    /// Its flows.
    pub flows: Vec<FittedFlow>,
    /// What it began as.
    pub first: FittedPath,
    /// Means over seeds.
    pub mean: LogFigures,
    /// Standard deviations over seeds.
    pub spread: LogFigures,
    /// Misfit, with what the first guess costs.
    pub cost: f64,
    /// Each free number, and the half-width of the range of its logarithm that fits nearly as well.
    pub ranges: Vec<(FitParameter, f64)>,
}

/// Finds paths.
pub struct PathSearch<'s, 'a, 'w> {
    /// What runs.
    pub runner: &'s mut TrialRunner<'a, 'w>,
    /// What all trials have in common.
    pub frame: &'s TrialFrame,
    /// What is aimed at.
    pub captured: FitFigures,
    /// Data packets that may be simulated.
    pub budget: u64,
}

impl PathSearch<'_, '_, '_> {
    /// All paths that were moved, the best first.
    pub fn run(&mut self, begin: Vec<(FittedPath, Vec<FittedFlow>)>) -> Result<Vec<TriedPath>, FitError> {
        let none = [0.0; misfit::FIGURES];
        let tried = |(path, flows): (FittedPath, Vec<FittedFlow>)| TriedPath {
            first: path.clone(),
            path,
            flows,
            mean: none,
            spread: none,
            cost: f64::INFINITY,
            ranges: Vec::new(),
        };
        let mut all: Vec<TriedPath> = begin.into_iter().map(tried).collect();
        self.evaluate(&mut all, 2 * SEEDS, None)?;
        for path in &mut all {
            self.set_right(path);
        }
        self.evaluate(&mut all, 2 * SEEDS, None)?;
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let best = all.first().map_or(0.0, |p| p.cost);
        all.retain(|p| p.cost < best + 300.0);
        all.truncate(MOVED);
        let each = self.budget.saturating_sub(self.runner.packets) / all.len().max(1) as u64;
        for path in &mut all {
            let until = self.runner.packets + each;
            self.settle(path, until)?;
        }
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(all)
    }

    /// Runs paths and says what they cost. `spread`: what chance makes, where it is known already.
    pub fn evaluate(
        &mut self,
        paths: &mut [TriedPath],
        seeds: u32,
        spread: Option<LogFigures>,
    ) -> Result<(), FitError> {
        let scenarios: Result<Vec<_>, _> =
            paths.iter().map(|p| scenario(&p.path, &p.flows, self.frame)).collect();
        let runs = self.runner.run(scenarios?, seeds)?;
        let aim = misfit::logs(&self.captured);
        for (path, runs) in paths.iter_mut().zip(&runs) {
            let logs: Vec<LogFigures> =
                runs.iter().map(|v| misfit::logs(&misfit::simulated(v, &path.flows))).collect();
            let (mean, own) = misfit::mean_and_spread(&logs);
            path.mean = mean;
            path.spread = spread.unwrap_or(own);
            path.cost = misfit::misfit(&aim, &mean, &path.spread) + path.path.handicap + strain(path);
        }
        Ok(())
    }

    /// What needs no search: the base round trip, and a jitter where no queue explains that the median is above the least.
    fn set_right(&self, tried: &mut TriedPath) {
        let fitted = misfit::figures(&tried.mean);
        let captured = &self.captured;
        if fitted.rtt_min_ms <= 0.0 || captured.rtt_min_ms <= 0.0 {
            return;
        }
        let above = |f: &FitFigures| f.rtt_p50_ms - f.rtt_min_ms;
        let jitter = above(captured) - above(&fitted);
        let explains = [FitParameter::Queue, FitParameter::Window, FitParameter::SendBuffer];
        let queues = tried.path.free.iter().any(|(p, _)| explains.contains(p));
        let mut rtt = tried.path.rtt + (captured.rtt_min_ms - fitted.rtt_min_ms) / 1e3;
        if !queues && jitter > 0.01 * captured.rtt_min_ms {
            let half = (jitter / 1e3).min(tried.path.rtt / 4.0);
            tried.path = tried.path.with(FitParameter::Jitter, half);
            tried.path.free.push((FitParameter::Jitter, 1.0));
            rtt += half;
        }
        if (rtt / tried.path.rtt).ln().abs() < 0.7 {
            tried.path = tried.path.with(FitParameter::Rtt, rtt);
        }
        tried.first = tried.path.clone();
    }

    /// Moves a path until it fits, or as many packets are simulated.
    fn settle(&mut self, tried: &mut TriedPath, until: u64) -> Result<(), FitError> {
        let spread = tried.spread;
        self.evaluate(std::slice::from_mut(tried), SEEDS, Some(spread))?;
        let mut steps: Vec<(FitParameter, f64)> =
            tried.path.free.iter().map(|(p, sure)| (*p, (1.5 * sure).clamp(0.004, 0.7))).collect();
        for _ in 0..ROUNDS {
            if self.runner.packets >= until || steps.is_empty() {
                break;
            }
            let before = tried.cost;
            let better = self.round(tried, &steps, spread)?;
            if !better || before - tried.cost < 0.5 {
                steps.iter_mut().for_each(|s| s.1 *= 0.4);
                if tried.cost < 1.0 || steps.iter().all(|(_, s)| *s < 0.01) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// One round; whether it found something better.
    fn round(
        &mut self,
        tried: &mut TriedPath,
        steps: &[(FitParameter, f64)],
        spread: LogFigures,
    ) -> Result<bool, FitError> {
        let moved = |by: &[(FitParameter, f64)]| {
            let path =
                by.iter().fold(tried.path.clone(), |path, (p, by)| path.with(*p, path.get(*p) * by.exp()));
            TriedPath { path, ..tried.clone() }
        };
        let mut around: Vec<TriedPath> =
            steps.iter().flat_map(|&(p, step)| [moved(&[(p, -step)]), moved(&[(p, step)])]).collect();
        self.evaluate(&mut around, SEEDS, Some(spread))?;
        let mut all_moves = Vec::new();
        let mut ranges = Vec::new();
        for (pair, &(parameter, step)) in around.chunks(2).zip(steps) {
            let (down, up) = (pair[0].cost, pair[1].cost);
            let bend = down + up - 2.0 * tried.cost;
            let slope = (up - down) / 2.0;
            let by = match bend > 1e-9 {
                true => (-slope / bend).clamp(-1.5, 1.5),
                false => (-slope).signum() * 1.5,
            };
            if by.abs() > 0.02 {
                all_moves.push((parameter, by * step));
            }
            let half = if bend > 1e-9 { (2.0 * NEARLY / bend).sqrt() * step } else { 1.5 };
            ranges.push((parameter, half.min(1.5)));
        }
        let mut last =
            [moved(&all_moves), moved(&all_moves.iter().map(|(p, by)| (*p, by / 2.0)).collect::<Vec<_>>())];
        self.evaluate(&mut last, SEEDS, Some(spread))?;
        tried.ranges = ranges;
        let best = around.iter().chain(&last).min_by(|a, b| a.cost.total_cmp(&b.cost));
        match best.filter(|b| b.cost < tried.cost) {
            Some(best) => {
                (tried.path, tried.mean, tried.cost) = (best.path.clone(), best.mean, best.cost);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// What it costs that numbers are not those of the first guess.
fn strain(tried: &TriedPath) -> f64 {
    let one = |(p, sure): &(FitParameter, f64)| {
        let (now, then) = (tried.path.get(*p), tried.first.get(*p));
        if now > 0.0 && then > 0.0 { ((now / then).ln() / sure).powi(2) } else { 0.0 }
    };
    tried.path.free.iter().map(one).sum()
}
