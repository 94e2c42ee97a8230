//! UDP flows: their rates, what QUIC and RTP show about the path, and a limiter where the models of TCP's
//! packets find one.
//!
//! A policer needs known losses, and a queue needs known round trips; without either no limiter is reported.
//! Two captures of one path show both for each packet. RTP's losses go to the models of losses
//! ([`crate::limiter`]), and the spin bit's round trips to the models of delays. The spin bit gives one
//! sample a round trip, not one a packet, so a full link is also found by its constant rate while packets
//! wait.

use crate::MAX_REPORTED;
use crate::limiter::{self, FoundLimiter, LimiterPackets, LimiterSearch, PathFacts};
use crate::verdict::{self, FULL_SHARE, MAX_SPANS, UNKNOWN_RTT, full_window, least_queue};
use result::diagnosis::{
    CaptureInfo, Limiter, LimiterKind, QuicFacts, RtpFacts, SpinBit, UdpBetweenEnds, UdpFlowDiagnosis,
    UdpLoss, UdpRate,
};
use track::both_ends::DatagramsBetween;
use track::udp::{QuicTrack, SpinVerdict, UdpDirection, UdpTrack};
use track::{LoggedPacket, PacketFate, SpanHistogram, Track};
use units::{Span, Time};

/// Seconds over which the greatest rate is measured, the shortest interval of `iperf3`.
const PEAK_RATE_WINDOW_S: f64 = 0.5;
/// Least number of windows with a queue that show a link.
const MIN_QUEUED_WINDOWS: usize = 12;
/// RTprop of a path where it is unknown. The models use the delay above it.
const ASSUMED_RTPROP: Span = Span::from_millis(1);
/// Confidence of a link at which packets always wait.
const ALWAYS_QUEUED_CONFIDENCE: f64 = 0.5;

/// Diagnoses UDP flows, in falling order of their bytes. Also returns the number of flows that are left out.
pub fn diagnose_udp(tracks: &[UdpTrack], info: &CaptureInfo) -> (Vec<UdpFlowDiagnosis>, u64) {
    let mut flows: Vec<UdpFlowDiagnosis> =
        tracks.iter().flat_map(|t| (0..2).filter_map(|side| flow(t, side, info.start_s))).collect();
    flows.sort_by(|a, b| b.ip_bytes.cmp(&a.ip_bytes).then(a.id.cmp(&b.id)));
    let left = flows.len().saturating_sub(MAX_REPORTED);
    flows.truncate(MAX_REPORTED);
    (flows, left as u64)
}

fn flow(t: &UdpTrack, side: usize, start_s: f64) -> Option<UdpFlowDiagnosis> {
    let direction = &t.ways[side];
    let (first, last) = direction.times?;
    let duration = last.since(first).as_secs_f64();
    let mbps = |bytes: u64, s: f64| if s > 0.0 { bytes as f64 * 8e-6 / s } else { 0.0 };
    let protocol = match (&t.quic, &direction.rtp) {
        (Some(_), _) => "quic",
        (None, Some(_)) => "rtp",
        (None, None) => "udp",
    };
    let rtp = direction.rtp.filter(|_| t.quic.is_none());
    let between = direction.between.as_deref().filter(|b| !b.cut);
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
        packets: direction.packets,
        payload_bytes: direction.payload_bytes,
        ip_bytes: direction.ip_bytes,
        rate_mbps: mbps(direction.ip_bytes, duration),
        max_rate_mbps: fastest(direction).filter(|_| duration >= PEAK_RATE_WINDOW_S),
        over_time: over_time(direction, limiter::seconds(direction.origin) - start_s, loss),
        loss,
        lost_packets,
        spin_rtt_ms: (direction.spin.samples() > 0).then(|| verdict::rtt_summary(&direction.spin)),
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
        between_ends: direction.between.as_deref().map(|between| between_ends(between, start_s)),
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

/// Returns the greatest rate over half a second, Mbit/s.
fn fastest(direction: &UdpDirection) -> Option<f64> {
    let width = direction.bin.as_secs_f64();
    let parts = (PEAK_RATE_WINDOW_S / width).ceil().max(1.0) as u32;
    let (mut from, mut sum, mut most) = (0, 0u64, 0u64);
    for (index, bytes) in &direction.bins {
        sum += bytes;
        while direction.bins[from].0 + parts <= *index {
            sum -= direction.bins[from].1;
            from += 1;
        }
        most = most.max(sum);
    }
    Some(most as f64 * 8e-6 / (f64::from(parts) * width)).filter(|_| most > 0)
}

/// Returns rate and losses over time. `start_s`: start of `bins`, seconds since the capture began.
fn over_time(direction: &UdpDirection, start_s: f64, loss: UdpLoss) -> Vec<UdpRate> {
    let (Some(first), Some(last)) = (direction.bins.first(), direction.bins.last()) else {
        return Vec::new();
    };
    let fate = match loss {
        UdpLoss::NotVisible | UdpLoss::Qlog => None,
        UdpLoss::BeforeCapture => Some(PacketFate::LostUp),
        UdpLoss::BothEnds => Some(PacketFate::LostDown),
    };
    let join = (last.0 - first.0) as usize / MAX_SPANS + 1;
    let width_s = direction.bin.as_secs_f64() * join as f64;
    let mut out: Vec<UdpRate> = Vec::new();
    for (index, bytes) in &direction.bins {
        let from_s = start_s + (index / join as u32) as f64 * width_s;
        let mbps = *bytes as f64 * 8e-6 / width_s;
        match out.last_mut() {
            Some(last) if last.from_s == from_s => last.mbps += mbps,
            _ => out.push(UdpRate { from_s, width_s, mbps, lost_packets: fate.map(|_| 0) }),
        }
    }
    let origin = limiter::seconds(direction.origin) - start_s;
    for p in direction.log.iter().filter(|p| Some(p.fate) == fate) {
        let at = limiter::seconds(p.time) - origin;
        let part = out.partition_point(|part| part.from_s <= at).checked_sub(1);
        if let Some(lost) = part.and_then(|part| out[part].lost_packets.as_mut()) {
            *lost += u64::from(p.segments);
        }
    }
    out
}

/// Finds the limiter by losses where they are known, and by round trips where the spin bit shows them.
fn find(t: &UdpTrack, side: usize) -> Option<Limiter> {
    let direction = &t.ways[side];
    if let Some(between) = direction.between.as_deref().filter(|b| !b.cut) {
        let found = by_both_ends(direction, between)?;
        // A policer without a loss does not show.
        let queued = found.kind != LimiterKind::Policer;
        return (queued || between.lost_packets > 0).then(|| as_reported(&found));
    }
    let losses = direction.rtp.is_some_and(|r| r.lost > 0) && t.quic.is_none();
    let base = t.quic.as_ref().and_then(handshake).into_iter().chain(direction.spin.min()).min();
    let found = match base {
        _ if losses => by_models(direction, None, false)?,
        Some(base) if direction.spin.samples() > 0 => {
            let link = full_link(&direction.log, base.as_secs_f64(), side == capture_side(t))?;
            let model = by_models(direction, Some(base), true)
                .filter(|m| (m.rate / link.rate - 1.0).abs() < 1.0 - FULL_SHARE);
            // The model finds the bucket; the rate is the link's in both cases.
            FoundLimiter {
                kind: model.map_or(link.kind, |m| m.kind),
                burst: model.and_then(|m| m.burst),
                ..link
            }
        }
        _ => return None,
    };
    // A queue before the capture needs a round trip, and a policer needs a loss.
    (losses || found.kind != LimiterKind::Policer).then(|| as_reported(&found))
}

fn as_reported(found: &FoundLimiter) -> Limiter {
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
        shares_by_cc: Vec::new(),
        flows: Vec::new(),
    }
}

/// Applies the models to each packet's fate and delay. As for TCP, a round trip is the queueing delay and
/// RTprop.
fn by_both_ends(direction: &UdpDirection, between: &DatagramsBetween) -> Option<FoundLimiter> {
    let min_delay = between.least_ns.and_then(|ns| u64::try_from(ns).ok()).map(Span::from_nanos);
    let base = min_delay.map_or(ASSUMED_RTPROP, |delay| (delay * 2).max(ASSUMED_RTPROP));
    let log =
        direction.log.iter().map(|p| LoggedPacket { rtt: p.rtt.get().map(|late| base + late).into(), ..*p });
    let mut spread = SpanHistogram::default();
    between.late.quantile(0.0).into_iter().for_each(|late| spread.record(base + late));
    between.late.mean().into_iter().for_each(|late| spread.record(base + late));
    let direction = UdpDirection { log: log.collect(), spin: spread, ..direction.clone() };
    by_models(&direction, Some(base), true)
}

/// Summarises the packets between both captures. `start_s`: start of the first, seconds since 1970.
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
        min_delay_ms: between.least_ns.map(|ns| ns as f64 * 1e-6),
        delay_variation_ms: verdict::late_summary(&between.late),
        jitter_ms: ms(between.jitter),
        max_jitter_ms: ms(between.max_jitter),
        over_time: verdict::late_parts(&between.over_time, start_s),
        lost_at_s: between.lost.iter().map(|time| since(*time)).collect(),
    }
}

/// Returns the end that the capture is nearer to; 2 where that is unknown.
fn capture_side(t: &UdpTrack) -> usize {
    let sides = t.quic.as_ref().and_then(|q| Some((q.client, q.to_server?, q.to_client?)));
    sides.map_or(2, |(client, server, near)| if near < server { client } else { 1 - client })
}

/// Applies the models of TCP's packets.
fn by_models(direction: &UdpDirection, base: Option<Span>, behind: bool) -> Option<FoundLimiter> {
    let track = Track {
        log: direction.log.clone(),
        merged: direction.merged,
        first: direction.times?.0,
        rtt: direction.spin.clone(),
        ..Track::default()
    };
    let rtt = direction.spin.mean().or(base).map_or(UNKNOWN_RTT, |rtt| rtt.as_secs_f64());
    let facts = PathFacts {
        base: base.unwrap_or_default().as_secs_f64(),
        rtt,
        behind,
        merged: direction.merged > Span::ZERO,
        sender: false,
    };
    let packets = LimiterPackets { tracks: &[&track], gone: &[Vec::new()], ack_load: &[] };
    match limiter::find(&packets, facts, &mut None) {
        LimiterSearch::Found(found, _) => Some(found),
        LimiterSearch::Unlikely(_) | LimiterSearch::Nothing => None,
    }
}

/// Finds a full link: the windows in which packets wait, by the spin bit, pass equal numbers of bytes.
fn full_link(log: &[LoggedPacket], base: f64, behind: bool) -> Option<FoundLimiter> {
    let bytes: f64 = log.iter().map(|p| f64::from(p.bytes)).sum();
    let at = |time: Time| limiter::seconds(time);
    let (first, last) = (at(log.first()?.time), at(log.last()?.time));
    let packet = f64::from(log.iter().map(|p| p.bytes).max()?);
    let width = full_window(0.0, packet * (last - first) / bytes).max(2.0 * base);
    // Whole windows only; the last may be cut short.
    let count = ((last - first) / width) as usize;
    let mut windows = vec![(0.0, None); count];
    let (mut wait, mut most) = (None, Vec::new());
    for p in log {
        if let Some(rtt) = p.rtt.get() {
            let now = rtt.as_secs_f64() - base;
            wait = Some(now);
            most.push(now);
        }
        let i = ((at(p.time) - first) / width) as usize;
        if let Some(window) = windows.get_mut(i) {
            window.0 += f64::from(p.bytes);
            // The least wait of the window, which a standing queue raises.
            window.1 = [wait, window.1].into_iter().flatten().reduce(f64::min);
        }
    }
    let (waiting, free): (Vec<_>, Vec<_>) =
        windows.into_iter().partition(|w| w.1.is_some_and(|wait| wait > least_queue(base)));
    if waiting.len() < MIN_QUEUED_WINDOWS {
        return None;
    }
    let mut sorted: Vec<f64> = waiting.iter().map(|w| w.0 / width).collect();
    sorted.sort_by(f64::total_cmp);
    let rate = sorted[sorted.len() / 2];
    // A sender that sends the same amount when no packets wait is not limited by the queue; other flows fill
    // it.
    let as_fast = free.iter().filter(|w| w.0 > FULL_SHARE * rate * width).count();
    if as_fast * 2 > free.len() {
        return None;
    }
    let alike = sorted.iter().filter(|r| (*r / rate - 1.0).abs() < 1.0 - FULL_SHARE).count();
    // Laplace's rule of succession: few windows are weak evidence.
    let share = (alike as f64 + 1.0) / (sorted.len() as f64 + 2.0);
    most.sort_by(f64::total_cmp);
    let delay = most[(most.len() * 98 / 100).min(most.len() - 1)];
    let found = FoundLimiter {
        kind: LimiterKind::Bottleneck,
        rate,
        delay,
        queue: delay * rate,
        behind,
        // If packets always wait, they may wait for other traffic.
        confidence: if free.is_empty() { share.min(ALWAYS_QUEUED_CONFIDENCE) } else { share },
        ..FoundLimiter::default()
    };
    // If most windows do not agree, the sender itself varies its rate.
    (share > 0.5).then_some(found)
}
