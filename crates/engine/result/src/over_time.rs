//! RTT distributions in which each sample is weighted by the time that it represents.

use crate::{Histogram, RttSummary};
use units::{Span, Time};

/// Unit of a weight, ns. A histogram bucket holds the weight of twelve hours.
const TICK_NS: u64 = 10_000;

/// Collects the RTTs of a flow, weighted by time: a sample represents the time since the previous one. A path
/// that stalls for two seconds yields a single ACK at the end of the stall. Counted once per ACK, the stall
/// would vanish among the thousands of ACKs of a fast second, although a ping every second would have
/// measured it twice.
#[derive(Clone, Debug, Default)]
pub struct RttMeter {
    /// Samples weighted by time, in ticks.
    times: Histogram,
    /// Samples counted once each.
    acks: Histogram,
    last: Option<Time>,
    /// Time since the last whole tick, ns.
    rest: u64,
}

impl RttMeter {
    /// Adds a sample measured at `now`. A sample outside of the interval `counted` is not recorded, but the
    /// next sample's time starts at it.
    #[inline]
    pub fn record(&mut self, now: Time, sample: Span, counted: [Time; 2]) {
        // The first sample represents its own duration.
        let since = self
            .last
            .unwrap_or_else(|| Time::from_nanos(now.as_nanos().saturating_sub(sample.as_nanos())))
            .max(counted[0]);
        self.last = Some(now);
        if now < counted[0] || now > counted[1] {
            return;
        }
        let ns = now.since(since).as_nanos() + self.rest;
        // The first sample counts, however short it is.
        let first = u64::from(self.acks.samples() == 0);
        let ticks = (ns / TICK_NS).max(first);
        self.rest = ns.saturating_sub(ticks * TICK_NS);
        self.acks.record(sample);
        self.times.record_many(sample, u32::try_from(ticks).unwrap_or(u32::MAX));
    }

    /// The distribution with each ACK's sample counted once, as a capture shows it.
    pub fn over_acks(&self) -> RttSummary {
        RttSummary::of(&self.acks)
    }

    /// The distribution weighted by time. Minimum and maximum are over all samples, as a sample less than a
    /// tick after another has no weight.
    pub fn summary(&self) -> RttSummary {
        let RttSummary { min, max, .. } = self.over_acks();
        RttSummary { min, max, ..RttSummary::of(&self.times) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Time; 2] = [Time::ZERO, Time::from_nanos(u64::MAX)];

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// One second of 1,000 fast ACKs, then a stall of two seconds that a single ACK ends: two thirds of the
    /// time were slow.
    #[test]
    fn a_stall_counts_for_as_long_as_it_lasts() {
        let mut meter = RttMeter::default();
        (1..=1000).for_each(|ms| meter.record(at_ms(ms), Span::from_millis(20), ALL));
        meter.record(at_ms(3000), Span::from_millis(2020), ALL);
        let r = meter.summary();
        assert!(meter.over_acks().p99 < 21.0, "one of a thousand and one ACKs");
        assert!((r.p50 - 2020.0).abs() < 10.0 && (r.min - 20.0).abs() < 1e-9 && r.max == 2020.0, "{r:?}");
        // By hand: a second of 20 ms, then two of 2,020 ms.
        let mean = (1000.0 * 20.0 + 2000.0 * 2020.0) / 3000.0;
        assert!((r.mean / mean - 1.0).abs() < 1e-3, "{r:?} {mean}");
    }

    #[test]
    fn a_sample_counts_from_the_previous_one_or_the_intervals_start() {
        let mut meter = RttMeter::default();
        let counted = [at_ms(100), at_ms(200)];
        meter.record(at_ms(90), Span::from_millis(50), counted);
        assert!(meter.summary().is_empty());
        // 10 ms before the span, 20 in it.
        meter.record(at_ms(120), Span::from_millis(5), counted);
        meter.record(at_ms(180), Span::from_millis(9), counted);
        meter.record(at_ms(201), Span::from_millis(900), counted);
        let r = meter.summary();
        assert!((r.mean - (20.0 * 5.0 + 60.0 * 9.0) / 80.0).abs() < 0.05 && r.max == 9.0, "{r:?}");
    }

    #[test]
    fn samples_closer_than_a_tick_share_it() {
        let mut meter = RttMeter::default();
        // 1.2 µs apart, as at 10 Gbit/s: every eighth or ninth sample gets a tick.
        (1..=10_000u64).for_each(|i| {
            let sample = Span::from_micros(if i % 2 == 0 { 20 } else { 40 });
            meter.record(Time::from_nanos(1_000_000 + i * 1200), sample, ALL);
        });
        let r = meter.summary();
        assert!((r.mean - 0.03).abs() < 0.001, "{r:?}");
    }
}
