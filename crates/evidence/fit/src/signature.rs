//! What tells paths apart: statistics of packets, the same of a capture and of a simulated one.
//!
//! Goodput, round trips and losses alone do not tell a policer from a queue of a few packets, nor either from chance. What does:
//!
//! - whether packets are lost when their neighbours waited longest (a full queue), and whether when most was sent just before (a
//!   full queue or an empty bucket; chance does not care);
//! - how losses come together: episodes, and how many in a row;
//! - how much came through at most in any time of a given length, from a fraction of a round trip to many: rate times time and the
//!   bucket (the arrival curve of network calculus: Cruz 1991, "A calculus for network delay", IEEE Trans. Inf. Theory 37(1));
//! - how much was sent before the first loss;
//! - all of the distribution of round trips.

use crate::figures::{FIGURES, LogFigures, few};
use crate::packets::FitPacket;

/// Times of which the most that came through is compared, round trips.
const TIMES: [f64; 6] = [1.0 / 16.0, 0.25, 1.0, 4.0, 16.0, 64.0];
/// Where they begin in the list of figures.
const CURVE: usize = 12;
/// Packets that count as losses without an opinion: as many as make one loss or two say nothing.
const NEUTRAL: f64 = 4.0;
/// Added to counts of bytes: less than a packet is as good as none.
const PACKET: f64 = 1500.0;

/// How statistics are taken: the same of the capture and of each trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignatureFrame {
    /// Seconds from the first packet on that count.
    pub seconds: f64,
    /// A round trip, seconds: the unit of times.
    pub rtt: f64,
    /// The capture is before the limiter: packets came through when they were acknowledged. Else when they were seen.
    pub before: bool,
}

/// Statistics of flows that share a path; what they do not tell is not a number.
pub fn signature(flows: &[&[FitPacket]], frame: &SignatureFrame) -> LogFigures {
    let mut figures = [f64::NAN; FIGURES];
    let first = flows.iter().filter_map(|f| f.first()).map(|p| p.at).fold(f64::INFINITY, f64::min);
    if !first.is_finite() {
        return figures;
    }
    let end = first + frame.seconds;
    let flows: Vec<&[FitPacket]> =
        flows.iter().map(|f| &f[..f.partition_point(|p| p.at < end)]).filter(|f| !f.is_empty()).collect();
    amounts(&flows, frame, &mut figures);
    round_trips(&flows, &mut figures);
    losses(&flows, frame, &mut figures);
    came_through(&arrivals(&flows, frame), frame, &mut figures);
    figures
}

/// Goodput and the share of packets sent again.
fn amounts(flows: &[&[FitPacket]], frame: &SignatureFrame, out: &mut LogFigures) {
    let (mut goodput, mut sent, mut again) = (0.0, 0.0, 0.0);
    for flow in flows {
        let payload: f64 = flow.iter().filter(|p| !p.lost).map(|p| f64::from(p.payload)).sum();
        let from = flow.first().map_or(0.0, |p| p.at);
        let to = flow.last().map_or(0.0, |p| p.at);
        goodput += payload * 8e-6 / (to - from + frame.rtt);
        sent += flow.iter().map(|p| f64::from(p.segments)).sum::<f64>();
        again += flow.iter().filter(|p| p.again).map(|p| f64::from(p.segments)).sum::<f64>();
    }
    out[0] = goodput.max(1e-6).ln();
    out[4] = few(again / sent.max(1.0));
}

/// Quantiles of round trips, as logarithms of milliseconds.
fn round_trips(flows: &[&[FitPacket]], out: &mut LogFigures) {
    let samples = flows.iter().flat_map(|f| f.iter()).filter(|p| p.rtt > 0.0);
    let mut all: Vec<(f32, u16)> = samples.map(|p| (p.rtt, p.segments)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let weight: f64 = all.iter().map(|s| f64::from(s.1)).sum();
    let Some(least) = all.first() else { return };
    out[1] = f64::from(least.0 * 1e3).ln();
    let places = [(0.25, 5), (0.5, 2), (0.75, 6), (0.95, 3), (0.99, 7)];
    let (mut sum, mut next) = (0.0, 0);
    for (rtt, segments) in &all {
        sum += f64::from(*segments);
        while next < places.len() && sum >= places[next].0 * weight {
            out[places[next].1] = f64::from(rtt * 1e3).ln();
            next += 1;
        }
    }
}

/// A packet as the losses look at it.
struct LossContext {
    at: f64,
    bytes: f64,
    lost: bool,
    /// Of the packet before it in its flow that has one.
    rtt: f32,
}

/// When and where losses happen.
fn losses(flows: &[&[FitPacket]], frame: &SignatureFrame, out: &mut LogFigures) {
    let mut all: Vec<LossContext> = Vec::new();
    for flow in flows {
        let mut rtt = f32::NAN;
        for p in *flow {
            if p.rtt > 0.0 {
                rtt = p.rtt;
            }
            all.push(LossContext { at: p.at, bytes: f64::from(p.bytes), lost: p.lost, rtt });
        }
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    out[8] = above(all.iter().filter(|p| p.rtt > 0.0).map(|p| (f64::from(p.rtt), p.lost)));
    out[9] = above(loads(&all, frame.rtt).into_iter().zip(&all).map(|(load, p)| (load, p.lost)));
    let (mut episodes, mut runs, mut lost) = (0.0f64, 0.0, 0.0);
    let (mut last, mut inside) = (f64::NEG_INFINITY, false);
    let (mut before, mut none) = (PACKET, true);
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
    out[CURVE + TIMES.len()] = before.ln();
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

/// How often what is lost is above what is not (the area under the receiver operating characteristic; Hanley and McNeil 1982): 1/2
/// says that losses do not care. Few losses are drawn to that.
fn above(samples: impl Iterator<Item = (f64, bool)>) -> f64 {
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
    (sum / passed + 0.5 * NEUTRAL) / (lost + NEUTRAL)
}

/// A packet that came through.
pub struct ThroughPacket {
    /// Seconds since 1970.
    pub at: f64,
    /// IP bytes.
    pub bytes: f64,
    /// Round trip, its own or that of the one before it, seconds.
    pub rtt: f64,
}

/// Packets of all flows as they came through.
pub fn arrivals(flows: &[&[FitPacket]], frame: &SignatureFrame) -> Vec<ThroughPacket> {
    let mut all: Vec<ThroughPacket> = Vec::new();
    for flow in flows {
        let mut rtt = frame.rtt;
        for p in flow.iter() {
            if p.rtt > 0.0 {
                rtt = f64::from(p.rtt);
            }
            if !p.lost {
                let at = if frame.before { p.at + rtt } else { p.at };
                all.push(ThroughPacket { at, bytes: f64::from(p.bytes), rtt });
            }
        }
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    all
}

/// The most that came through in a time, and how evenly.
fn came_through(all: &[ThroughPacket], frame: &SignatureFrame, out: &mut LogFigures) {
    let Some((first, last)) = all.first().zip(all.last()) else { return };
    let span = last.at - first.at;
    for (i, time) in TIMES.iter().enumerate() {
        let time = time * frame.rtt;
        if time < span / 1.5 {
            out[CURVE + i] = (most(all, time) + PACKET).ln();
        }
    }
    let even = |time: f64, q: f64| {
        let mut bins = vec![0.0f64; (span / time) as usize + 1];
        all.iter().for_each(|p| bins[((p.at - first.at) / time) as usize] += p.bytes);
        bins.pop();
        bins.sort_by(f64::total_cmp);
        bins.get((q * bins.len() as f64) as usize).map_or(f64::NAN, |b| (b + PACKET).ln())
    };
    let next = CURVE + TIMES.len() + 1;
    let unit = frame.rtt.max(span / 50_000.0);
    out[next] = even(unit, 0.5);
    out[next + 1] = even(4.0 * unit, 0.1);
    out[next + 2] = even(unit, 0.9);
}

/// The most bytes in any time of this length.
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

/// What came through, as a token bucket has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameThrough {
    /// Bytes a second in the long run.
    pub rate: f64,
    /// Bytes a second at which packets follow each other that came together.
    pub train: f64,
    arrivals: Most,
}

/// The most bytes that came through in times of seconds.
type Most = [(f64, f64); TIMES.len()];

impl CameThrough {
    /// Of the same packets; `None` where they tell nothing.
    pub fn of(flows: &[&[FitPacket]], frame: &SignatureFrame) -> Option<CameThrough> {
        let mut figures = [f64::NAN; FIGURES];
        let through = arrivals(flows, frame);
        came_through(&through, frame, &mut figures);
        let arrivals = std::array::from_fn(|i| (TIMES[i] * frame.rtt, figures[CURVE + i].exp() - PACKET));
        let known = || arrivals.iter().filter(|a: &&(f64, f64)| a.1.is_finite());
        // The bucket is in both, the rate's share in proportion to the time.
        let (longest, shorter) = (known().next_back()?, known().rev().nth(1)?);
        let rate = (longest.1 - shorter.1) / (longest.0 - shorter.0);
        let train = train(&through).max(rate);
        (rate > 0.0).then_some(CameThrough { rate, train, arrivals })
    }

    /// The bucket that a limiter of so many bytes a second has at least, bytes.
    pub fn bucket(&self, rate: f64) -> f64 {
        let beyond = self.arrivals.iter().map(|(time, most)| most - rate * time);
        beyond.filter(|b| b.is_finite()).fold(0.0, f64::max)
    }
}

/// Packets that follow each other: how many tell a rate, and which of the rates is taken, so that ACKs that come at once do not count.
const TRAIN: usize = 16;
const TRAIN_QUANTILE: f64 = 0.9;

/// The rate of trains of packets, bytes a second: that of the slowest line before the capture, or before its ACKs, where packets came to
/// it closer together (Dovrolis et al. 2004, "Packet-dispersion techniques and a capacity-estimation methodology", IEEE/ACM Trans.
/// Netw. 12(6)).
fn train(all: &[ThroughPacket]) -> f64 {
    let rate = |w: &[ThroughPacket]| {
        let bytes: f64 = w.iter().skip(1).map(|p| p.bytes).sum();
        bytes / (w[TRAIN].at - w[0].at).max(1e-6)
    };
    let mut rates: Vec<f64> = all.windows(TRAIN + 1).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get((TRAIN_QUANTILE * rates.len() as f64) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: SignatureFrame = SignatureFrame { seconds: 100.0, rtt: 0.02, before: false };

    /// Packets each millisecond, of which `fate` says the round trip and whether it is lost.
    fn flow(n: u32, fate: impl Fn(u32) -> (f32, bool)) -> Vec<FitPacket> {
        let one = |i: u32| {
            let (rtt, lost) = fate(i);
            let at = f64::from(i) * 1e-3;
            FitPacket { at, rtt, bytes: 1500, payload: 1448, segments: 1, lost, again: false }
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn a_full_queue_loses_what_waits_longest_and_chance_does_not_care() {
        // A saw-tooth of a hundred packets whose last is lost.
        let queue = flow(5000, |i| (0.02 + (i % 100) as f32 * 1e-4, i % 100 == 99));
        let chance = flow(5000, |i| (0.02 + (i % 100) as f32 * 1e-4, i % 97 == 5));
        let by_delay = |f: &[FitPacket]| signature(&[f], &FRAME)[8];
        assert!(by_delay(&queue) > 0.9, "{}", by_delay(&queue));
        assert!((by_delay(&chance) - 0.5).abs() < 0.1, "{}", by_delay(&chance));
    }

    #[test]
    fn what_came_through_tells_rate_and_bucket() {
        // 12 Mbit/s, and at the begin a hundred packets at once.
        let mut packets = flow(4000, |_| (0.02, false));
        packets.iter_mut().take(100).for_each(|p| p.at = 0.1);
        let curve = CameThrough::of(&[&packets], &FRAME).unwrap();
        assert!((curve.rate * 8.0 / 12e6 - 1.0).abs() < 0.02, "{}", curve.rate);
        let bucket = curve.bucket(curve.rate);
        assert!((bucket / 150_000.0 - 1.0).abs() < 0.1, "{bucket}");
    }
}
