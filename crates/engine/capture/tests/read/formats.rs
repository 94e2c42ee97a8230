//! Capture file formats and compression.

use crate::build::*;
use capture::CaptureReader;
use std::io::{Cursor, Write};

fn frame(seq: u32) -> Vec<u8> {
    ethernet(0x0800, &ipv4(6, &tcp(seq, ACK, &[], 100)))
}

fn records(n: usize) -> Vec<Raw> {
    (0..n).map(|i| raw(i, frame(i as u32))).collect()
}

fn seqs(contents: &Contents) -> Vec<u32> {
    contents.packets.iter().map(|p| p.seq).collect()
}

#[test]
fn every_magic_number_in_both_byte_orders() {
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34] {
        for big in [false, true] {
            let contents = read(&pcap(Layout { magic, big, link: 1 }, &records(3)));
            assert_eq!(seqs(&contents), [0, 1, 2], "{magic:x} {big}");
            let unit = if magic == 0xa1b2_3c4d { 1 } else { 1_000 };
            assert_eq!(contents.packets[2].time.as_nanos(), 1_700_000_000_000_000_000 + 2 * unit);
            assert_eq!(
                (contents.info.format.as_str(), &contents.info.links[..]),
                ("pcap", &["ethernet".to_string()][..])
            );
            assert_eq!(
                (contents.info.records, contents.info.wire_bytes, contents.info.damage),
                (3, 3 * 154, None)
            );
        }
    }
}

#[test]
fn sections_interfaces_clocks_and_drops_of_pcapng() {
    let mut b = Vec::new();
    let seconds = 1_700_000_000u64;
    for big in [false, true] {
        let n64 = |n: u64| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let nanos = option(9, big, &[9]);
        let shifted =
            join(&[&option(9, big, &[0x80 | 20]), &option(14, big, &n64(seconds)), &option(0, big, &[])]);
        b.extend(section(big));
        b.extend(interface(big, 1, 0, &[]));
        b.extend(block(0x0bad, big, &[1, 2, 3, 4, 5]));
        b.extend(interface(big, 101, 0, &nanos));
        b.extend(interface(big, 276, 0, &shifted));
        b.extend(enhanced(big, 0, seconds * 1_000_000 + 7, &raw(0, frame(1)), &[]));
        let ip = raw(0, ipv4(6, &tcp(2, ACK, &[], 100)));
        let lost = join(&[&option(2, big, &[0; 4]), &option(4, big, &n64(5)), &option(0, big, &[])]);
        b.extend(enhanced(big, 1, seconds * 1_000_000_000 + 9, &ip, &lost));
        let cooked = join(&[&[8, 0], &[0; 18], &ip.bytes]);
        b.extend(enhanced(big, 2, 3 << 19, &raw(0, cooked), &[]));
        b.extend(simple(big, &frame(4)));
        b.extend(obsolete(big, seconds * 1_000_000 + 11, &raw(0, frame(5)), 3));
        b.extend(obsolete(big, seconds * 1_000_000 + 12, &raw(0, frame(6)), 0xffff));
        for total in [10u64, 20] {
            let counters = join(&[&option(5, big, &n64(total)), &option(7, big, &n64(1))]);
            b.extend(block(5, big, &join(&[&number(1, big), &[0; 8], &counters])));
        }
    }
    let contents = read(&b);
    assert_eq!(contents.info.damage, None);
    assert_eq!(seqs(&contents), [1, 2, 2, 4, 5, 6, 1, 2, 2, 4, 5, 6]);
    let base = seconds * 1_000_000_000;
    let times: Vec<u64> = contents.packets[..6].iter().map(|p| p.time.as_nanos() - base).collect();
    // The simple packet has no time and gets that of the previous one.
    assert_eq!(times, [7_000, 9, 1_500_000_000, 1_500_000_000, 11_000, 12_000]);
    assert_eq!(contents.info.links, ["ethernet", "raw-ip", "linux-cooked-v2"]);
    // Drops in this section: 3 reported by packets of the first interface, 20 + 1 by statistics of the
    // second.
    assert_eq!(contents.info.dropped, Some(2 * 24));
    let (first, last) = contents.info.times.unwrap();
    assert_eq!(last.since(first), units::Span::from_nanos(1_499_999_991));
}

fn simple(big: bool, frame: &[u8]) -> Vec<u8> {
    block(3, big, &join(&[&number(frame.len() as u32, big), frame]))
}

fn obsolete(big: bool, ticks: u64, r: &Raw, lost: u16) -> Vec<u8> {
    let mut b = join(&[&short(0, big), &short(lost, big)]);
    for word in [(ticks >> 32) as u32, ticks as u32, r.bytes.len() as u32, r.wire] {
        b.extend(number(word, big));
    }
    b.extend(&r.bytes);
    block(2, big, &b)
}

#[test]
fn a_record_larger_than_the_buffer_is_skipped() {
    let mut long = frame(2);
    long.resize(3_000_000, 0);
    let list = [raw(0, frame(1)), raw(1, long), raw(2, frame(3))];
    let mut file = pcap(PLAIN, &list);
    file[16..20].copy_from_slice(&4_000_000u32.to_le_bytes());
    let contents = read(&file);
    assert_eq!((seqs(&contents), contents.info.damage), (vec![1, 2, 3], None));
    let mut ng = join(&[&section(false), &interface(false, 1, 0, &[])]);
    for r in &list {
        ng.extend(enhanced(false, 0, 5, r, &[]));
    }
    ng.extend(block(0x0bad, false, &vec![0; 1_000_000]));
    ng.extend(enhanced(false, 0, 6, &raw(0, frame(4)), &[]));
    let contents = read(&ng);
    assert_eq!((seqs(&contents), contents.info.damage), (vec![1, 2, 3, 4], None));
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_files_of_one_and_two_streams() {
    let file = pcap(PLAIN, &records(6_000));
    let (first, second) = file.split_at(500_001);
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for (name, packed) in [
        ("pcap (gzip)", gzip(&file)),
        ("pcap (gzip)", join(&[&gzip(first), &gzip(second)])),
        ("pcap (zstd)", zstd(&file)),
        ("pcap (zstd)", join(&[&skippable, &zstd(first), &skippable, &zstd(second)])),
        ("pcap (xz)", xz(&file)),
        ("pcap (xz)", join(&[&xz(first), &xz(second)])),
    ] {
        let length = packed.len() as u64;
        let mut reader = CaptureReader::from_reader(Box::new(Cursor::new(packed)), "x").unwrap();
        let mut batch = capture::Batch::default();
        while reader.fill(&mut batch) {}
        assert_eq!(reader.info().damage, None, "{name}");
        assert_eq!(batch.packets.len(), 6_000, "{name}");
        assert!(batch.packets.iter().enumerate().all(|(i, p)| p.seq == i as u32), "{name}");
        assert_eq!((reader.info().format.as_str(), reader.progress()), (name, (length, None)));
    }
}

#[test]
fn a_file_on_disk_knows_its_length() {
    let path = std::env::temp_dir().join(format!("longfat-read-{}.pcap", std::process::id()));
    let file = pcap(PLAIN, &records(3));
    std::fs::write(&path, &file).unwrap();
    let reader = CaptureReader::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(reader.progress().1, Some(file.len() as u64));
    let contents = drain(reader);
    assert_eq!((seqs(&contents), contents.info.name), (vec![0, 1, 2], path.display().to_string()));
}

#[test]
fn errors_on_opening_name_the_cause() {
    let why =
        |bytes: &[u8]| match CaptureReader::from_reader(Box::new(Cursor::new(bytes.to_vec())), "the-file") {
            Ok(_) => panic!("opened an invalid file: {bytes:?}"),
            Err(e) => e.to_string(),
        };
    let file = pcap(PLAIN, &records(1));
    for (bytes, expected) in [
        (vec![], "the file is empty"),
        (file[..20].to_vec(), "within its header"),
        (file[..3].to_vec(), "ends after 3 bytes"),
        (b"hello world".to_vec(), "snoop or .erf capture: it begins with the bytes 68 65 6c 6c"),
        (b"BZh91AY&SY".to_vec(), "compressed with bzip2: decompress it first"),
        (gzip(&gzip(&file)), "gzip twice"),
        (gzip(b""), "the file is empty"),
        (gzip(&file)[..15].to_vec(), "the gzip data is damaged"),
        (gzip(b"hello world"), "not a pcap, pcapng"),
        (zstd(&file)[..8].to_vec(), "the zstd data is damaged"),
        (xz(&file)[..20].to_vec(), "the xz data is damaged"),
    ] {
        let text = why(&bytes);
        assert!(text.starts_with("the-file: ") && text.contains(expected), "{text}");
    }
    let missing = CaptureReader::open(std::path::Path::new("/no/such/file")).err().unwrap().to_string();
    assert!(missing.starts_with("/no/such/file: "), "{missing}");
}
