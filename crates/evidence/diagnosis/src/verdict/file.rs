//! The summary of the capture file in a diagnosis.

use result::diagnosis::{CaptureInfo, Counted, Damage};
use track::{FileInfo, NamedCount, Totals};

/// Summarises the file that was read and its connections.
pub fn capture_info(file: FileInfo, totals: &Totals) -> CaptureInfo {
    let (start, end) = file.times.unwrap_or_default();
    CaptureInfo {
        file: file.name,
        format: file.format,
        links: file.links,
        start_s: start.as_secs_f64(),
        duration_s: end.since(start).as_secs_f64(),
        packets: file.records,
        wire_bytes: file.wire_bytes,
        tcp_packets: file.tcp_packets,
        udp_packets: file.udp_packets,
        omitted_udp_flows: 0,
        fragments: file.fragments,
        tunnels: counted(&file.tunnels),
        other: counted(&file.other),
        connections: totals.connections,
        dropped: file.dropped,
        missed_bytes: totals.missed_bytes,
        duplicate_records: totals.duplicate_records,
        omitted_flows: totals.forgotten_tracks,
        backward_times: totals.backward_times,
        max_backward_s: (totals.backward_times > 0).then(|| totals.most_backward.as_secs_f64()),
        forward_jumps: totals.forward_jumps,
        max_forward_s: (totals.forward_jumps > 0).then(|| totals.most_forward.as_secs_f64()),
        damage: file.damage.map(|d| Damage { offset: d.offset, what: d.what }),
        both_ends: None,
    }
}

fn counted(named: &[NamedCount]) -> Vec<Counted> {
    named.iter().map(|c| Counted { name: c.name.to_string(), count: c.count }).collect()
}
