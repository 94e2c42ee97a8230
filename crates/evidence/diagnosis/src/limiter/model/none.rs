//! No limiter: packets do not wait, and are lost by chance.

use super::LimiterModel;

/// The path without a limiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoLimiterModel;

impl LimiterModel for NoLimiterModel {
    fn numbers(&self) -> f64 {
        0.0
    }

    fn wait(&self, _backlog: f64) -> f64 {
        0.0
    }
}
