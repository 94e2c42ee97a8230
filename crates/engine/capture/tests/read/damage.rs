//! Files that end early or are damaged are read up to the damage.

use crate::build::*;
use crate::formats::{gzip, xz, zstd};
use crate::others::{erfs, snoop};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A file of frames of all sizes, with the offset of each record.
fn file(ng: bool, sizes: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut file =
        if ng { join(&[&section(true), &interface(true, 101, 0, &[])]) } else { pcap(PLAIN_IP, &[]) };
    let mut starts = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        starts.push(file.len());
        let record = raw(i, ipv4(6, &tcp(i as u32, ACK, &[], *size)));
        file.extend(match ng {
            true => enhanced(true, 0, i as u64, &record, &[]),
            false => pcap(PLAIN_IP, &[record])[24..].to_vec(),
        });
    }
    starts.push(file.len());
    (file, starts)
}

const PLAIN_IP: Layout = Layout { link: 101, ..PLAIN };

#[test]
fn a_file_truncated_anywhere_is_read_up_to_its_end() {
    let mut runner = TestRunner::deterministic();
    let sizes = prop::collection::vec(0..1_500usize, 1..40);
    runner
        .run(&(any::<bool>(), sizes, 0.0..1.0f64), |(ng, sizes, place)| {
            let (file, starts) = file(ng, &sizes);
            let cut = starts[0] + (place * (file.len() - starts[0]) as f64) as usize;
            let contents = read(&file[..cut]);
            let whole = starts.iter().rposition(|s| *s <= cut).unwrap();
            prop_assert_eq!(contents.packets.len(), whole);
            for (i, p) in contents.packets.iter().enumerate() {
                prop_assert_eq!((p.seq, p.len), (i as u32, sizes[i] as u32));
            }
            let offset = contents.info.damage.map(|d| d.offset as usize);
            prop_assert_eq!(offset, (starts[whole] != cut).then_some(starts[whole]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn flipped_bytes_cause_no_panic() {
    let mut runner = TestRunner::new(Config { cases: 512, ..Config::default() });
    let flips = prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..6);
    let (plain, blocks) = (file(false, &[60; 30]).0, file(true, &[60; 30]).0);
    runner
        .run(&(0..6usize, flips), |(kind, flips)| {
            let mut bytes = match kind {
                0 => plain.clone(),
                1 => blocks.clone(),
                2 => zstd(&plain),
                3 => snoop(&[raw(0, ethernet(0x0800, &ipv4(6, &tcp(1, ACK, &[], 60))))]),
                4 => erfs(),
                _ => xz(&blocks),
            };
            for (place, byte) in flips {
                let at = (place * bytes.len() as f64) as usize;
                bytes[at] = byte;
            }
            let reader =
                capture::CaptureReader::from_reader(Box::new(std::io::Cursor::new(bytes)), "flipped.erf");
            if let Ok(reader) = reader {
                let info = drain(reader).info;
                let others: u64 = info.other.iter().map(|c| c.count).sum();
                prop_assert_eq!(info.records, info.tcp_packets + info.udp_packets + info.fragments + others);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn truncated_compressed_files_are_read_up_to_their_end() {
    let sizes: Vec<usize> = (0..3_000).map(|i| i * 7 % 1_400).collect();
    let (mut file, starts) = file(false, &sizes);
    // Incompressible payload, so that the file has many compressed blocks and a truncation is inside one.
    let mut noise = 1u64;
    for range in starts.windows(2) {
        for byte in &mut file[range[0] + 16 + 40..range[1]] {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (noise >> 56) as u8;
        }
    }
    for (name, packed) in [("gzip", gzip(&file)), ("zstd", zstd(&file)), ("xz", xz(&file))] {
        let contents = read(&packed[..packed.len() * 4 / 5]);
        let n = contents.packets.len();
        assert!((100..3_000).contains(&n), "{name}: {n}");
        let damage = contents.info.damage.unwrap();
        assert_eq!(damage.offset, starts[n] as u64, "{name}");
        assert!(damage.what.starts_with(&format!("the {name} data is damaged: ")), "{}", damage.what);
    }
}

#[test]
fn a_record_of_excessive_length_ends_reading() {
    let (mut file, starts) = file(false, &[10; 5]);
    file[starts[3] + 8..starts[3] + 12].copy_from_slice(&0x7fff_0000u32.to_le_bytes());
    let contents = read(&file);
    assert_eq!(contents.packets.len(), 3);
    let damage = contents.info.damage.unwrap();
    assert_eq!(damage.offset, starts[3] as u64);
    assert!(damage.what.contains("claims 2147418112 captured bytes, the maximum is 262144"));
}

#[test]
fn errors_of_blocks_are_described() {
    let (good, starts) = file(true, &[10; 3]);
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[starts[1] + at..starts[1] + at + bytes.len()].copy_from_slice(bytes);
        read(&bad)
    };
    let length = starts[2] - starts[1];
    for (at, bytes, expected) in [
        (4, number(8, true), "claims 8 bytes, the minimum is 12"),
        (length - 4, number(1, true), "ends with length 1"),
        (8, number(9, true), "refers to interface 9, but only 1 are described"),
        (20, number(5_000, true), "a packet of 5000 captured bytes in a block of"),
        (4, number(40_000_000, true), "of 40000000 bytes"),
    ] {
        let contents = with(at, &bytes);
        assert_eq!(contents.packets.len(), 1, "{expected}");
        let damage = contents.info.damage.unwrap();
        assert_eq!(damage.offset, starts[1] as u64, "{expected}");
        assert!(damage.what.contains(expected), "`{}` lacks `{expected}`", damage.what);
    }
}
