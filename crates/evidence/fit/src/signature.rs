//! Signatures: statistics of packets that distinguish paths, computed in the same manner from a capture and
//! from a simulated run.
//!
//! Goodput, round trips and losses alone do not distinguish a policer, a queue of a few packets and random
//! loss. These do:
//!
//! - whether packets are lost when their neighbours waited longest (a full queue), and when most was sent
//!   just before (a full queue or an empty bucket; random loss depends on neither);
//! - how losses cluster: episodes, and losses in a row;
//! - the most bytes that arrived in any interval of a given length, from a fraction of a round trip to many:
//!   rate times time plus the bucket (the arrival curve of network calculus: Cruz 1991, "A calculus for
//!   network delay", IEEE Trans. Inf. Theory 37(1));
//! - the bytes sent before the first loss;
//! - the distribution of round trips.

use crate::figures::{FIGURES, LogFigures, log_share};
use track::{LoggedPacket, PacketFate};
use units::{Span, Time};

/// Lengths of time of the arrival curve, round trips.
const CURVE_TIMES: [f64; 6] = [1.0 / 16.0, 0.25, 1.0, 4.0, 16.0, 64.0];
/// Index of the arrival curve in the list of figures.
const CURVE_INDEX: usize = 12;
/// Neutral losses added to [`rank_of_lost`], so that one or two losses prove nothing.
const NEUTRAL_LOSSES: f64 = 4.0;
/// Added to byte counts before taking the logarithm, so that less than a packet counts as none.
const PACKET_BYTES: f64 = 1500.0;

/// How statistics are taken of the capture and of each trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignatureFrame {
    /// Seconds after the first packet that count.
    pub seconds: f64,
    /// A round trip, seconds: the unit of times.
    pub rtt: f64,
    /// The capture was taken before the limiter: packets came through when they were acknowledged. Otherwise
    /// they came through when they were captured.
    pub before: bool,
}

/// The figures of flows that share a path; NaN where the packets do not show one.
pub fn signature(flows: &[&[LoggedPacket]], frame: &SignatureFrame) -> LogFigures {
    let mut figures = [f64::NAN; FIGURES];
    let Some(first) = first_time(flows) else { return figures };
    let end = first + Span::from_secs_f64(frame.seconds);
    let flows: Vec<&[LoggedPacket]> =
        flows.iter().map(|f| &f[..f.partition_point(|p| p.time < end)]).filter(|f| !f.is_empty()).collect();
    amounts(&flows, frame, &mut figures);
    round_trips(&flows, &mut figures);
    losses(&flows, frame, &mut figures);
    came_through(&arrivals(&flows, frame), frame, &mut figures);
    figures
}

/// Time of the first packet of all flows.
fn first_time(flows: &[&[LoggedPacket]]) -> Option<Time> {
    flows.iter().filter_map(|f| f.first()).map(|p| p.time).min()
}

/// A packet's RTT, seconds, where it is known and not zero.
pub fn known_rtt(p: &LoggedPacket) -> Option<f64> {
    p.rtt.get().filter(|rtt| !rtt.is_zero()).map(Span::as_secs_f64)
}

/// Goodput and the share of packets sent again.
fn amounts(flows: &[&[LoggedPacket]], frame: &SignatureFrame, out: &mut LogFigures) {
    let (mut goodput, mut sent, mut again) = (0.0, 0.0, 0.0);
    for flow in flows {
        let Some((first, last)) = flow.first().zip(flow.last()) else { continue };
        let passed = flow.iter().filter(|p| p.fate == PacketFate::Passed);
        let payload: f64 = passed.map(|p| f64::from(p.payload)).sum();
        goodput += payload * 8e-6 / (last.time.since(first.time).as_secs_f64() + frame.rtt);
        sent += flow.iter().map(|p| f64::from(p.segments)).sum::<f64>();
        again += flow.iter().filter(|p| p.again).map(|p| f64::from(p.segments)).sum::<f64>();
    }
    out[0] = goodput.max(1e-6).ln();
    out[4] = log_share(again / sent.max(1.0));
}

/// Quantiles of round trips, as logarithms of milliseconds.
fn round_trips(flows: &[&[LoggedPacket]], out: &mut LogFigures) {
    let packets = flows.iter().flat_map(|f| f.iter());
    let mut all: Vec<(f64, u16)> = packets.filter_map(|p| Some((known_rtt(p)?, p.segments))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let weight: f64 = all.iter().map(|s| f64::from(s.1)).sum();
    let Some(least) = all.first() else { return };
    out[1] = (least.0 * 1e3).ln();
    let places = [(0.25, 5), (0.5, 2), (0.75, 6), (0.95, 3), (0.99, 7)];
    let (mut sum, mut next) = (0.0, 0);
    for (rtt, segments) in &all {
        sum += f64::from(*segments);
        while next < places.len() && sum >= places[next].0 * weight {
            out[places[next].1] = (rtt * 1e3).ln();
            next += 1;
        }
    }
}

/// A packet with the context that losses depend on.
struct LossContext {
    /// Seconds after the first packet.
    at: f64,
    bytes: f64,
    lost: bool,
    /// The last known round trip in its flow, seconds.
    rtt: Option<f64>,
}

/// The figures of losses: how they depend on waits and load, and how they cluster.
fn losses(flows: &[&[LoggedPacket]], frame: &SignatureFrame, out: &mut LogFigures) {
    let mut all: Vec<LossContext> = Vec::new();
    let first = first_time(flows).unwrap_or_default();
    for flow in flows {
        let mut rtt = None;
        for p in *flow {
            rtt = known_rtt(p).or(rtt);
            let (at, lost) = (p.time.since(first).as_secs_f64(), p.fate != PacketFate::Passed);
            all.push(LossContext { at, bytes: f64::from(p.bytes), lost, rtt });
        }
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    out[8] = rank_of_lost(all.iter().filter_map(|p| Some((p.rtt?, p.lost))));
    out[9] = rank_of_lost(loads(&all, frame.rtt).into_iter().zip(&all).map(|(load, p)| (load, p.lost)));
    let (mut episodes, mut runs, mut lost) = (0.0f64, 0.0, 0.0);
    let (mut last, mut inside) = (f64::NEG_INFINITY, false);
    let (mut before, mut none) = (PACKET_BYTES, true);
    for p in &all {
        if p.lost {
            episodes += f64::from(u8::from(p.at - last > frame.rtt));
            runs += f64::from(u8::from(!inside));
            lost += 1.0;
            last = p.at;
            none = false;
        } else if none {
            before += p.bytes;
        }
        inside = p.lost;
    }
    out[10] = (episodes + 1.0).ln();
    out[11] = ((lost + 1.0) / (runs + 1.0)).ln();
    out[CURVE_INDEX + CURVE_TIMES.len()] = before.ln();
}

/// Bytes sent in the round trip before each packet.
fn loads(all: &[LossContext], rtt: f64) -> Vec<f64> {
    let (mut from, mut sum) = (0, 0.0);
    let one = |p: &LossContext| {
        while all[from].at < p.at - rtt {
            sum -= all[from].bytes;
            from += 1;
        }
        sum += p.bytes;
        sum
    };
    all.iter().map(one).collect()
}

/// Probability that a lost packet has a larger value than a passed one (the area under the receiver operating
/// characteristic; Hanley and McNeil 1982). 1/2 means that losses do not depend on the value; few losses are
/// shrunk towards it.
fn rank_of_lost(samples: impl Iterator<Item = (f64, bool)>) -> f64 {
    let mut all: Vec<(f64, bool)> = samples.collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let passed = all.iter().filter(|s| !s.1).count() as f64;
    if passed == 0.0 {
        return 0.5;
    }
    let (mut below, mut sum, mut lost) = (0.0, 0.0, 0.0);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let n = same.iter().filter(|s| s.1).count() as f64;
        let other = same.len() as f64 - n;
        sum += n * (below + other / 2.0);
        lost += n;
        below += other;
    }
    (sum / passed + 0.5 * NEUTRAL_LOSSES) / (lost + NEUTRAL_LOSSES)
}

/// A packet that came through.
pub struct ThroughPacket {
    /// Seconds after the first packet of all flows.
    pub at: f64,
    /// IP bytes.
    pub bytes: f64,
    /// The last known round trip in its flow, seconds.
    pub rtt: f64,
}

/// The packets of all flows in the order in which they came through.
pub fn arrivals(flows: &[&[LoggedPacket]], frame: &SignatureFrame) -> Vec<ThroughPacket> {
    let mut all: Vec<ThroughPacket> = Vec::new();
    let first = first_time(flows).unwrap_or_default();
    for flow in flows {
        let mut rtt = frame.rtt;
        for p in flow.iter() {
            rtt = known_rtt(p).unwrap_or(rtt);
            if p.fate == PacketFate::Passed {
                let sent = p.time.since(first).as_secs_f64();
                let at = if frame.before { sent + rtt } else { sent };
                all.push(ThroughPacket { at, bytes: f64::from(p.bytes), rtt });
            }
        }
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    all
}

/// The arrival curve, and how evenly packets came through.
fn came_through(all: &[ThroughPacket], frame: &SignatureFrame, out: &mut LogFigures) {
    let Some((first, last)) = all.first().zip(all.last()) else { return };
    let span = last.at - first.at;
    for (i, time) in CURVE_TIMES.iter().enumerate() {
        let time = time * frame.rtt;
        if time < span / 1.5 {
            out[CURVE_INDEX + i] = (most(all, time) + PACKET_BYTES).ln();
        }
    }
    let even = |time: f64, q: f64| {
        let mut bins = vec![0.0f64; (span / time) as usize + 1];
        all.iter().for_each(|p| bins[((p.at - first.at) / time) as usize] += p.bytes);
        bins.pop();
        bins.sort_by(f64::total_cmp);
        bins.get((q * bins.len() as f64) as usize).map_or(f64::NAN, |b| (b + PACKET_BYTES).ln())
    };
    let next = CURVE_INDEX + CURVE_TIMES.len() + 1;
    let unit = frame.rtt.max(span / 50_000.0);
    out[next] = even(unit, 0.5);
    out[next + 1] = even(4.0 * unit, 0.1);
    out[next + 2] = even(unit, 0.9);
}

/// The most bytes that came through in any time of this length.
fn most(all: &[ThroughPacket], time: f64) -> f64 {
    let (mut from, mut sum, mut most) = (0, 0.0, 0.0f64);
    for p in all {
        sum += p.bytes;
        while all[from].at < p.at - time {
            sum -= all[from].bytes;
            from += 1;
        }
        most = most.max(sum);
    }
    most
}

/// The packets that came through, described as by a token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameThrough {
    /// Long-term rate, bytes per second.
    pub rate: f64,
    /// Rate of packets that follow each other closely, bytes per second.
    pub train: f64,
    arrivals: Most,
}

/// Points of the arrival curve: seconds, and the most bytes that came through in them.
type Most = [(f64, f64); CURVE_TIMES.len()];

impl CameThrough {
    /// Describes the packets of these flows; `None` if they are too few.
    pub fn of(flows: &[&[LoggedPacket]], frame: &SignatureFrame) -> Option<CameThrough> {
        let mut figures = [f64::NAN; FIGURES];
        let through = arrivals(flows, frame);
        came_through(&through, frame, &mut figures);
        let arrivals = std::array::from_fn(|i| {
            (CURVE_TIMES[i] * frame.rtt, figures[CURVE_INDEX + i].exp() - PACKET_BYTES)
        });
        let known = || arrivals.iter().filter(|a: &&(f64, f64)| a.1.is_finite());
        // The bucket is in both points, so their difference is that of rate times time.
        let (longest, shorter) = (known().next_back()?, known().rev().nth(1)?);
        let rate = (longest.1 - shorter.1) / (longest.0 - shorter.0);
        let train = train(&through).max(rate);
        (rate > 0.0).then_some(CameThrough { rate, train, arrivals })
    }

    /// Least bucket of a limiter of this rate (bytes per second), bytes.
    pub fn bucket(&self, rate: f64) -> f64 {
        let beyond = self.arrivals.iter().map(|(time, most)| most - rate * time);
        beyond.filter(|b| b.is_finite()).fold(0.0, f64::max)
    }
}

/// Gaps of a train of packets, and the quantile of the trains' rates that is taken: below the top, because
/// ACKs may come in bursts.
const TRAIN_GAPS: usize = 16;
const TRAIN_QUANTILE: f64 = 0.9;

/// The rate of trains of packets, bytes per second: that of the slowest link on their path, if they reached
/// it closer together (Dovrolis et al. 2004, "Packet-dispersion techniques and a capacity-estimation
/// methodology", IEEE/ACM Trans. Netw. 12(6)).
fn train(all: &[ThroughPacket]) -> f64 {
    let rate = |w: &[ThroughPacket]| {
        let bytes: f64 = w.iter().skip(1).map(|p| p.bytes).sum();
        bytes / (w[TRAIN_GAPS].at - w[0].at).max(1e-6)
    };
    let mut rates: Vec<f64> = all.windows(TRAIN_GAPS + 1).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get((TRAIN_QUANTILE * rates.len() as f64) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::PackedSpan;

    const FRAME: SignatureFrame = SignatureFrame { seconds: 100.0, rtt: 0.02, before: false };

    /// A packet each millisecond; `fate` gives its round trip, microseconds, and whether it is lost.
    fn flow(n: u64, fate: impl Fn(u64) -> (u64, bool)) -> Vec<LoggedPacket> {
        let one = |i: u64| {
            let (rtt_us, lost) = fate(i);
            LoggedPacket {
                time: Time::from_nanos(i * 1_000_000),
                bytes: 1500,
                payload: 1448,
                rtt: PackedSpan::known(Span::from_micros(rtt_us)),
                segments: 1,
                fate: if lost { PacketFate::LostDown } else { PacketFate::Passed },
                ..LoggedPacket::default()
            }
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn a_full_queue_loses_after_the_longest_waits_and_random_loss_does_not() {
        // Waits rise over a hundred packets, and the last one is lost.
        let queue = flow(5000, |i| (20_000 + i % 100 * 100, i % 100 == 99));
        let random = flow(5000, |i| (20_000 + i % 100 * 100, i % 97 == 5));
        let by_delay = |f: &[LoggedPacket]| signature(&[f], &FRAME)[8];
        assert!(by_delay(&queue) > 0.9, "{}", by_delay(&queue));
        assert!((by_delay(&random) - 0.5).abs() < 0.1, "{}", by_delay(&random));
    }

    #[test]
    fn the_arrival_curve_shows_rate_and_bucket() {
        // 12 Mbit/s, with a hundred packets at once at the start.
        let mut packets = flow(4000, |_| (20_000, false));
        packets.iter_mut().take(100).for_each(|p| p.time = Time::from_nanos(100_000_000));
        let curve = CameThrough::of(&[&packets], &FRAME).unwrap();
        assert!((curve.rate * 8.0 / 12e6 - 1.0).abs() < 0.02, "{}", curve.rate);
        let bucket = curve.bucket(curve.rate);
        assert!((bucket / 150_000.0 - 1.0).abs() < 0.1, "{bucket}");
    }
}
