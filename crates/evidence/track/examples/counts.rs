//! Prints the tracker's counts of captures: a line of tab-separated numbers for each direction with data.
//! Read by `tests/retransmissions.sh`.

use capture::CaptureReader;
use std::path::Path;
use std::process::ExitCode;
use track::{SpanHistogram, TrackerOptions, track_capture};

const COLUMNS: &str = "file\tsender\treceiver\tdata_packets\tunique_bytes\tretransmitted\tretransmitted_bytes\tfast\t\
    rto\ttlp\tspurious\ttimeouts\tlost_up\tlost_down\treordered\tsacks\tdup_acks\tmissed\tacked\trtt_ms\tup_ms\tmss\t\
    duplicates\tlog_lost";

fn main() -> ExitCode {
    println!("{COLUMNS}");
    for file in std::env::args().skip(1) {
        let reader = match CaptureReader::open(Path::new(&file)) {
            Ok(reader) => reader,
            Err(e) => {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        };
        let (tracks, ..) = track_capture(reader, TrackerOptions::default(), None, &mut |_, _| {});
        for t in tracks {
            let c = &t.counts;
            let lost = t.log.iter().filter(|s| s.fate != track::PacketFate::Passed);
            let numbers = [
                c.data_packets,
                c.unique_bytes,
                c.retransmitted_packets,
                c.retransmitted_bytes,
                c.fast,
                c.rto,
                c.tlp,
                c.spurious,
                c.timeouts,
                c.lost_up,
                c.lost_down,
                c.reordered,
                c.sacks,
                c.dup_acks,
                c.missed_bytes,
                c.acked_bytes,
            ];
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let lost: u64 = lost.map(|s| s.segments as u64).sum();
            let mean = |h: &SpanHistogram| h.mean().unwrap_or_default().as_millis_f64();
            let (rtt, up) = (mean(&t.rtt), mean(&t.rtt_up));
            let (from, to, numbers, twice) = (t.sender, t.receiver, numbers.join("\t"), c.duplicate_records);
            println!(
                "{file}\t{from}\t{to}\t{numbers}\t{rtt:.3}\t{up:.3}\t{}\t{twice}\t{lost}",
                t.mss.unwrap_or(0)
            );
        }
    }
    ExitCode::SUCCESS
}
