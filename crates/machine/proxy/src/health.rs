//! Server health: a server is suspended after consecutive failures, and tried again when its suspension is
//! over.
//!
//! Client connections and health checks both report failures and count alike. A success ends a suspension at
//! once. Suspensions double from the first up to [`HealthRule::longest_rest`], so that a server that is down
//! for long costs little.

use units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRule {
    /// Consecutive failures until a server is suspended; at least 1.
    pub failures: u32,
    /// Length of the first suspension.
    pub rest: Span,
    /// Upper limit of the doubling suspensions.
    pub longest_rest: Span,
}

/// A change of a server's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthChange {
    Down,
    Up,
}

/// The health of one server, by its consecutive failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHealth {
    failures: u32,
    suspensions: u32,
    suspended_until: Option<Time>,
}

impl Default for ServerHealth {
    /// Up, until a connection fails.
    fn default() -> ServerHealth {
        ServerHealth { failures: 0, suspensions: 0, suspended_until: None }
    }
}

impl ServerHealth {
    /// Records a successful connection.
    pub fn handle_success(&mut self) -> Option<HealthChange> {
        let was_down = self.suspended_until.is_some();
        *self = ServerHealth::default();
        was_down.then_some(HealthChange::Up)
    }

    /// Records a connection that was refused or timed out.
    pub fn handle_failure(&mut self, now: Time, rule: &HealthRule) -> Option<HealthChange> {
        self.failures = self.failures.saturating_add(1);
        // Connections that were in progress when the server went down add no information.
        if self.failures < rule.failures || !self.may_be_used(now) {
            return None;
        }
        let was_down = self.suspended_until.is_some();
        let rest = rule.rest.as_nanos().saturating_mul(1 << self.suspensions.min(20));
        let rest = rest.min(rule.longest_rest.as_nanos().max(rule.rest.as_nanos()));
        self.suspended_until = Some(Time::from_nanos(now.as_nanos().saturating_add(rest)));
        self.suspensions = self.suspensions.saturating_add(1);
        (!was_down).then_some(HealthChange::Down)
    }

    /// Whether connections may be tried: the server is up, or its suspension is over.
    pub fn may_be_used(&self, now: Time) -> bool {
        self.suspended_until.is_none_or(|until| until <= now)
    }

    /// Whether the server has failed and no connection has succeeded since.
    pub fn is_down(&self) -> bool {
        self.suspended_until.is_some()
    }

    /// When the server's suspension ends; `None` while it is up.
    pub fn suspended_until(&self) -> Option<Time> {
        self.suspended_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: HealthRule =
        HealthRule { failures: 3, rest: Span::from_secs(1), longest_rest: Span::from_secs(4) };

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    #[test]
    fn suspensions_double_until_one_success() {
        let mut h = ServerHealth::default();
        assert_eq!(h.handle_failure(at(0), &RULE), None);
        assert_eq!(h.handle_failure(at(0), &RULE), None);
        assert!(h.may_be_used(at(0)) && !h.is_down());
        assert_eq!(h.handle_failure(at(0), &RULE), Some(HealthChange::Down));
        assert!(!h.may_be_used(at(0)) && h.may_be_used(at(1)));
        for (now, until) in [(1, 3), (3, 7), (7, 11)] {
            assert_eq!(h.handle_failure(at(now), &RULE), None, "it was down before");
            assert_eq!(h.suspended_until(), Some(at(until)));
        }
        assert_eq!(h.handle_success(), Some(HealthChange::Up));
        assert_eq!(h, ServerHealth::default());
        assert_eq!(h.handle_success(), None);
    }

    #[test]
    fn only_consecutive_failures_count_and_late_ones_do_not_extend_a_suspension() {
        let mut h = ServerHealth::default();
        for _ in 0..10 {
            h.handle_failure(at(0), &RULE);
            h.handle_failure(at(0), &RULE);
            h.handle_success();
        }
        assert!(!h.is_down());
        for _ in 0..3 {
            h.handle_failure(at(0), &RULE);
        }
        let until = h.suspended_until();
        for _ in 0..100 {
            h.handle_failure(at(0), &RULE);
        }
        assert_eq!(h.suspended_until(), until, "a hundred connections were in progress");
    }
}
