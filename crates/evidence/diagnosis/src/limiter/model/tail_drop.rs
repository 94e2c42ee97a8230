//! A link's queue: a packet waits until its predecessors have left, and is dropped if it finds no room.

use super::LimiterModel;

/// A queue before a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailDropModel {
    /// Rate of the link, bytes a second.
    pub rate: f64,
    /// The wait relative to the time that the backlog takes at the rate: 1 unless other traffic shares the
    /// link.
    pub slope: f64,
}

impl LimiterModel for TailDropModel {
    fn numbers(&self) -> f64 {
        1.0
    }

    fn wait(&self, backlog: f64) -> f64 {
        self.slope * backlog / self.rate
    }
}
