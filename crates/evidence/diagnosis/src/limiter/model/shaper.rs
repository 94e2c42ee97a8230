//! A shaper: its bucket lets so much pass without a wait; what comes beyond that waits in a queue, which drops when it is full.

use super::{LimiterModel, TailDropModel};

/// A bucket that is filled all the time, and a queue behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaperModel {
    /// Bytes of the bucket.
    pub bucket: f64,
    /// What bucket and queue together are: a link's queue with as much room.
    pub queue: TailDropModel,
}

impl LimiterModel for ShaperModel {
    fn numbers(&self) -> f64 {
        1.0 + self.queue.numbers()
    }

    fn wait(&self, backlog: f64) -> f64 {
        self.queue.wait((backlog - self.bucket).max(0.0))
    }
}
