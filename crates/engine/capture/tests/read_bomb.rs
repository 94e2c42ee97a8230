//! A decompression bomb takes time but no memory. Runs alone in its process, whose peak memory is measured.

use capture::{Batch, CaptureReader};
use std::io::Cursor;

/// A zstd file of 6 kB (RFC 8878) that expands to 200 MB: a pcap header, then zeros, which are records
/// without bytes.
fn bomb(blocks: usize) -> Vec<u8> {
    let mut header = vec![0; 24];
    header[..4].copy_from_slice(&0xa1b2_c3d4u32.to_le_bytes());
    header[20] = 1;
    // No checksum, no size, a window of 1 MiB; a raw block of 24 bytes.
    let mut b = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    b.extend(&(24u32 << 3).to_le_bytes()[..3]);
    b.extend(header);
    // Blocks that repeat one byte 131,072 times.
    for n in 1..=blocks {
        let last = (n == blocks) as u32;
        b.extend(&(131_072u32 << 3 | 1 << 1 | last).to_le_bytes()[..3]);
        b.push(0);
    }
    b
}

#[test]
fn a_bomb_takes_no_memory() {
    let bomb = bomb(1_600);
    assert!(bomb.len() < 10_000);
    let mut reader = CaptureReader::from_reader(Box::new(Cursor::new(bomb)), "bomb").unwrap();
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        batch.clear();
    }
    let info = reader.info();
    assert_eq!((info.records, info.damage), (1_600 * 131_072 / 16, None));
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        eprintln!("SKIPPED the peak of a_bomb_takes_no_memory: there is no /proc");
        return;
    };
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 40_000, "{peak} kB");
}
