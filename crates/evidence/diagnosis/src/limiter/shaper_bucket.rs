//! The bucket of a shaper, from packets that are captured as they leave it.
//!
//! A packet that waits at a shaper of rate r and bucket B leaves when all bytes before it, less B, have
//! drained at r. So at the departure of each packet that waited, the bytes that have left less the bytes that
//! r has drained are B, regardless of the stages that the packet passed before. For a packet that did not
//! wait they are fewer. The value that many packets share is B; a plain link's is a packet or two. A shaper
//! that is refilled at intervals is found by its ticks ([`super::refill_ticks`]).

use super::virtual_queue::{PacketArrival, drained, largest, span};
use super::{SAME_RATE, sort};

/// Least share of the packets that must have the common value.
const MIN_COMMON_SHARE: f64 = 0.2;

/// The view that a capture has of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueView {
    /// Rate of the queue, bytes a second.
    pub rate: f64,
    /// Delays are by the sender's clock, and times are those before the delay.
    pub clocked: bool,
    /// Delay without waiting, seconds.
    pub base: f64,
    /// Least delay that counts as waiting, seconds; `None` where waits are not known, so that every packet
    /// counts.
    pub floor: Option<f64>,
    /// An arrival may stand for several packets, with their mean delay.
    pub merged: bool,
}

/// A packet that passed.
#[derive(Clone, Copy)]
struct PassedPacket {
    at: f64,
    bytes: f64,
    size: f64,
    /// Seconds, if known.
    wait: Option<f64>,
    flow: u16,
}

/// Returns the bytes that pass before packets wait; `None` where that does not show. `arrivals` are in order.
pub(super) fn bucket_before_queue(arrivals: &[PacketArrival], seen: QueueView) -> Option<f64> {
    let values = match seen.clocked {
        true => values(delayed(arrivals, seen).into_iter(), arrivals.len(), seen),
        false => values(passed(arrivals, seen), arrivals.len(), seen),
    };
    let sorted = sort::floats(values.iter().map(|v| v.0));
    let size = largest(arrivals);
    let width = |high: f64| (2.0 * size).max(SAME_RATE * high);
    common(&sorted, width).filter(|b| of_all(&values, *b, width(*b)))
}

/// Returns the packets that passed, in the order of their arrival.
fn passed(arrivals: &[PacketArrival], seen: QueueView) -> impl Iterator<Item = PassedPacket> + Clone {
    arrivals.iter().filter(|a| !a.lost).map(move |a| {
        let delay = a.delay.get().map(f64::from);
        let at = a.at + delay.filter(|_| seen.clocked).unwrap_or(0.0);
        let wait = delay.map(|delay| delay - seen.base);
        PassedPacket { at, bytes: a.bytes as f64, size: a.size as f64, wait, flow: a.flow }
    })
}

/// Returns the packets that passed, in the order in which they reach the queue after their delay.
fn delayed(arrivals: &[PacketArrival], seen: QueueView) -> Vec<PassedPacket> {
    sort::by_time(passed(arrivals, seen), arrivals.len(), span(arrivals), |p| p.at)
}

/// Returns, for each packet that waits, the bytes that have left less those that the rate has drained, and
/// its flow. `most` is at least the number of packets.
fn values(passed: impl Iterator<Item = PassedPacket>, most: usize, seen: QueueView) -> Vec<(f32, u16)> {
    let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::with_capacity(most));
    passed.for_each(|p| {
        backlog = drained(backlog, seen.rate, p.at - last);
        last = p.at;
        let own = if seen.merged { p.size } else { p.bytes };
        if seen.floor.is_none_or(|floor| p.wait.is_some_and(|wait| wait > floor)) {
            out.push(((backlog + own) as f32, p.flow));
        }
        backlog += p.bytes;
    });
    out
}

/// Returns the value that most packets have, if enough have it.
fn common(values: &[f32], width: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut from, mut best) = (0, (0, 0));
    for (to, high) in values.iter().enumerate() {
        while (values[from] as f64) < *high as f64 - width(*high as f64) {
            from += 1;
        }
        best = best.max((to - from, from));
    }
    let (count, from) = best;
    (count as f64 > MIN_COMMON_SHARE * values.len() as f64).then(|| values[from + count / 2] as f64)
}

/// Whether packets of every flow that waits have the value. A bucket treats all flows alike; with a queue for
/// each flow, a flow with a shorter queue waits less.
fn of_all(values: &[(f32, u16)], value: f64, width: f64) -> bool {
    let flows = values.iter().map(|v| v.1).max().map_or(0, |f| f as usize + 1);
    let mut counts = vec![(0usize, 0usize); flows];
    for (v, flow) in values {
        let c = &mut counts[*flow as usize];
        c.0 += 1;
        c.1 += usize::from((*v as f64 - value).abs() <= width);
    }
    counts
        .iter()
        .filter(|c| c.0 * flows * 2 > values.len())
        .all(|c| c.1 as f64 > 0.5 * MIN_COMMON_SHARE * c.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::super::PackedSeconds;
    use super::super::model::delays::{LimiterDelays, NOISE};
    use super::*;

    const BASE: f64 = 0.05;

    /// Returns when packets that arrive at these times leave a stage of `rate` bytes a second and a bucket of
    /// `burst` bytes.
    fn stage(arrivals: &[f64], rate: f64, burst: f64, size: f64) -> Vec<f64> {
        let (mut tokens, mut last) = (burst, 0.0f64);
        let leave = arrivals.iter().map(|at| {
            let at = at.max(last);
            tokens = burst.min(tokens + rate * (at - last)) - size;
            let wait = (-tokens / rate).max(0.0);
            tokens = tokens.max(0.0);
            last = at + wait;
            last
        });
        leave.collect()
    }

    /// Growing bursts every 80 ms through a link of rate `access` and a shaper, captured before both.
    fn captured_before(access: f64, rate: f64, burst: f64) -> Vec<PacketArrival> {
        let come: Vec<f64> = (0..60).flat_map(|i| vec![i as f64 * 0.08; 20 + 3 * i]).collect();
        let between = stage(&come, access, 1500.0, 1500.0);
        let leave = stage(&between, rate, burst, 1500.0);
        let arrival = |(at, out): (&f64, &f64)| PacketArrival::full(*at, out - at + BASE, false, 0);
        come.iter().zip(&leave).map(arrival).collect()
    }

    /// The packets of [`captured_before`], captured behind the shaper.
    fn captured_behind(access: f64, rate: f64, burst: f64) -> Vec<PacketArrival> {
        let mut out = captured_before(access, rate, burst);
        out.iter_mut().for_each(|a| a.at += a.delay.get().map_or(0.0, f64::from) - BASE);
        out
    }

    fn view(rate: f64) -> QueueView {
        QueueView { rate, clocked: false, base: BASE, floor: Some(0.0025), merged: false }
    }

    #[test]
    fn the_link_before_a_shaper_does_not_change_its_bucket() {
        let rate = 1e6;
        for (access, burst) in [(2e6, 40e3), (2e6, 120e3), (3e7, 40e3), (3e7, 120e3)] {
            let leave =
                bucket_before_queue(&captured_behind(access, rate, burst), view(rate)).unwrap_or_default();
            assert!((leave / burst - 1.0).abs() < 0.06, "{access} {burst}: {leave}");
            let come = captured_before(access, rate, burst);
            let delays = LimiterDelays::since_pauses(&come, rate, (f64::INFINITY, false), BASE, NOISE);
            let near = |b: f64| (b / burst - 1.0).abs() < 0.06;
            let likely =
                delays.likelihoods().and_then(|likely| likely.behind.map(|b| (b.0, likely.than_others(b.1))));
            let likely = likely.map(|(bucket, likelier)| (delays.passed_without_wait(bucket), likelier));
            assert!(
                likely.is_some_and(|(b, likelier)| near(b) && likelier > 1.0),
                "{access} {burst}: {likely:?}"
            );
        }
        let link = bucket_before_queue(&captured_behind(3e7, rate, 1500.0), view(rate)).unwrap_or_default();
        assert!(link < 4500.0, "{link}");
    }

    #[test]
    fn a_capture_behind_the_shaper_shows_its_bucket() {
        let rate = 1e6;
        let k = bucket_before_queue(&captured_behind(3e7, rate, 60e3), view(rate)).unwrap_or_default();
        assert!((k / 60e3 - 1.0).abs() < 0.05, "{k}");
    }

    #[test]
    fn flows_with_separate_queues_have_no_common_bucket() {
        // One flow's packets wait in its own long queue, the other's hardly wait.
        let rate = 1e6;
        let mut out = captured_behind(3e7, rate, 1500.0);
        let mut short = captured_before(3e7, rate, 1500.0);
        let delay = PackedSeconds::known((BASE + 0.004) as f32);
        short.iter_mut().for_each(|a| (a.flow, a.delay, a.at) = (1, delay, a.at + 0.00401));
        out.extend(short);
        out.sort_by(|a, b| a.at.total_cmp(&b.at));
        assert_eq!(bucket_before_queue(&out, view(2.0 * rate)), None);
    }

    #[test]
    fn without_known_waits_the_most_frequent_value_is_the_bucket() {
        let rate = 1e6;
        let mut out = captured_behind(3e7, rate, 60e3);
        out.iter_mut().for_each(|a| a.delay = PackedSeconds::UNKNOWN);
        let unknown = QueueView { floor: None, ..view(rate) };
        let k = bucket_before_queue(&out, unknown).unwrap_or_default();
        assert!((k / 60e3 - 1.0).abs() < 0.05, "{k}");
    }
}
