//! The interval over which all rates of a run are measured.
//!
//! Rates of flows can be added only if they are measured over the same time: 200 consecutive transfers, each
//! at the full rate of the link while it lasts, do not carry 200 times the link's rate.

use crate::tally::FlowTally;
use result::FlowSeries;
use scenario::Scenario;
use units::{Span, Time};

/// The measurement interval of a run that lasted until `end`: the scenario's `measure`, otherwise from the
/// first start of a flow until all flows are done, or to `end`.
pub fn measured(scenario: &Scenario, tallies: &[FlowTally], end: Time) -> [Time; 2] {
    if let Some(interval) = scenario.measure {
        return interval.map(|t| (Time::ZERO + t).min(end));
    }
    let first = tallies.iter().map(|t| t.start).min().unwrap_or(Time::ZERO).min(end);
    let last = tallies.iter().map(|t| t.done.unwrap_or(end)).max().unwrap_or(end);
    [first, last.clamp(first, end)]
}

/// Payload bytes that a flow had delivered at time `t`, interpolated linearly between the samples of its
/// series. `total` is the value at the end of the run.
fn delivered_by(series: &FlowSeries, total: u64, end: Time, t: Time) -> f64 {
    let (at, end) = (t.as_secs_f64(), end.as_secs_f64());
    let next = series.time_s.partition_point(|&sampled| sampled < at);
    let sample = |i: usize| Some((*series.time_s.get(i)?, *series.delivered_bytes.get(i)? as f64));
    let (before, after) = (next.checked_sub(1).and_then(sample), sample(next));
    let (t1, n1) = after.unwrap_or((end, total as f64));
    let Some((t0, n0)) = before else { return if t1 <= at { n1 } else { 0.0 } };
    if t1 <= t0 { n1 } else { n0 + (n1 - n0) * ((at - t0) / (t1 - t0)).clamp(0.0, 1.0) }
}

/// Goodput in Mbit/s within `interval` of a flow with `total` payload bytes, in a run that lasted until
/// `end`. `series` is required only if the interval is a part of the run (`measure`).
pub fn goodput_mbps(total: u64, series: Option<&FlowSeries>, [from, to]: [Time; 2], end: Time) -> f64 {
    let bytes = match series {
        Some(series) => delivered_by(series, total, end, to) - delivered_by(series, total, end, from),
        None => total as f64,
    };
    mbps(bytes, to.since(from))
}

/// Mbit/s of `bytes` in `span`; 0 for an empty span.
fn mbps(bytes: f64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { bytes * 8.0 / span.as_secs_f64() / 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::FlowPoint;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn scenario(head: &str) -> Scenario {
        let text = format!("{head}\n[links.l]\nbetween = [\"a\", \"b\"]\n");
        let experiment = scenario::Experiment::parse("t.toml", &text, &[]);
        experiment.unwrap_or_else(|e| panic!("{e}")).variants.remove(0).scenario
    }

    #[test]
    fn rates_are_measured_from_the_first_start_to_the_last_end() {
        let tally = |start, done: Option<u64>| FlowTally {
            start: ms(start),
            done: done.map(ms),
            ..FlowTally::default()
        };
        let interval = |head: &str, tallies: &[FlowTally]| measured(&scenario(head), tallies, ms(10_000));
        let both = [tally(500, Some(2000)), tally(700, Some(4000))];
        assert_eq!(interval("", &both), [ms(500), ms(4000)]);
        assert_eq!(interval("", &[tally(500, Some(2000)), tally(700, None)]), [ms(500), ms(10_000)]);
        assert_eq!(interval("measure = \"2s..3s\"", &both), [ms(2000), ms(3000)]);
        // A run that was ended early.
        assert_eq!(measured(&scenario("measure = \"2s..8s\""), &both, ms(5000)), [ms(2000), ms(5000)]);
        assert_eq!(interval("", &[]), [ms(0), ms(10_000)]);
    }

    #[test]
    fn bytes_are_interpolated_between_samples() {
        let mut series = FlowSeries::new("f");
        for (time_s, delivered_bytes) in [(0.0, 0), (0.1, 1000), (0.2, 3000)] {
            series.push(FlowPoint { time_s, delivered_bytes, ..FlowPoint::default() });
        }
        // 4000 bytes at the end of the run, 50 ms after the last sample.
        let by = |t| delivered_by(&series, 4000, ms(250), ms(t));
        for (t, wanted) in [(0, 0.0), (50, 500.0), (100, 1000.0), (150, 2000.0), (225, 3500.0), (250, 4000.0)]
        {
            assert!((by(t) - wanted).abs() < 1e-6, "{t} ms: {}", by(t));
        }
        let rate = goodput_mbps(4000, Some(&series), [ms(50), ms(150)], ms(250));
        assert!((rate - 1500.0 * 8.0 / 0.1 / 1e6).abs() < 1e-9);
        assert_eq!(goodput_mbps(1_000_000, None, [ms(0), ms(2000)], ms(2000)), 4.0);
        assert_eq!(goodput_mbps(1, None, [ms(7), ms(7)], ms(7)), 0.0);
    }
}
