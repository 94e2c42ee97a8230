//! What is seen, done and rewarded: a scheme is a file and a line.

mod aurora;
mod direct;
mod mvfst;
mod orca;

use crate::world::StepFigures;
use congestion::{Socket, Window};

/// Observations lie within this of 0, so that a figure gone wild does not drown the others.
pub const BOUND: f64 = 10.0;
/// The largest window that an action opens, packets.
const MOST_CWND: f64 = 100_000.0;
/// The least, as Linux' fast recovery leaves.
const LEAST_CWND: f64 = 2.0;
/// Pacing rates that an action may set, bytes a second: 0.01 Mbit/s to 100 Gbit/s.
const RATES: [f64; 2] = [1250.0, 12.5e9];

/// What an action is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionSpace {
    /// So many numbers, each from the first bound to the second.
    Box {
        /// How many.
        len: usize,
        /// The least of each.
        low: f64,
        /// The most of each.
        high: f64,
    },
    /// One of so many choices, a whole number from 0.
    Discrete(usize),
}

/// A way to see, act and be rewarded. It has no state beside what it says it keeps.
pub trait Scheme: Send + Sync {
    /// What an action is.
    fn action_space(&self) -> ActionSpace;

    /// How many figures of a step are seen.
    fn features(&self) -> usize;

    /// Of how many steps, the last at the end.
    fn history(&self) -> usize;

    /// The control that goes on below the actor, by name; `None`: only the actor moves the window.
    fn base(&self) -> Option<&'static str> {
        None
    }

    /// Whether packets are paced at the rate that actions set.
    fn paced(&self) -> bool {
        false
    }

    /// Carries an action out. `f`: the step before.
    fn act(&mut self, action: &[f64], f: &StepFigures, s: &Socket, w: &mut Window);

    /// Writes what is seen of a step; there is room for [`Scheme::features`] figures.
    fn observe(&self, f: &StepFigures, out: &mut [f64]);

    /// What a step is worth.
    fn reward(&self, f: &StepFigures) -> f64;
}

/// Makes schemes by name.
type SchemeMaker = fn() -> Box<dyn Scheme>;

/// The registry: a line each, with a name and where it is from.
pub const SCHEMES: &[(&str, &str, SchemeMaker)] = &[
    ("aurora", "rate by a factor, after Jay et al., ICML 2019", || Box::new(aurora::Aurora)),
    ("orca", "CUBIC's window times 2^a, after Abbasloo et al., SIGCOMM 2020", || Box::new(orca::Orca)),
    ("mvfst-rl", "one of five moves of the window, after Sivakumar et al., 2019", || {
        Box::new(mvfst::Mvfst::default())
    }),
    ("direct", "window and pacing rate, each by a factor of 2^a", || Box::new(direct::Direct)),
];

/// The one called `name`.
pub fn scheme(name: &str) -> Option<Box<dyn Scheme>> {
    SCHEMES.iter().find(|(known, _, _)| *known == name).map(|(_, _, make)| make())
}

/// Sets the window, packets.
fn set_cwnd(w: &mut Window, packets: f64) {
    w.cwnd = packets.clamp(LEAST_CWND, MOST_CWND).round() as u32;
}

/// Sets the pacing rate, bytes a second.
fn set_rate(w: &mut Window, rate: f64) {
    w.pacing_rate = rate.clamp(RATES[0], RATES[1]) as u64;
}

/// A ratio whose divisor may be unknown yet (0): then 1, which says that nothing is out of the ordinary.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}
