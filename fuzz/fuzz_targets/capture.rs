//! Any bytes as a capture, compressed or not, with a file name that allows ERF: gives packets or an error, without a panic,
//! and with the memory that a reader is allowed.
#![no_main]

use capture::{Batch, CaptureReader};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// Limit on the batches read from one input: a few bytes of zstd can expand to millions of records.
const FILLS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let mut reader = match CaptureReader::from_reader(Box::new(Cursor::new(data.to_vec())), "fuzz.erf") {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut batch = Batch::default();
    let mut tcp = 0;
    let mut ended = false;
    for _ in 0..FILLS {
        let before = reader.info().records;
        if !reader.fill(&mut batch) {
            assert!(batch.packets.is_empty() && batch.reports.is_empty());
            ended = true;
            break;
        }
        // One packet for each record, and packets from fragments that were waiting.
        assert!(batch.packets.len() as u64 <= reader.info().records - before + 1_024);
        for packet in &batch.packets {
            assert!(packet.options.sacks <= 4);
            assert!(packet.header >= 40);
        }
        tcp += batch.packets.len() as u64;
        batch.clear();
    }
    let info = reader.info();
    let others: u64 = info.other.iter().map(|c| c.count).sum();
    assert_eq!(info.records, info.tcp_packets + info.udp_packets + info.fragments + others);
    assert!(info.times.is_none_or(|(first, last)| first <= last));
    assert!(!ended || tcp == info.tcp_packets);
});
