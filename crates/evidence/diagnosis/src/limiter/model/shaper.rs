//! A shaper: packets pass at once while its bucket lasts, then wait in a queue that drops when it is full.

use super::{LimiterModel, TailDropModel};

/// A bucket that fills continuously, and a queue behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaperModel {
    /// Bytes of the bucket.
    pub bucket: f64,
    /// Bucket and queue together, which drop as a link's queue of their joint size does.
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
