//! The likelihood of the stretches under a candidate.
//!
//! Each stretch has five observations: the share of the window that its loss left, and the growth in each
//! quarter of the stretch. Residuals against the candidate's prediction are reduced to their medians over all
//! stretches, so that chance evens out and errors of the model do not, and compared with noise that is the
//! same for all candidates.

use super::candidate::{Candidate, Growing, PathRtt, WindowGrowth};
use super::stretch::FlightStretch;

/// Parts of a stretch.
const PARTS: usize = 4;
/// Least number of round trips of a stretch whose growth counts.
const MIN_GROWTH_ROUNDS: usize = 5;
/// Least window, segments, for which the share that a loss leaves counts.
const MIN_WINDOW: f64 = 6.0;

/// Error of every candidate in the share that a loss leaves. This and the next three were measured on the
/// build half of Nebby's traces.
const SHARE_LEFT_ERROR: f64 = 0.04;
/// Error of the growth, as a share of the window.
const GROWTH_ERROR_OF_WINDOW: f64 = 0.012;
/// Error of the growth, as a share of the growth.
const GROWTH_ERROR_OF_GROWTH: f64 = 0.12;
/// Error of a window, segments: a loss is known to half a round trip, and windows are whole.
const WINDOW_ERROR: f64 = 0.6;
/// Least noise, segments: a window is a whole number that is seen once a round trip.
const MIN_NOISE: f64 = 0.7;
/// Share of observations that have another reason, such as cross traffic or a gap in the capture; from the
/// same traces.
pub(super) const OUTLIER_SHARE: f64 = 0.1;
/// Greatest number of stretches over which chance is taken to even out.
const MAX_AVERAGED: f64 = 16.0;
/// Density of the share that a loss leaves if all shares from 0.2 to 1.1 are equally probable.
const ANY_SHARE_DENSITY: f64 = 1.0 / 0.9;
/// Standard error of a median of normal values, relative to that of their mean (derived: the root of π / 2).
const MEDIAN_STDERR_FACTOR: f64 = 1.25;

/// Round trips over which the bytes in flight must be constant.
const STANDING_ROUNDS: usize = 9;

/// Returns the median; 0 of no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the normal density.
fn normal(x: f64, deviation: f64) -> f64 {
    (-0.5 * (x / deviation).powi(2)).exp() / deviation / std::f64::consts::TAU.sqrt()
}

/// Combines independent standard deviations.
fn together(deviations: &[f64]) -> f64 {
    deviations.iter().map(|d| d * d).sum::<f64>().sqrt()
}

/// Returns the log density of a normal distribution, with outliers of the density `anything` at the rate
/// [`OUTLIER_SHARE`].
fn log_density(x: f64, deviation: f64, anything: f64) -> f64 {
    ((1.0 - OUTLIER_SHARE) * normal(x, deviation) + OUTLIER_SHARE * anything).ln()
}

/// Residuals of the stretches against a candidate's predictions.
#[derive(Debug, Default)]
struct Differences {
    /// Residuals of the share that each loss left.
    shares: Vec<f64>,
    /// The candidate's tolerance of those shares.
    spreads: Vec<f64>,
    /// Windows before these losses.
    peaks: Vec<f64>,
    /// Windows after losses, where growth was measured.
    begins: Vec<f64>,
    /// Segments by which the candidate's windows moved, up and down.
    moves: Vec<f64>,
    /// Residuals of the growth in each part, segments.
    grown: [Vec<f64>; PARTS],
    /// Predicted growth in each part, segments.
    predicted: [Vec<f64>; PARTS],
}

/// All stretches, and what they share.
#[derive(Clone, Debug)]
pub(super) struct ObservedStretches<'a> {
    pub stretches: &'a [FlightStretch],
    /// The [`marks`] of each stretch.
    marks: Vec<[f64; PARTS + 1]>,
    pub path: PathRtt,
    /// Noise of the bytes in flight around a smooth course, segments.
    pub noise: f64,
}

impl<'a> ObservedStretches<'a> {
    pub fn new(
        stretches: &'a [FlightStretch],
        min_rtt: f64,
        handshake: Option<f64>,
    ) -> ObservedStretches<'a> {
        let rounds = stretches.iter().flat_map(|s| &s.rounds);
        let max_rtt = rounds.map(|r| r.rtt).fold(min_rtt, f64::max);
        let bends = stretches
            .iter()
            .flat_map(|s| s.rounds.windows(3).map(|w| (w[0].flight - 2.0 * w[1].flight + w[2].flight).abs()));
        // A second difference of independent values has 6 times their variance; the median is 0.6745 of a
        // standard deviation.
        let noise = median(&bends.collect::<Vec<_>>()) / 0.6745 / 6f64.sqrt();
        let flights = |s: &FlightStretch| s.rounds.iter().map(|r| r.flight).collect::<Vec<_>>();
        ObservedStretches {
            stretches,
            marks: stretches.iter().map(|s| marks(&flights(s))).collect(),
            path: PathRtt { min_rtt, max_rtt, handshake: handshake.map_or(min_rtt, |h| h.min(min_rtt)) },
            noise: noise.max(MIN_NOISE),
        }
    }

    /// Returns the log likelihood of the stretches under `candidate`.
    pub fn log_likelihood(&self, candidate: &Candidate) -> f64 {
        let errors = self.differences(candidate);
        let counted = errors.begins.len().max(errors.peaks.len()) as f64;
        let sum = self.of_decreases(candidate, &errors) + self.of_growth(candidate, &errors);
        // A single stretch may be an accident.
        sum * counted / (counted + 1.0)
    }

    /// Returns the residuals of the stretches against the candidate.
    fn differences(&self, candidate: &Candidate) -> Differences {
        let mut out = Differences::default();
        let mut last_peak = 0.0;
        for (s, marks) in self.stretches.iter().zip(&self.marks) {
            let mut at = self.begin(s, marks[0], last_peak);
            last_peak = s.before.map_or(last_peak, |loss| loss.flight);
            if let Some(loss) = s.before.filter(|loss| loss.flight >= MIN_WINDOW) {
                out.peaks.push(loss.flight);
                if let Some(decrease) = candidate.decrease {
                    let (share, spread) = decrease(loss, self.path);
                    let first = Growing { window: share * loss.flight, begin: share * loss.flight, ..at };
                    // The first clean round trip is measured at its end.
                    let grown = self.growth(candidate, &first) / loss.flight;
                    out.shares.push(marks[0] / loss.flight - share - 0.5 * grown.clamp(-0.1, 0.1));
                    out.spreads.push(spread);
                }
            }
            if s.rounds.len() < MIN_GROWTH_ROUNDS {
                continue;
            }
            out.begins.push(marks[0]);
            let even = (marks[PARTS] - marks[0]) / PARTS as f64;
            let (course, moved) = self.course(candidate, s, &mut at);
            out.moves.push(moved);
            let end = (s.rounds.len() - 1) as f64 / PARTS as f64;
            for part in 0..PARTS {
                let at = |part: usize| between(&course, part as f64 * end);
                let predicted = match candidate.growth {
                    WindowGrowth::Even => even,
                    WindowGrowth::Law(_) => at(part + 1) - at(part),
                };
                out.grown[part].push(marks[part + 1] - marks[part] - predicted);
                out.predicted[part].push(predicted);
            }
        }
        out
    }

    /// Returns the standard error of a median of `count` noisy values, segments.
    fn chance(&self, count: usize) -> f64 {
        2f64.sqrt() * self.noise * MEDIAN_STDERR_FACTOR / (count as f64).min(MAX_AVERAGED).sqrt()
    }

    fn of_decreases(&self, candidate: &Candidate, off: &Differences) -> f64 {
        if off.peaks.is_empty() {
            return 0.0;
        }
        if candidate.decrease.is_none() {
            return ANY_SHARE_DENSITY.ln();
        }
        let peak = median(&off.peaks);
        let chance = self.chance(off.peaks.len()) / peak;
        let deviation = together(&[chance, SHARE_LEFT_ERROR, WINDOW_ERROR / peak, median(&off.spreads)]);
        log_density(median(&off.shares), deviation, ANY_SHARE_DENSITY)
    }

    fn of_growth(&self, candidate: &Candidate, off: &Differences) -> f64 {
        if off.begins.is_empty() {
            return 0.0;
        }
        let window = median(&off.begins);
        // Growth may be anything up to half of the window in each part.
        let anything = 1.0 / (0.5 * window + 2.0);
        let (parts, slack, mut sum) = match candidate.growth {
            // The pace may be any, so one part fixes it and the others show that it is even.
            WindowGrowth::Even => (PARTS - 1, 2.0, anything.ln()),
            WindowGrowth::Law(_) => (PARTS, 1.0, 0.0),
        };
        let wavers = candidate.wavers * (median(&off.moves) / PARTS as f64).sqrt();
        for (grown, predicted) in off.grown.iter().zip(&off.predicted).take(parts) {
            let model =
                slack * GROWTH_ERROR_OF_GROWTH * median(predicted).abs() + GROWTH_ERROR_OF_WINDOW * window;
            let chance = self.chance(off.begins.len());
            let deviation = together(&[chance, model, wavers, candidate.wanders * window]);
            sum += log_density(median(grown), deviation, anything);
        }
        sum
    }

    /// Returns the queued segments while the bytes in flight are constant, if the empty path's RTT is `own`;
    /// `None` where they hardly ever are.
    pub fn standing_queue(&self, own: f64) -> Option<f64> {
        let mut queues = Vec::new();
        for w in self
            .stretches
            .iter()
            .filter(|s| s.rounds.len() >= STANDING_ROUNDS + 3)
            .flat_map(|s| s.rounds.windows(STANDING_ROUNDS))
        {
            let low = w.iter().map(|r| r.flight).fold(f64::INFINITY, f64::min);
            let high = w.iter().map(|r| r.flight).fold(0.0, f64::max);
            if high - low <= (0.04 * high).max(2.0) {
                let r = w[STANDING_ROUNDS / 2];
                queues.push(r.flight * (1.0 - own / r.min_rtt.max(own)));
            }
        }
        (queues.len() > STANDING_ROUNDS).then(|| median(&queues))
    }

    /// Returns the window at the beginning of a stretch.
    fn begin(&self, s: &FlightStretch, begin: f64, last_peak: f64) -> Growing {
        let greatest = match s.before {
            // Fast convergence: RFC 9438 section 4.7.
            Some(loss) if loss.flight < last_peak - self.noise.max(1.0) => 0.85 * loss.flight,
            Some(loss) => loss.flight,
            None if s.after_loss => begin / 0.7,
            None => begin,
        };
        let (min_rtt, rtt) =
            s.rounds.first().map_or((self.path.min_rtt, self.path.min_rtt), |r| (r.min_rtt, r.rtt));
        Growing { window: begin, begin, greatest, seconds: 0.0, rounds: 0.0, min_rtt, rtt }
    }

    fn growth(&self, candidate: &Candidate, at: &Growing) -> f64 {
        match candidate.growth {
            WindowGrowth::Law(law) => law(at, self.path),
            WindowGrowth::Even => 0.0,
        }
    }

    /// Returns the candidate's windows, one for each round trip, and the segments by which they moved up and
    /// down.
    fn course(&self, candidate: &Candidate, s: &FlightStretch, at: &mut Growing) -> (Vec<f64>, f64) {
        let (mut course, mut moved) = (vec![at.window], 0.0);
        for r in &s.rounds[..s.rounds.len() - 1] {
            (at.min_rtt, at.rtt) = (r.min_rtt.max(self.path.min_rtt), r.rtt.max(self.path.min_rtt));
            let share = r.seconds / at.rtt;
            let grows = self.growth(candidate, at) * share;
            moved += grows.abs();
            at.window = (at.window + grows).clamp(2.0, 1e6);
            at.seconds += r.seconds;
            at.rounds += share;
            course.push(at.window);
        }
        (course, moved)
    }
}

/// Interpolates between two values of a row.
fn between(row: &[f64], at: f64) -> f64 {
    let i = at as usize;
    let next = row[(i + 1).min(row.len() - 1)];
    row[i] + (next - row[i]) * (at - i as f64)
}

/// Returns the bytes in flight at the ends of all parts, without the outlier of a single round trip.
fn marks(flights: &[f64]) -> [f64; PARTS + 1] {
    let last = flights.len() - 1;
    let slope = (flights[last] - flights[0]) / last as f64;
    let smooth: Vec<f64> = (0..flights.len())
        .map(|i| {
            let from = i.saturating_sub(1).min(last - 2);
            let level = |j: usize| flights[j] - (j as f64 - i as f64) * slope;
            median(&[level(from), level(from + 1), level(from + 2)]).max(1.0)
        })
        .collect();
    std::array::from_fn(|part| between(&smooth, last as f64 * part as f64 / PARTS as f64))
}
