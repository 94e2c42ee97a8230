//! UDP flows: their rates, what QUIC and RTP show of the path, and a limiter where the same models as of TCP find one.
//!
//! A policer is told only where losses are known; a queue where round trips are: without either nothing is said of a limiter. Two
//! captures of one path know both of each packet, as of TCP. RTP's losses go to the models of losses ([`crate::limiter`]), the spin bit's round trips to those of delays. Those have one sample a
//! round trip, not one a packet, so a full link is also told by what it is: while packets wait, they come at one rate.

use crate::MAX_REPORTED;
use crate::limiter::{self, FoundLimiter, LimiterPackets, LimiterSearch, PathFacts};
use crate::verdict::{self, FULL_SHARE, MAX_SPANS, UNKNOWN_RTT, full_window, least_queue};
use result::diagnosis::{
    CaptureInfo, Limiter, LimiterKind, QuicFacts, RtpFacts, SpinBit, UdpBetweenEnds, UdpFlowDiagnosis,
    UdpLoss, UdpRate,
};
use track::both_ends::DatagramsBetween;
use track::udp::{QuicTrack, SpinVerdict, UdpTrack, UdpWay};
use track::{LoggedPacket, PacketFate, SpanHistogram, Track};
use units::{Span, Time};

/// The greatest rate is over this, as `iperf3` has its shortest interval.
const FASTEST_OVER: f64 = 0.5;
/// A link shows in so many windows with a queue.
const FEWEST_WINDOWS: usize = 12;
/// A path whose empty round trip is not known is taken for one of this: the models look at what is above it.
const LEAST_ROUND_TRIP: Span = Span::from_millis(1);
/// How sure a link is behind which packets always wait: as likely as not.
const ALWAYS_WAITS: f64 = 0.5;

/// What is said of the flows of UDP, the one with most bytes first; and how many are not told.
pub fn diagnose_udp(tracks: &[UdpTrack], info: &CaptureInfo) -> (Vec<UdpFlowDiagnosis>, u64) {
    let mut flows: Vec<UdpFlowDiagnosis> =
        tracks.iter().flat_map(|t| (0..2).filter_map(|side| flow(t, side, info.start_s))).collect();
    flows.sort_by(|a, b| b.ip_bytes.cmp(&a.ip_bytes).then(a.id.cmp(&b.id)));
    let left = flows.len().saturating_sub(MAX_REPORTED);
    flows.truncate(MAX_REPORTED);
    (flows, left as u64)
}

fn flow(t: &UdpTrack, side: usize, start_s: f64) -> Option<UdpFlowDiagnosis> {
    let way = &t.ways[side];
    let (first, last) = way.times?;
    let duration = last.since(first).as_secs_f64();
    let mbps = |bytes: u64, s: f64| if s > 0.0 { bytes as f64 * 8e-6 / s } else { 0.0 };
    let protocol = match (&t.quic, &way.rtp) {
        (Some(_), _) => "quic",
        (None, Some(_)) => "rtp",
        (None, None) => "udp",
    };
    let rtp = way.rtp.filter(|_| t.quic.is_none());
    let between = way.between.as_deref().filter(|b| !b.cut);
    let (loss, lost_packets) = match (between, &rtp) {
        (Some(between), _) => (UdpLoss::BothEnds, Some(between.lost_packets)),
        (None, Some(rtp)) => (UdpLoss::BeforeCapture, Some(rtp.lost)),
        (None, None) => (UdpLoss::NotVisible, None),
    };
    let ms = |span: Span| span.as_millis_f64();
    Some(UdpFlowDiagnosis {
        id: t.number.wrapping_mul(2).wrapping_add(side as u32),
        from: t.ends[side].to_string(),
        to: t.ends[1 - side].to_string(),
        protocol: protocol.into(),
        start_s: limiter::seconds(first) - start_s,
        duration_s: duration,
        packets: way.packets,
        payload_bytes: way.payload_bytes,
        ip_bytes: way.ip_bytes,
        rate_mbps: mbps(way.ip_bytes, duration),
        max_rate_mbps: fastest(way).filter(|_| duration >= FASTEST_OVER),
        over_time: over_time(way, limiter::seconds(way.origin) - start_s, loss),
        loss,
        lost_packets,
        spin_rtt_ms: (way.spin.samples() > 0).then(|| verdict::rtt_summary(&way.spin)),
        quic: t.quic.as_ref().map(|q| quic(q, side)),
        rtp: rtp.map(|r| RtpFacts {
            ssrc: r.ssrc,
            payload_type: r.payload_type,
            packets: r.packets,
            lost: r.lost,
            reordered: r.reordered,
            duplicates: r.duplicates,
            clock_hz: r.clock,
            jitter_ms: r.jitter.map(|j| ms(j.0)),
            max_jitter_ms: r.jitter.map(|j| ms(j.1)),
        }),
        limiter: find(t, side),
        between_ends: way.between.as_deref().map(|between| between_ends(between, start_s)),
    })
}

fn quic(q: &QuicTrack, side: usize) -> QuicFacts {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let ms = |span: Option<Span>| span.map(|s| s.as_millis_f64());
    QuicFacts {
        version: format!("{:x}", q.version),
        destination_id: hex(&q.destination_id),
        source_id: hex(&q.source_id),
        from_client: side == q.client,
        handshake_rtt_ms: ms(handshake(q)),
        to_server_ms: ms(q.to_server),
        to_client_ms: ms(q.to_client),
        retried: q.retried,
        spin: match q.spin {
            SpinVerdict::Unknown => SpinBit::Unknown,
            SpinVerdict::Spins => SpinBit::Spins,
            SpinVerdict::Disabled => SpinBit::Disabled,
        },
    }
}

fn handshake(q: &QuicTrack) -> Option<Span> {
    Some(q.to_server? + q.to_client?)
}

/// The greatest rate over half a second, Mbit/s.
fn fastest(way: &UdpWay) -> Option<f64> {
    let width = way.bin.as_secs_f64();
    let parts = (FASTEST_OVER / width).ceil().max(1.0) as u32;
    let (mut from, mut sum, mut most) = (0, 0u64, 0u64);
    for (index, bytes) in &way.bins {
        sum += bytes;
        while way.bins[from].0 + parts <= *index {
            sum -= way.bins[from].1;
            from += 1;
        }
        most = most.max(sum);
    }
    Some(most as f64 * 8e-6 / (f64::from(parts) * width)).filter(|_| most > 0)
}

/// The rate over time, and what was lost; `start_s`: when `bins` begin.
fn over_time(way: &UdpWay, start_s: f64, loss: UdpLoss) -> Vec<UdpRate> {
    let (Some(first), Some(last)) = (way.bins.first(), way.bins.last()) else { return Vec::new() };
    let fate = match loss {
        UdpLoss::NotVisible | UdpLoss::Qlog => None,
        UdpLoss::BeforeCapture => Some(PacketFate::LostUp),
        UdpLoss::BothEnds => Some(PacketFate::LostDown),
    };
    let join = (last.0 - first.0) as usize / MAX_SPANS + 1;
    let width_s = way.bin.as_secs_f64() * join as f64;
    let mut out: Vec<UdpRate> = Vec::new();
    for (index, bytes) in &way.bins {
        let from_s = start_s + (index / join as u32) as f64 * width_s;
        let mbps = *bytes as f64 * 8e-6 / width_s;
        match out.last_mut() {
            Some(last) if last.from_s == from_s => last.mbps += mbps,
            _ => out.push(UdpRate { from_s, width_s, mbps, lost_packets: fate.map(|_| 0) }),
        }
    }
    let origin = limiter::seconds(way.origin) - start_s;
    for p in way.log.iter().filter(|p| Some(p.fate) == fate) {
        let at = limiter::seconds(p.time) - origin;
        let part = out.partition_point(|part| part.from_s <= at).checked_sub(1);
        if let Some(lost) = part.and_then(|part| out[part].lost_packets.as_mut()) {
            *lost += u64::from(p.segments);
        }
    }
    out
}

/// The limiter, by losses where they are known, and by round trips where the spin bit tells them.
fn find(t: &UdpTrack, side: usize) -> Option<Limiter> {
    let way = &t.ways[side];
    if let Some(between) = way.between.as_deref().filter(|b| !b.cut) {
        let found = by_both_ends(way, between)?;
        // Of a policer without a loss nothing is known.
        let queued = found.kind != LimiterKind::Policer;
        return (queued || between.lost_packets > 0).then(|| told(&found));
    }
    let losses = way.rtp.is_some_and(|r| r.lost > 0) && t.quic.is_none();
    let base = t.quic.as_ref().and_then(handshake).into_iter().chain(way.spin.min()).min();
    let found = match base {
        _ if losses => by_models(way, None, false)?,
        Some(base) if way.spin.samples() > 0 => {
            let link = full_link(&way.log, base.as_secs_f64(), side == capture_side(t))?;
            let model = by_models(way, Some(base), true)
                .filter(|m| (m.rate / link.rate - 1.0).abs() < 1.0 - FULL_SHARE);
            // The model knows a bucket; the rate is the link's either way.
            FoundLimiter {
                kind: model.map_or(link.kind, |m| m.kind),
                burst: model.and_then(|m| m.burst),
                ..link
            }
        }
        _ => return None,
    };
    // Of a queue before the capture without a round trip, or of a policer without a loss, nothing is known.
    (losses || found.kind != LimiterKind::Policer).then(|| told(&found))
}

fn told(found: &FoundLimiter) -> Limiter {
    let queued = found.kind != LimiterKind::Policer;
    Limiter {
        kind: found.kind,
        rate_mbps: found.rate * 8e-6,
        rate_range_mbps: found.rate_range_mbps(),
        burst_bytes: found.burst,
        queue_bytes: queued.then_some(found.queue),
        queue_ms: queued.then_some(found.delay * 1e3),
        before_capture: !found.behind,
        lost_share: found.lost,
        confidence: found.confidence,
        fair_queue: false,
        aqm: None,
        takers: Vec::new(),
        flows: Vec::new(),
    }
}

/// What the models make of each packet's fate and delay: as of TCP, a round trip is the queueing and an empty way there and back.
fn by_both_ends(way: &UdpWay, between: &DatagramsBetween) -> Option<FoundLimiter> {
    let least = between.least_ns.and_then(|ns| u64::try_from(ns).ok()).map(Span::from_nanos);
    let base = least.map_or(LEAST_ROUND_TRIP, |least| (least * 2).max(LEAST_ROUND_TRIP));
    let log = way.log.iter().map(|p| LoggedPacket { rtt: p.rtt.get().map(|late| base + late).into(), ..*p });
    let mut spread = SpanHistogram::default();
    between.late.quantile(0.0).into_iter().for_each(|late| spread.record(base + late));
    between.late.mean().into_iter().for_each(|late| spread.record(base + late));
    let way = UdpWay { log: log.collect(), spin: spread, ..way.clone() };
    by_models(&way, Some(base), true)
}

/// What both captures say together; `start_s`: when the first began.
fn between_ends(between: &DatagramsBetween, start_s: f64) -> UdpBetweenEnds {
    let ms = |span: Option<Span>| span.map(|s| s.as_millis_f64());
    let since = |time: Time| limiter::seconds(time) - start_s;
    UdpBetweenEnds {
        arrived_packets: between.arrived_packets,
        lost_packets: between.lost_packets,
        unknown_packets: between.unknown_packets,
        longest_loss_packets: between.longest_run,
        reordered_packets: between.reordered,
        duplicated_packets: between.doubled,
        joined_by_offload: between.cut,
        least_ms: between.least_ns.map(|ns| ns as f64 * 1e-6),
        late_ms: verdict::late_summary(&between.late),
        jitter_ms: ms(between.jitter),
        max_jitter_ms: ms(between.max_jitter),
        over_time: verdict::late_parts(&between.over_time, start_s),
        lost_at_s: between.lost.iter().map(|time| since(*time)).collect(),
    }
}

/// Which end the capture is nearer to; 2 where that is not known.
fn capture_side(t: &UdpTrack) -> usize {
    let sides = t.quic.as_ref().and_then(|q| Some((q.client, q.to_server?, q.to_client?)));
    sides.map_or(2, |(client, server, near)| if near < server { client } else { 1 - client })
}

/// What the models of TCP's packets make of these.
fn by_models(way: &UdpWay, base: Option<Span>, behind: bool) -> Option<FoundLimiter> {
    let track = Track {
        log: way.log.clone(),
        merged: way.merged,
        first: way.times?.0,
        rtt: way.spin.clone(),
        ..Track::default()
    };
    let rtt = way.spin.mean().or(base).map_or(UNKNOWN_RTT, |rtt| rtt.as_secs_f64());
    let facts = PathFacts {
        base: base.unwrap_or_default().as_secs_f64(),
        rtt,
        behind,
        merged: way.merged > Span::ZERO,
        sender: false,
    };
    let packets = LimiterPackets { tracks: &[&track], gone: &[Vec::new()], ack_load: &[] };
    match limiter::find(&packets, facts, &mut None) {
        LimiterSearch::Found(found, _) => Some(found),
        LimiterSearch::Unlikely(_) | LimiterSearch::Nothing => None,
    }
}

/// A full link: in the windows in which packets wait, by the spin bit, as many bytes pass as in each other.
fn full_link(log: &[LoggedPacket], base: f64, behind: bool) -> Option<FoundLimiter> {
    let bytes: f64 = log.iter().map(|p| f64::from(p.bytes)).sum();
    let at = |time: Time| limiter::seconds(time);
    let (first, last) = (at(log.first()?.time), at(log.last()?.time));
    let packet = f64::from(log.iter().map(|p| p.bytes).max()?);
    let width = full_window(0.0, packet * (last - first) / bytes).max(2.0 * base);
    // Whole windows; the last may be cut.
    let count = ((last - first) / width) as usize;
    let mut windows = vec![(0.0, f64::NAN); count];
    let (mut wait, mut most) = (f64::NAN, Vec::new());
    for p in log {
        if let Some(rtt) = p.rtt.get() {
            wait = rtt.as_secs_f64() - base;
            most.push(wait);
        }
        let i = ((at(p.time) - first) / width) as usize;
        if let Some(window) = windows.get_mut(i) {
            window.0 += f64::from(p.bytes);
            // The least wait: what waits all the time stands in a queue.
            window.1 = wait.min(window.1);
        }
    }
    let (waiting, free): (Vec<_>, Vec<_>) = windows.into_iter().partition(|w| w.1 > least_queue(base));
    if waiting.len() < FEWEST_WINDOWS {
        return None;
    }
    let mut sorted: Vec<f64> = waiting.iter().map(|w| w.0 / width).collect();
    sorted.sort_by(f64::total_cmp);
    let rate = sorted[sorted.len() / 2];
    // Who sends as much when nothing waits is not held by the queue: others fill it.
    let as_fast = free.iter().filter(|w| w.0 > FULL_SHARE * rate * width).count();
    if as_fast * 2 > free.len() {
        return None;
    }
    let alike = sorted.iter().filter(|r| (*r / rate - 1.0).abs() < 1.0 - FULL_SHARE).count();
    // Laplace's rule of succession: few windows say little.
    let share = (alike as f64 + 1.0) / (sorted.len() as f64 + 2.0);
    most.sort_by(f64::total_cmp);
    let delay = most[(most.len() * 98 / 100).min(most.len() - 1)];
    let found = FoundLimiter {
        kind: LimiterKind::Bottleneck,
        rate,
        delay,
        queue: delay * rate,
        behind,
        // Where packets always wait, nothing says that it is not others that they wait for.
        confidence: if free.is_empty() { share.min(ALWAYS_WAITS) } else { share },
        ..FoundLimiter::default()
    };
    // Most of them agree, or it is the sender that has one rate now and another then.
    (share > 0.5).then_some(found)
}
