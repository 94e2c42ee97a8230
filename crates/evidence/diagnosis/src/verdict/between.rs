//! Summarises two captures of one path: the delays and losses between them.

use super::measures::rtt_summary;
use result::RttSummary;
use result::diagnosis::{BetweenEnds, BothEndsInfo, DelayVariation, DelayVariationPart, LostBetween};
use track::both_ends::{DelaySlice, PairedCaptures};
use track::{SpanHistogram, Track};

/// Summarises how two captures were paired; the second is called `other_file`.
pub fn both_ends_info(paired: &PairedCaptures, other_file: &str) -> BothEndsInfo {
    let clock = &paired.clock;
    let [only_first, only_second] = paired.alone;
    let [missed_first, missed_second] = paired.missed;
    BothEndsInfo {
        other_file: other_file.to_string(),
        clock_offset_ms: clock.offset_ns() as f64 * 1e-6,
        clock_offset_error_ms: clock.two_way.then(|| clock.round_trip.as_millis_f64() / 2.0),
        clock_drift_ppm: clock.drift * 1e6,
        clock_drift_error_ppm: clock.drift_error * 1e6,
        paired_connections: paired.paired,
        translated_connections: paired.translated,
        only_first,
        only_second,
        paired_udp_flows: paired.paired_udp[0],
        translated_udp_flows: paired.paired_udp[1],
        only_first_udp: paired.alone_udp[0],
        only_second_udp: paired.alone_udp[1],
        missed_first,
        missed_second,
    }
}

/// Summarises a track's packets between both captures; `None` where only one has them. `start_s`: start of
/// the capture, seconds since 1970.
pub(crate) fn between_ends(t: &Track, start_s: f64) -> Option<BetweenEnds> {
    let between = t.between.as_ref()?;
    let since = |time: units::Time| crate::limiter::seconds(time) - start_s;
    Some(BetweenEnds {
        lost_packets: between.lost_packets,
        unknown_packets: between.unknown_packets,
        spurious_bytes: between.spurious_bytes,
        packets_without_payload: between.packets_without_payload,
        lost_without_payload: between.lost_without_payload,
        min_delay_ms: between.least_ns.map(|ns| ns as f64 * 1e-6),
        delay_variation_ms: late_summary(&between.late),
        over_time: late_parts(&between.over_time, start_s),
        lost: between
            .lost
            .iter()
            .map(|l| LostBetween { at_s: since(l.time), seq: l.seq, bytes: l.bytes, again: l.again })
            .collect(),
    })
}

/// Summarises the delays of packets above the least delay.
pub(crate) fn late_summary(late: &SpanHistogram) -> DelayVariation {
    let RttSummary { mean, p50, p95, max, .. } = rtt_summary(late);
    DelayVariation { mean, p50, p95, max }
}

/// Returns delays and losses over time. `start_s`: start of the capture, seconds since 1970.
pub(crate) fn late_parts(parts: &[DelaySlice], start_s: f64) -> Vec<DelayVariationPart> {
    let late_part = |part: &DelaySlice| DelayVariationPart {
        from_s: crate::limiter::seconds(part.from) - start_s,
        arrived: part.arrived,
        lost: part.lost,
        mean_ms: part.sum.as_millis_f64() / f64::from(part.arrived.max(1)),
        max_ms: part.most.as_millis_f64(),
    };
    parts.iter().map(late_part).collect()
}
