//! A link's queue: whoever comes waits until all before is carried off; who finds no room is dropped.

use super::LimiterModel;

/// A queue before a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailDropModel {
    /// Bytes a second that the link carries off.
    pub rate: f64,
    /// Seconds that a packet waits to those that its backlog takes at the rate: 1, but where others share the link.
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
