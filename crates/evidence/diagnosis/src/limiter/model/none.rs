//! No limiter: nobody waits, and whoever is lost is lost by chance.

use super::LimiterModel;

/// Nothing that limits.
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
