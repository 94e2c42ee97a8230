//! Schemes of observations, actions and rewards; each is a file and a registry line.

mod aurora;
mod direct;
mod mvfst;
mod orca;

use crate::world::StepFigures;
use congestion::{Socket, Window};

/// Observations are clamped to this absolute value, so that an extreme number does not dominate the others.
pub const OBSERVATION_BOUND: f64 = 10.0;
/// Largest congestion window that an action may set, packets.
const MAX_CWND: f64 = 100_000.0;
/// Smallest congestion window that an action may set, packets: that of Linux's fast recovery.
const MIN_CWND: f64 = 2.0;
/// Least and greatest pacing rate that an action may set, bytes/s: 0.01 Mbit/s to 100 Gbit/s.
const RATE_BOUNDS: [f64; 2] = [1250.0, 12.5e9];

/// The set of possible actions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionSpace {
    /// A vector of numbers within bounds.
    Box {
        /// Number of elements.
        len: usize,
        /// Lower bound of each element.
        low: f64,
        /// Upper bound of each element.
        high: f64,
    },
    /// One of this many choices, numbered from 0.
    Discrete(usize),
}

/// A definition of observations, actions and rewards. A scheme has no state except what its documentation
/// mentions.
pub trait Scheme: Send + Sync {
    fn action_space(&self) -> ActionSpace;

    /// Number of values observed per step.
    fn features(&self) -> usize;

    /// Number of steps in an observation, the newest last.
    fn history(&self) -> usize;

    /// Name of the congestion control that runs below the actor; `None`: only the actor sets the window.
    fn base(&self) -> Option<&'static str> {
        None
    }

    /// Whether packets are paced at the rate that actions set.
    fn paced(&self) -> bool {
        false
    }

    /// Carries out an action; `f` describes the previous step.
    fn act(&mut self, action: &[f64], f: &StepFigures, s: &Socket, w: &mut Window);

    /// Writes the observation of a step to `out`, which has room for [`Scheme::features`] values.
    fn observe(&self, f: &StepFigures, out: &mut [f64]);

    /// Reward of a step.
    fn reward(&self, f: &StepFigures) -> f64;
}

/// Constructor of a scheme.
type SchemeMaker = fn() -> Box<dyn Scheme>;

/// The registry: name, short description and source, and constructor of each scheme.
pub const SCHEMES: &[(&str, &str, SchemeMaker)] = &[
    ("aurora", "rate by a factor, after Jay et al., ICML 2019", || Box::new(aurora::Aurora)),
    ("orca", "CUBIC's window times 2^a, after Abbasloo et al., SIGCOMM 2020", || Box::new(orca::Orca)),
    ("mvfst-rl", "one of five changes of the window, after Sivakumar et al., 2019", || {
        Box::new(mvfst::Mvfst::default())
    }),
    ("direct", "window and pacing rate, each by a factor of 2^a", || Box::new(direct::Direct)),
];

/// Finds a scheme by its name.
pub fn scheme(name: &str) -> Option<Box<dyn Scheme>> {
    SCHEMES.iter().find(|(known, _, _)| *known == name).map(|(_, _, make)| make())
}

/// Sets the congestion window, packets.
fn set_cwnd(w: &mut Window, packets: f64) {
    w.cwnd = packets.clamp(MIN_CWND, MAX_CWND).round() as u32;
}

/// Sets the pacing rate, bytes/s.
fn set_rate(w: &mut Window, rate: f64) {
    w.pacing_rate = rate.clamp(RATE_BOUNDS[0], RATE_BOUNDS[1]) as u64;
}

/// A ratio; 1, the neutral value, where the divisor is not yet known (0).
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}
