//! The search: paths that compete, each moved until it fits.
//!
//! Each round tries every number of a path a step up and a step down, with the same seeds, and then the minima of the
//! parabolas through these, all together. Steps shrink where nothing is better. How steep the parabolas are at the end says
//! what range of a number fits nearly as well.

use crate::error::FitError;
use crate::figures::{self, FIGURES, LogFigures};
use crate::flows::FittedFlow;
use crate::listen::Listener;
use crate::misfit;
use crate::model::FitFigures;
use crate::newton::{self, Tangent};
use crate::path_model::{A_NUMBER, FitParameter, FittedLimiter, FittedPath};
use crate::scenario_text::{PathShape, TrialFrame};
use crate::signature::SignatureFrame;
use crate::trial::{TrialRunner, scenario};

/// Seeds of each trial of the search.
pub const SEEDS: u32 = 2;
/// Kinds of paths that are moved; the others are given up after their first trial.
const MOVED: usize = 4;
/// Others that are moved where only summaries are known: five figures are met by more than one rate and bucket.
const MORE: usize = 3;
/// Rounds of one path at most, and those after which the others are looked at.
const ROUNDS: usize = 7;
const FIRST_ROUNDS: usize = 2;
/// A path that costs more than the best by this, and by more than the best costs, is given up.
const HOPELESS: f64 = 60.0;
/// A path that costs less than this fits, and those that cost so much more at first are no rivals.
const FITS: f64 = 40.0;
const NO_RIVAL: f64 = 150.0;
/// A rise of the misfit that is told as fitting nearly as well: two standard deviations.
pub const NEARLY: f64 = 4.0;

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
    /// By how much each is moved next; empty before the first round.
    steps: Vec<(FitParameter, f64)>,
}

/// Finds paths.
pub struct PathSearch<'s, 'a, 'w> {
    /// What runs.
    pub runner: &'s mut TrialRunner<'a, 'w>,
    /// What all trials have in common.
    pub frame: &'s TrialFrame,
    /// What is aimed at.
    pub captured: LogFigures,
    /// How packets of trials are looked at, where those of the capture were.
    pub listening: Option<SignatureFrame>,
    /// Data packets that may be simulated.
    pub budget: u64,
    /// Where only summaries are known: all that was tried with [`SEEDS`] seeds or more. Five figures are met by paths far apart, on
    /// whose way the bend at the best says nothing.
    pub tried: Vec<TriedPath>,
}

impl PathSearch<'_, '_, '_> {
    /// All paths that were moved, the best first. `others` are flows that may have been instead of `flows`, and what each costs.
    pub fn run(
        &mut self,
        begin: Vec<FittedPath>,
        flows: &[FittedFlow],
        others: &[(Vec<FittedFlow>, f64)],
    ) -> Result<Vec<TriedPath>, FitError> {
        let none = [0.0; FIGURES];
        let tried = |path: FittedPath| TriedPath {
            first: path.clone(),
            path,
            flows: flows.to_vec(),
            mean: none,
            spread: none,
            cost: f64::INFINITY,
            ranges: Vec::new(),
            steps: Vec::new(),
        };
        let mut all: Vec<TriedPath> = begin.into_iter().map(tried).collect();
        self.evaluate(&mut all, 1, None)?;
        for path in &mut all {
            self.set_right(path);
        }
        self.evaluate(&mut all, SEEDS, None)?;
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut all = of_each_kind(all, if self.listening.is_none() { MORE } else { 1 });
        let best = all.first().map_or(0.0, |p| p.cost);
        all.retain(|p| best > FITS || p.cost < best + NO_RIVAL);
        for path in &mut all {
            self.change_flows(path, others)?;
        }
        self.evaluate(&mut all, 2 * SEEDS, None)?;
        // Those that stay far behind are given up, and leave what remains of their share to the others.
        for (rounds, share) in [(FIRST_ROUNDS, 0.4), (ROUNDS - FIRST_ROUNDS, 1.0)] {
            let left = self.budget.saturating_sub(self.runner.packets) as f64;
            let each = (left * share / all.len().max(1) as f64) as u64;
            for path in &mut all {
                let until = self.runner.packets + each;
                self.settle(path, rounds, until)?;
            }
            all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            let best = all.first().map_or(0.0, |p| p.cost);
            all.retain(|p| p.cost < best + HOPELESS.max(best));
            if rounds == FIRST_ROUNDS {
                for path in &mut all {
                    self.change_flows(path, others)?;
                }
            }
        }
        Ok(all)
    }

    /// Takes other flows where these fit better.
    fn change_flows(
        &mut self,
        tried: &mut TriedPath,
        others: &[(Vec<FittedFlow>, f64)],
    ) -> Result<(), FitError> {
        let other = |(flows, handicap): &(Vec<FittedFlow>, f64)| {
            let path = FittedPath { handicap: tried.first.handicap + handicap, ..tried.path.clone() };
            TriedPath { flows: flows.clone(), path, ..tried.clone() }
        };
        let mut all: Vec<TriedPath> = others.iter().map(other).filter(|o| o.flows != tried.flows).collect();
        if all.is_empty() {
            return Ok(());
        }
        all.push(tried.clone());
        self.evaluate(&mut all, SEEDS, None)?;
        if let Some(best) = all.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost)) {
            *tried = best;
        }
        Ok(())
    }

    /// Runs paths and says what they cost. `spread`: what chance makes, where it is known already.
    pub fn evaluate(
        &mut self,
        paths: &mut [TriedPath],
        seeds: u32,
        spread: Option<LogFigures>,
    ) -> Result<(), FitError> {
        let scenarios: Result<Vec<_>, _> =
            paths.iter().map(|p| scenario(&p.path, &p.flows, self.frame, PathShape::default())).collect();
        let listener = self.listening.map(Listener::new);
        let runs = self.runner.run(scenarios?, seeds, listener.as_ref())?;
        let heard = listener.map(|l| l.signatures(paths.len()));
        for (i, path) in paths.iter_mut().enumerate() {
            let logs: Vec<LogFigures> = match &heard {
                Some(heard) => heard[i].clone(),
                None => runs[i].iter().map(|v| misfit::simulated(v, &path.flows)).collect(),
            };
            let (mean, own) = figures::mean_and_spread(&logs);
            path.mean = mean;
            path.spread = spread.unwrap_or(own);
            path.cost =
                misfit::misfit(&self.captured, &mean, &path.spread) + path.path.handicap + strain(path);
            if self.listening.is_none() {
                path.cost += misfit::told_spread(&path.spread);
                if seeds >= SEEDS {
                    self.tried.push(path.clone());
                }
            }
        }
        Ok(())
    }

    /// What needs no search: the base round trip, and a jitter where no queue explains that the median is above the least.
    fn set_right(&self, tried: &mut TriedPath) {
        let fitted = figures::figures(&tried.mean);
        let captured = &figures::figures(&self.captured);
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
    fn settle(&mut self, tried: &mut TriedPath, rounds: usize, until: u64) -> Result<(), FitError> {
        let spread = tried.spread;
        let mut steps = std::mem::take(&mut tried.steps);
        if steps.is_empty() {
            self.evaluate(std::slice::from_mut(tried), SEEDS, Some(spread))?;
            steps = tried.path.free.iter().map(|(p, sure)| (*p, (1.5 * sure).clamp(0.004, 0.7))).collect();
        }
        for _ in 0..rounds {
            if self.runner.packets >= until || steps.is_empty() {
                break;
            }
            let before = tried.cost;
            let better = self.round(tried, &steps, spread)?;
            if !better || before - tried.cost < 0.5 {
                steps.iter_mut().for_each(|s| s.1 *= 0.4);
                if steps.iter().all(|(_, s)| *s < 0.01) {
                    break;
                }
            }
        }
        tried.steps = steps;
        Ok(())
    }

    /// Where the numbers should go by how the figures answered to their steps.
    fn newton(
        &self,
        tried: &TriedPath,
        around: &[TriedPath],
        steps: &[(FitParameter, f64)],
        spread: &LogFigures,
    ) -> Option<Vec<(FitParameter, f64)>> {
        let tangent = |(pair, (parameter, step)): (&[TriedPath], &(FitParameter, f64))| {
            let sure = tried.path.sure(*parameter);
            Tangent {
                slope: std::array::from_fn(|i| (pair[1].mean[i] - pair[0].mean[i]) / (2.0 * step)),
                strain: (tried.path.get(*parameter) / tried.first.get(*parameter)).ln(),
                precision: 1.0 / (sure * sure),
            }
        };
        let tangents: Vec<Tangent> = around.chunks(2).zip(steps).map(tangent).collect();
        let residuals = std::array::from_fn(|i| tried.mean[i] - self.captured[i]);
        let weights = misfit::weights(&self.captured, &tried.mean, spread);
        let by = newton::step(&tangents, &residuals, &weights)?;
        Some(steps.iter().zip(by).map(|(s, by)| (s.0, by.clamp(-FARTHEST, FARTHEST))).collect())
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
            // What nothing answers to is known as well as before.
            let sure = tried.path.sure(parameter);
            let half = if bend > 1e-9 { (2.0 * NEARLY / bend).sqrt() * step } else { 2.0 * sure };
            ranges.push((parameter, half.min(2.0 * sure).min(1.5)));
        }
        let mut last = vec![moved(&all_moves)];
        if let Some(by) = self.newton(tried, &around, steps, &spread) {
            last.push(moved(&by));
            last.push(moved(&by.iter().map(|(p, by)| (*p, by / 2.0)).collect::<Vec<_>>()));
        }
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

/// The farthest that a number is moved at once, of its logarithm.
const FARTHEST: f64 = 0.7;

/// Those that are moved: the best of each kind, and so many of the best others.
fn of_each_kind(sorted: Vec<TriedPath>, more: usize) -> Vec<TriedPath> {
    let mut kinds: Vec<(FittedLimiter, bool, bool, bool)> = Vec::new();
    let (mut best, mut others) = (Vec::new(), Vec::new());
    for tried in sorted {
        let path = &tried.path;
        let kind = (path.limiter, path.loss > 0.0, path.cross.is_empty(), path.refilled_at_once);
        if kinds.contains(&kind) {
            others.push(tried);
        } else {
            kinds.push(kind);
            best.push(tried);
        }
    }
    best.truncate(MOVED);
    best.extend(others.into_iter().take(more));
    best
}

/// What it costs that numbers are not those of the first guess.
fn strain(tried: &TriedPath) -> f64 {
    let one = |(p, sure): &(FitParameter, f64)| {
        let (now, then) = (tried.path.get(*p), tried.first.get(*p));
        if now > 0.0 && then > 0.0 { ((now / then).ln() / sure).powi(2) } else { 0.0 }
    };
    tried.path.free.iter().map(|p| one(p) + A_NUMBER).sum()
}
