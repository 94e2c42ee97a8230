//! The measured numbers of a flow, and the notes that limit how far to trust them.

use super::gaps::{lacks_acks, missing_share};
use super::round_trips::{RoundTripSpan, total};
use super::too_big::is_unreported;
use result::RttSummary;
use result::diagnosis::Measures;
use track::{SpanHistogram, Track};
use units::Span;

/// Returns the measures of a track.
pub(crate) fn measures(t: &Track, rounds: &[RoundTripSpan]) -> Measures {
    let c = &t.counts;
    let seconds: f64 = rounds.iter().map(|r| r.width).sum();
    let bytes = if c.acks > 0 { c.acked_bytes } else { c.unique_bytes };
    let mbps = |bytes: f64, s: f64| if s > 0.0 { bytes * 8e-6 / s } else { 0.0 };
    let mean = if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
    let delivery = fastest(rounds, mean);
    let sending = || rounds.iter().filter(|r| r.packets > 0);
    let inflight: f64 = sending().map(|r| r.inflight).sum::<f64>() / sending().count().max(1) as f64;
    let window = rounds.iter().filter_map(|r| r.window).max_by(f64::total_cmp);
    Measures {
        goodput_mbps: mbps(bytes as f64, seconds),
        max_delivery_mbps: delivery * 8e-6,
        bytes,
        data_packets: c.data_packets,
        missing_share: missing_share(t),
        mss_bytes: t.mss.unwrap_or(0),
        handshake_rtt_ms: t.handshake.rtt.map(|r| r.as_millis_f64()),
        rtt_ms: rtt_summary(&t.rtt),
        bdp_bytes: t.rtt.min().map_or(0, |rtt| (delivery * rtt.as_secs_f64()) as u64),
        max_inflight_bytes: rounds.iter().map(|r| r.inflight).fold(0.0, f64::max) as u64,
        mean_inflight_bytes: inflight as u64,
        max_window_bytes: window.map(|w| w as u64),
        window_scaling: t.handshake.scaled,
        retransmitted_packets: c.retransmitted_packets,
        fast: c.fast,
        rto: c.rto,
        tlp: c.tlp,
        spurious: c.spurious,
        timeouts: c.timeouts,
        lost_up: c.lost_up,
        lost_down: c.lost_down,
        reordered: c.reordered,
        reordered_by_ms: c.reordered_by.as_millis_f64(),
        acks: c.acks,
        dup_acks: c.dup_acks,
        zero_windows: c.zero_windows,
        held_segments: t.held.total(),
        held_s: c.held.as_secs_f64(),
        idle_s: total(rounds, |r| r.idle),
        silence_s: 0.0,
        timeout_s: total(rounds, |r| r.timeout),
        largest_burst_bytes: t.bursts.largest as u64,
        mean_burst_bytes: t.bursts.bytes / t.bursts.count.max(1),
        too_big: c.too_big,
        icmp_too_big: c.icmp_too_big,
        fragmented_packets: c.fragmented_packets,
        fragments: c.fragments,
        incomplete_packets: c.incomplete_packets,
        path_mtu_bytes: t.path_mtu.or_else(|| fell_to(t)).or(t.fragment_fits),
        mss_before_bytes: t.mss_before,
        ecn: t.handshake.ecn,
        ce: c.ce,
        ece: c.ece,
    }
}

/// Returns the IP packet size of full segments after the sender reduced them on an ICMP message.
fn fell_to(t: &Track) -> Option<u32> {
    let mss = t.mss.filter(|_| t.too_big.iter().any(|s| s.fits.is_some()) && !is_unreported(t))?;
    Some(mss + t.header)
}

/// Returns minimum, mean, quantiles and maximum in milliseconds; all zero without samples.
pub(crate) fn rtt_summary(h: &SpanHistogram) -> RttSummary {
    let ms = |span: Option<Span>| span.unwrap_or_default().as_millis_f64();
    let mean = h.sum_nanos() as f64 / h.samples().max(1) as f64 / 1e6;
    RttSummary::with((ms(h.min()), ms(h.max())), mean, |q| ms(h.quantile(q)))
}

/// Returns the greatest delivery rate over two round trips, bytes a second. A single one may contain the ACKs
/// of two.
fn fastest(rounds: &[RoundTripSpan], mean: f64) -> f64 {
    rounds
        .windows(2)
        .filter(|w| w[0].width + w[1].width > 0.0)
        .map(|w| (w[0].acked + w[1].acked) / (w[0].width + w[1].width))
        .fold(mean, f64::max)
}

/// Whether the data, or its ACKs, are not in the capture.
pub(crate) fn is_one_way(t: &Track) -> bool {
    t.counts.acks == 0 || t.counts.data_packets == 0
}

/// Whether the snap length cut TCP options off: of the SYN, of data or of ACKs.
pub(crate) fn are_options_cut(t: &Track) -> bool {
    t.handshake.options_cut || t.counts.options_cut > 0
}

/// Whether the SYNs show that the ends did not agree on SACK. Without captured SYNs or options that is
/// unknown, and false is returned.
fn without_sack(t: &Track) -> bool {
    let h = &t.handshake;
    h.syn && h.syn_ack && !h.sack && t.counts.sacks == 0 && !are_options_cut(t)
}

/// Whether the handshake or timestamps show the delay between sender and capture.
fn knows_rtt(t: &Track) -> bool {
    t.rtt_up.samples() > 0 || t.handshake.up.is_some()
}

/// Returns the codes of facts about the capture that limit how far to trust the numbers.
pub(crate) fn notes(t: &Track) -> Vec<String> {
    let c = &t.counts;
    let refuted = t.handshake.scale_is_wrong;
    let notes = [
        (!t.handshake.syn && !t.handshake.syn_ack, "no-handshake"),
        (t.handshake.wscale.is_none() && !refuted, "window-scale-unknown"),
        (refuted, "window-scale-refuted"),
        (c.missed_bytes > 0 && c.data_packets > 0, "capture-missed-packets"),
        (is_one_way(t), "one-way"),
        (lacks_acks(t), "acks-missing"),
        (!is_one_way(t) && !knows_rtt(t), "rtt-from-capture"),
        (c.duplicate_records > 0, "duplicate-records"),
        (are_options_cut(t), "options-cut"),
        (without_sack(t), "no-sack"),
    ];
    notes.iter().filter(|s| s.0).map(|s| s.1.to_string()).collect()
}
