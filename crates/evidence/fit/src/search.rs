//! The search: candidate paths compete, and each is moved until it fits.
//!
//! A round simulates a path with each free number one step up and one step down, with the same seeds, and
//! then with all numbers at the minima of the parabolas through these points. Steps shrink when nothing
//! improves. The curvature of the last parabolas gives the range of each number that fits nearly as well.
//!
//! Numbers that the diagnosis measured are not moved, and elements that it does not name are added, only if
//! that pays [`PathSearch::schwarz`].

use crate::error::FitError;
use crate::figures::{self, FIGURES, LogFigures};
use crate::flows::FittedFlow;
use crate::listen::Listener;
use crate::misfit;
use crate::model::FitFigures;
use crate::newton::{self, Tangent};
use crate::path_model::{FitParameter, FittedLimiter, FittedPath, NUMBER_COST};
use crate::scenario_text::{PathShape, TrialFrame};
use crate::signature::SignatureFrame;
use crate::trial::{TrialRunner, scenario};

/// Seeds of each trial of the search.
pub const SEEDS: u32 = 2;
/// Kinds of paths that are searched; the other kinds are dropped after their first trial.
const MAX_KINDS: usize = 4;
/// Further paths that are searched where only a summary is known: more than one rate and bucket meet its five
/// figures.
const MORE_SUMMARY_PATHS: usize = 3;
/// Most rounds of one path, and the rounds after which paths far behind the best are dropped.
const MAX_ROUNDS: usize = 7;
const FIRST_ROUNDS: usize = 2;
/// A path is dropped if its cost exceeds the best cost by this much, and is also more than twice the best
/// cost.
const MAX_EXCESS_COST: f64 = 60.0;
/// If the best path costs less than `GOOD_COST` before the search, paths that cost more by `MAX_RIVAL_EXCESS`
/// are dropped.
const GOOD_COST: f64 = 40.0;
const MAX_RIVAL_EXCESS: f64 = 150.0;
/// A rise of the cost by which a path still fits nearly as well: two standard deviations.
pub const NEARLY_EQUAL_COST: f64 = 4.0;

/// A path with the outcome of its last trial.
#[derive(Clone, Debug)]
pub struct TriedPath {
    pub path: FittedPath,
    pub flows: Vec<FittedFlow>,
    /// The first guess from which the search started.
    pub first: FittedPath,
    /// Means over seeds.
    pub mean: LogFigures,
    /// Standard deviations over seeds.
    pub spread: LogFigures,
    /// Misfit, plus the distance from the first guess, plus what the path's numbers, elements and kind cost.
    pub cost: f64,
    /// Each free number, and half of the range of its logarithm that fits nearly as well.
    pub ranges: Vec<(FitParameter, f64)>,
    /// The next step of each number's logarithm; empty before the first round.
    steps: Vec<(FitParameter, f64)>,
}

/// Searches for paths whose simulation has the figures of the capture.
pub struct PathSearch<'s, 'a, 'w> {
    pub runner: &'s mut TrialRunner<'a, 'w>,
    pub frame: &'s TrialFrame,
    /// The figures of the capture.
    pub captured: LogFigures,
    /// How figures are taken from packets; `None` where only a summary is known.
    pub listening: Option<SignatureFrame>,
    /// [`ObservedPath::schwarz`](crate::ObservedPath::schwarz) of the time that is simulated.
    pub schwarz: f64,
    /// Data packets that may be simulated.
    pub budget: u64,
    /// Where only a summary is known: all paths tried with at least [`SEEDS`] seeds. Paths with very
    /// different numbers meet its five figures, which the curvature at the best one does not show.
    pub tried: Vec<TriedPath>,
}

impl PathSearch<'_, '_, '_> {
    /// Searches from the paths of `begin` and returns those that are left, the best first. `others` are flows
    /// that may be the true ones instead of `flows`, each with its cost.
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
        self.evaluate(&mut all, SEEDS, None)?;
        self.share_spread(&mut all);
        let mut changed: Vec<TriedPath> = all.iter().filter_map(|path| self.with_jitter(path)).collect();
        let corrected: Vec<Option<TriedPath>> =
            all.iter().map(|path| self.with_corrected_rtt(path)).collect();
        let mut is_right = corrected.iter().map(Option::is_none);
        all.retain(|_| is_right.next().unwrap_or(true));
        changed.extend(corrected.into_iter().flatten());
        self.evaluate(&mut changed, SEEDS, None)?;
        all.extend(changed);
        // Random loss slows CUBIC down but not BBR: the lossy path must not be dropped because of an assumed
        // congestion control.
        let lossy = all.iter_mut().filter(|t| t.path.loss > 0.0);
        if let Some(path) = lossy.min_by(|a, b| a.path.handicap.total_cmp(&b.path.handicap)) {
            self.change_flows(path, others)?;
        }
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut all = best_of_each_kind(all, if self.listening.is_none() { MORE_SUMMARY_PATHS } else { 1 });
        let best = all.first().map_or(0.0, |p| p.cost);
        all.retain(|p| best > GOOD_COST || p.cost < best + MAX_RIVAL_EXCESS);
        for path in &mut all {
            self.change_flows(path, others)?;
        }
        self.evaluate(&mut all, 2 * SEEDS, None)?;
        // Paths far behind the best are dropped after the first rounds, and leave their share of the budget
        // to the others.
        for (rounds, share) in [(FIRST_ROUNDS, 0.4), (MAX_ROUNDS - FIRST_ROUNDS, 1.0)] {
            let left = self.budget.saturating_sub(self.runner.packets) as f64;
            let each = (left * share / all.len().max(1) as f64) as u64;
            for path in &mut all {
                let until = self.runner.packets + each;
                self.settle(path, rounds, until)?;
            }
            all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            let best = all.first().map_or(0.0, |p| p.cost);
            all.retain(|p| p.cost < best + MAX_EXCESS_COST.max(best));
            if rounds == FIRST_ROUNDS {
                for path in &mut all {
                    self.change_flows(path, others)?;
                }
                if let Some(path) = all.iter_mut().find(|t| t.path.known.iter().any(|n| is_releasable(n.0))) {
                    self.release_known(path, each)?;
                }
            }
        }
        Ok(all)
    }

    /// Judges the starts of an open rate by the smallest spread among them. By its own spread a start of
    /// which every seed does something else would fit everything.
    fn share_spread(&mut self, all: &mut [TriedPath]) {
        let open = || all.iter().filter(|t| t.path.open_rate.is_some()).map(|t| t.spread);
        let Some(shared) = open().reduce(|a, b| std::array::from_fn(|i| a[i].min(b[i]))) else { return };
        for t in all.iter_mut().filter(|t| t.path.open_rate.is_some()) {
            t.cost += misfit::misfit(&self.captured, &t.mean, &shared)
                - misfit::misfit(&self.captured, &t.mean, &t.spread);
            t.spread = shared;
        }
    }

    /// Replaces the path's flows where others fit better.
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

    /// Simulates paths and sets their costs. `spread` replaces the standard deviations over the seeds of
    /// these runs.
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
            if self.listening.is_some() {
                path.cost += self.schwarz * path.path.extra_elements() as f64;
            } else {
                path.cost += misfit::spread_cost(&path.spread);
                if seeds >= SEEDS {
                    self.tried.push(path.clone());
                }
            }
        }
        Ok(())
    }

    /// The path with the base round trip corrected; `None` if the least simulated one differs from the
    /// captured one by chance only.
    fn with_corrected_rtt(&self, tried: &TriedPath) -> Option<TriedPath> {
        let [captured, fitted] = [self.captured, tried.mean].map(|f| figures::figures(&f).rtt_min_ms);
        let rtt = tried.path.rtt + (captured - fitted) / 1e3;
        let is_different = misfit::is_different(&self.captured, &tried.mean, &tried.spread, MIN_RTT_INDEX);
        if fitted <= 0.0 || captured <= 0.0 || !is_different || (rtt / tried.path.rtt).ln().abs() >= 0.7 {
            return None;
        }
        let path = tried.path.with(FitParameter::Rtt, rtt);
        Some(TriedPath { first: path.clone(), path, ..tried.clone() })
    }

    /// The path with a jitter, where no queue explains that the median round trip is above the least.
    fn with_jitter(&self, tried: &TriedPath) -> Option<TriedPath> {
        let [captured, fitted] = [self.captured, tried.mean].map(|f| figures::figures(&f));
        let above = |f: &FitFigures| f.rtt_p50_ms - f.rtt_min_ms;
        let jitter = above(&captured) - above(&fitted);
        let explains =
            [FitParameter::Queue, FitParameter::Window, FitParameter::SendBuffer, FitParameter::Access];
        if tried.path.numbers().any(|p| explains.contains(&p)) || jitter <= 0.01 * captured.rtt_min_ms {
            return None;
        }
        let path = self.with_corrected_rtt(tried).map_or_else(|| tried.path.clone(), |t| t.path);
        let half = (jitter / 1e3).min(path.rtt / 4.0);
        let mut path = path.with(FitParameter::Rtt, path.rtt + half).with(FitParameter::Jitter, half);
        path.free.push((FitParameter::Jitter, 1.0));
        Some(TriedPath { first: path.clone(), path, ..tried.clone() })
    }

    /// Frees numbers that the diagnosis measured, one by one and all at once, and keeps that if it fits
    /// better by more than [`PathSearch::schwarz`] for each. Ends when this many packets are simulated.
    fn release_known(&mut self, tried: &mut TriedPath, packets: u64) -> Result<(), FitError> {
        let known: Vec<FitParameter> =
            tried.path.known.iter().map(|n| n.0).filter(|p| is_releasable(*p)).collect();
        let price = self.schwarz;
        if known.is_empty() || misfit::misfit(&self.captured, &tried.mean, &tried.spread) < price {
            return Ok(());
        }
        let mut choices: Vec<Vec<FitParameter>> = known.iter().map(|p| vec![*p]).collect();
        if known.len() > 1 {
            choices.push(known);
        }
        let until = self.runner.packets + packets;
        let mut best = tried.clone();
        for choice in choices {
            let mut path = tried.path.release(&choice);
            path.handicap += price * choice.len() as f64;
            let mut freed = TriedPath { first: path.clone(), path, steps: Vec::new(), ..tried.clone() };
            self.settle(&mut freed, FIRST_ROUNDS, until)?;
            if freed.cost < best.cost {
                best = freed;
            }
        }
        *tried = best;
        Ok(())
    }

    /// Runs rounds until the path no longer improves, or until this many packets in all are simulated.
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

    /// The Gauss-Newton step of all numbers, from the figures of the trials around the path.
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
        Some(steps.iter().zip(by).map(|(s, by)| (s.0, by.clamp(-MAX_NEWTON_STEP, MAX_NEWTON_STEP))).collect())
    }

    /// Runs one round; returns whether it improved the path.
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
            // A number on which no figure depends is known as well as before.
            let sure = tried.path.sure(parameter);
            let half = if bend > 1e-9 { (2.0 * NEARLY_EQUAL_COST / bend).sqrt() * step } else { 2.0 * sure };
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

/// Largest Gauss-Newton step of a number's logarithm.
const MAX_NEWTON_STEP: f64 = 0.7;

impl TriedPath {
    /// Each number of the path, and half of the range of its logarithm that fits nearly as well.
    pub fn all_ranges(&self) -> impl Iterator<Item = (FitParameter, f64)> + '_ {
        self.path.known.iter().map(|(p, sure)| (*p, sure.ln_1p())).chain(self.ranges.iter().copied())
    }
}

/// The best path of each kind, and the best `more` of the others.
fn best_of_each_kind(sorted: Vec<TriedPath>, more: usize) -> Vec<TriedPath> {
    let mut kinds: Vec<(FittedLimiter, Option<bool>, bool, bool, bool)> = Vec::new();
    let (mut best, mut others) = (Vec::new(), Vec::new());
    for tried in sorted {
        let path = &tried.path;
        let line = path.access.map(|_| path.is_line_behind);
        let kind = (path.limiter, line, path.loss > 0.0, path.cross.is_empty(), path.refilled_at_once);
        if kinds.contains(&kind) {
            others.push(tried);
        } else {
            kinds.push(kind);
            best.push(tried);
        }
    }
    best.truncate(MAX_KINDS);
    best.extend(others.into_iter().take(more));
    best
}

/// Whether the search may find another value of a known number.
fn is_releasable(parameter: FitParameter) -> bool {
    matches!(parameter, FitParameter::Rate | FitParameter::Bucket | FitParameter::Loss)
}

/// Index of the least round trip in the list of figures.
const MIN_RTT_INDEX: usize = 1;

/// Cost of the distance of the free numbers from the first guess, plus the cost of each number.
fn strain(tried: &TriedPath) -> f64 {
    let one = |(p, sure): &(FitParameter, f64)| {
        let (now, then) = (tried.path.get(*p), tried.first.get(*p));
        if now > 0.0 && then > 0.0 { ((now / then).ln() / sure).powi(2) } else { 0.0 }
    };
    tried.path.free.iter().map(one).sum::<f64>() + NUMBER_COST * tried.path.numbers().count() as f64
}
