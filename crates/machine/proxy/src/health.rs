//! Whether a server is to be used: it rests after failures in a row, and is asked again when its rest is over.
//!
//! Failures are told by the connections themselves and by checks; both count alike. A success ends a rest at once.
//! Rests double from the first to [`HealthRule::longest_rest`], so that a server that is gone costs little.

use units::{Span, Time};

/// When a server is down, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRule {
    /// So many failures in a row and it rests; at least 1.
    pub failures: u32,
    /// The first rest.
    pub rest: Span,
    /// What rests grow to, by doubling.
    pub longest_rest: Span,
}

/// What changed by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthNews {
    /// It went down.
    Down,
    /// It came up again.
    Up,
}

/// A server's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHealth {
    failures: u32,
    rests: u32,
    resting_until: Option<Time>,
}

impl Default for ServerHealth {
    /// Up, until something is known.
    fn default() -> ServerHealth {
        ServerHealth { failures: 0, rests: 0, resting_until: None }
    }
}

impl ServerHealth {
    /// It took a connection.
    pub fn handle_success(&mut self) -> Option<HealthNews> {
        let was_down = self.resting_until.is_some();
        *self = ServerHealth::default();
        was_down.then_some(HealthNews::Up)
    }

    /// It refused one, or did not answer in time.
    pub fn handle_failure(&mut self, now: Time, rule: &HealthRule) -> Option<HealthNews> {
        self.failures = self.failures.saturating_add(1);
        // Connections that were under way when it went down tell nothing new.
        if self.failures < rule.failures || !self.may_be_used(now) {
            return None;
        }
        let was_down = self.resting_until.is_some();
        let rest = rule.rest.as_nanos().saturating_mul(1 << self.rests.min(20));
        let rest = rest.min(rule.longest_rest.as_nanos().max(rule.rest.as_nanos()));
        self.resting_until = Some(Time::from_nanos(now.as_nanos().saturating_add(rest)));
        self.rests = self.rests.saturating_add(1);
        (!was_down).then_some(HealthNews::Down)
    }

    /// Whether connections are to be tried: it is up, or its rest is over.
    pub fn may_be_used(&self, now: Time) -> bool {
        self.resting_until.is_none_or(|until| until <= now)
    }

    /// Whether it failed and did not succeed since.
    pub fn is_down(&self) -> bool {
        self.resting_until.is_some()
    }

    /// When its rest ends; `None` while it is up.
    pub fn resting_until(&self) -> Option<Time> {
        self.resting_until
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
    fn failures_in_a_row_rest_it_longer_each_time_and_one_success_ends_that() {
        let mut h = ServerHealth::default();
        assert_eq!(h.handle_failure(at(0), &RULE), None);
        assert_eq!(h.handle_failure(at(0), &RULE), None);
        assert!(h.may_be_used(at(0)) && !h.is_down());
        assert_eq!(h.handle_failure(at(0), &RULE), Some(HealthNews::Down));
        assert!(!h.may_be_used(at(0)) && h.may_be_used(at(1)));
        for (now, until) in [(1, 3), (3, 7), (7, 11)] {
            assert_eq!(h.handle_failure(at(now), &RULE), None, "it was down before");
            assert_eq!(h.resting_until(), Some(at(until)));
        }
        assert_eq!(h.handle_success(), Some(HealthNews::Up));
        assert_eq!(h, ServerHealth::default());
        assert_eq!(h.handle_success(), None);
    }

    #[test]
    fn failures_apart_do_not_count_and_late_ones_do_not_lengthen_a_rest() {
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
        let until = h.resting_until();
        for _ in 0..100 {
            h.handle_failure(at(0), &RULE);
        }
        assert_eq!(h.resting_until(), until, "a hundred connections were under way");
    }
}
