//! Linux's timer wheel: a timer never fires early, but late by the granularity of its bucket. Timers are
//! counted in ticks and sorted into buckets by their distance; those of one bucket fire together at its end.
//! So a retransmission timeout of half a second is up to 32 ms late, one of 5 s up to 256 ms, and flows that
//! lost everything at the same moment resume in groups.
//!
//! | distance, ticks | bucket, ticks |
//! |---|---|
//! | below 63 | 1 |
//! | below 504 | 8 |
//! | below 4032 | 64 |
//! | below 32256 | 512 |
//!
//! Source of the numbers: Linux 6.18 `kernel/time/timer.c`; a tick is 4 ms (`HZ` 250). Pacing and SACK
//! compression use high-resolution timers, which are not modelled here.

use congestion::HZ;
use units::{Span, Time};

const TICK: u64 = 1_000_000_000 / HZ;

/// Rounds up to whole ticks (`usecs_to_jiffies`).
pub(crate) fn round_up(span: Span) -> Span {
    Span::from_nanos(span.as_nanos().div_ceil(TICK) * TICK)
}

/// Ticks that began between two times, as a span: the difference that Linux computes in jiffies.
pub(crate) fn between(earlier: Time, later: Time) -> Span {
    Span::from_nanos((later.as_nanos() / TICK).saturating_sub(earlier.as_nanos() / TICK) * TICK)
}

/// A timer in its bucket.
#[derive(Clone, Copy, Default)]
pub(crate) struct Slot {
    tick: u64,
    fires: Time,
}

impl Slot {
    /// Sets the timer to expire `after`; returns when it fires. A timer already set to the same tick stays in
    /// its bucket, which may be a coarser one (`__mod_timer`).
    pub(crate) fn set(&mut self, now: Time, after: Span) -> Time {
        let away = after.as_nanos().div_ceil(TICK);
        let tick = now.as_nanos() / TICK + away;
        if tick != self.tick || self.fires <= now {
            *self = Slot { tick, fires: bucket(tick, away) };
        }
        self.fires
    }
}

/// When a timer fires that is set `now` to expire `after`.
pub(crate) fn expiry(now: Time, after: Span) -> Time {
    let away = after.as_nanos().div_ceil(TICK);
    bucket(now.as_nanos() / TICK + away, away)
}

/// When the bucket fires that holds tick `at`, `away` ticks from now.
#[inline]
fn bucket(at: u64, away: u64) -> Time {
    let bits = match away {
        0..63 => 0,
        63..504 => 3,
        504..4032 => 6,
        _ => 9,
    };
    Time::from_nanos((((at >> bits) + 1) << bits) * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires(now_ms: u64, after_ms: u64) -> u64 {
        expiry(Time::from_nanos(now_ms * 1_000_000), Span::from_millis(after_ms)).as_nanos() / 1_000_000
    }

    #[test]
    fn a_near_timer_waits_for_the_tick_after_its_own() {
        assert_eq!(fires(0, 200), 204);
        // Set within a tick: counted from the tick's start.
        assert_eq!(fires(1003, 200), 1204);
        assert_eq!(fires(1001, 1), 1008);
    }

    #[test]
    fn a_timer_set_to_its_own_tick_again_stays_in_its_bucket() {
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut slot = Slot::default();
        assert_eq!(slot.set(ms(0), Span::from_millis(260)), ms(288));
        assert_eq!(slot.set(ms(200), Span::from_millis(60)), ms(288));
        assert_eq!(slot.set(ms(200), Span::from_millis(61)), ms(268));
        // The timer has fired, so this is a new one.
        assert_eq!(slot.set(ms(268), Span::ZERO), ms(272));
    }

    #[test]
    fn distant_timers_fire_with_their_bucket() {
        // 640 ms are 160 ticks: buckets of 8, 32 ms.
        assert_eq!((fires(0, 640), fires(0, 668), fires(4, 668)), (672, 672, 704));
        // 2.5 s are 625 ticks: buckets of 64, 256 ms.
        assert_eq!((fires(0, 2500), fires(60, 2500)), (2560, 2816));
        assert_eq!(fires(0, 20_000), 20_480);
    }
}
