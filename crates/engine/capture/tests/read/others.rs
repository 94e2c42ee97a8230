//! snoop and ERF files.

use crate::build::*;
use crate::formats::gzip;
use capture::CaptureReader;
use std::io::Cursor;

fn frame(seq: u32) -> Vec<u8> {
    ethernet(0x0800, &ipv4(6, &tcp(seq, ACK, &[], 100)))
}

pub fn snoop(records: &[Raw]) -> Vec<u8> {
    let mut b = join(&[b"snoop\0\0\0", &[0, 0, 0, 2, 0, 0, 0, 4]]);
    for (i, r) in records.iter().enumerate() {
        let length = (24 + r.bytes.len()).next_multiple_of(4);
        for word in [r.wire, r.bytes.len() as u32, length as u32, 2 * i as u32, r.seconds, r.part] {
            b.extend(word.to_be_bytes());
        }
        let end = b.len() + length - 24;
        b.extend(&r.bytes);
        b.resize(end, 0);
    }
    b
}

/// An ERF record: type, extension headers, loss counter, bytes before the packet, the packet.
pub fn erf(kind: u8, extensions: &[u8], lost: u16, part: u32, before: &[u8], packet: &[u8]) -> Vec<u8> {
    let inside = extensions.len() + before.len() + packet.len();
    let length = (16 + inside).next_multiple_of(8);
    let mut b = join(&[&part.to_le_bytes(), &1_700_000_000u32.to_le_bytes(), &[kind, 4]]);
    for half in [length as u16, lost, packet.len() as u16 + 4] {
        b.extend(half.to_be_bytes());
    }
    b.extend(join(&[extensions, before, packet]));
    b.resize(length, 0);
    b
}

/// One record of each supported type, with sequence numbers from 1 on.
pub fn erfs() -> Vec<u8> {
    let ip = |seq| ipv4(6, &tcp(seq, ACK, &[], 100));
    let extensions = [0x84, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 2];
    join(&[
        &erf(2, &[], 3, 1 << 31, &[0, 0], &frame(1)),
        &erf(0x80 | 2, &extensions, 0, 1 << 31, &[0, 0], &frame(2)),
        &erf(48, &[], 0, 0, &[], &[]),
        &erf(11, &[], 0xabcd, 0xc000_0000, &[0, 0], &frame(3)),
        &erf(1, &[], 4, 0xc000_0000, &[], &join(&[&[0x0f, 0, 8, 0], &ip(4)])),
        &erf(1, &[], 0, 0xc000_0001, &[], &join(&[&[0xff, 3, 0, 0x21], &ip(5)])),
        &erf(22, &[], 0, 0xc000_0002, &[], &ip(6)),
        &erf(23, &[], 0, 0xffff_ffff, &[], &ipv6(6, &tcp(7, ACK, &[], 100))),
    ])
}

pub fn read_as(name: &str, bytes: &[u8]) -> Contents {
    drain(CaptureReader::from_reader(Box::new(Cursor::new(bytes.to_vec())), name).unwrap())
}

fn why(name: &str, bytes: &[u8]) -> String {
    match CaptureReader::from_reader(Box::new(Cursor::new(bytes.to_vec())), name) {
        Ok(_) => panic!("opened an unsupported file: {name}"),
        Err(e) => e.to_string(),
    }
}

fn seqs(contents: &Contents) -> Vec<u32> {
    contents.packets.iter().map(|p| p.seq).collect()
}

#[test]
fn snoop_files_have_times_and_drops() {
    let file = snoop(&[raw(7, frame(1)), raw(8, frame(2)), raw(9, frame(3))]);
    for (name, bytes) in [("snoop", file.clone()), ("snoop (gzip)", gzip(&file))] {
        let contents = read(&bytes);
        assert_eq!(
            (seqs(&contents), contents.info.format.as_str(), &contents.info.damage),
            (vec![1, 2, 3], name, &None)
        );
        assert_eq!(contents.packets[2].time.as_nanos(), 1_700_000_000_000_009_000);
        assert_eq!((contents.info.dropped, contents.info.wire_bytes), (Some(4), 3 * 154));
        assert_eq!(contents.info.links, ["ethernet"]);
    }
    let with = |at: usize, byte: u8| {
        let mut b = file.clone();
        b[at] = byte;
        b
    };
    assert!(why("x", &with(11, 3)).contains("a capture of snoop with a version other than 2"));
    assert!(why("x", &with(15, 8)).contains("with a link layer other than Ethernet"));
    assert!(why("x", &file[..12]).contains("within its header"));
}

#[test]
fn erf_files_have_times_and_drops() {
    let file = erfs();
    for (name, format, bytes) in [("a.erf", "erf", file.clone()), ("B.ERF.gz", "erf (gzip)", gzip(&file))] {
        let contents = read_as(name, &bytes);
        assert_eq!((seqs(&contents), contents.info.format.as_str()), ((1..=7).collect(), format));
        assert_eq!((contents.info.damage, contents.info.records), (None, 7));
        let times: Vec<u64> =
            contents.packets.iter().map(|p| p.time.as_nanos() - 1_700_000_000_000_000_000).collect();
        assert_eq!(times[..4], [500_000_000, 500_000_000, 750_000_000, 750_000_000]);
        assert_eq!(times[6], 1_000_000_000);
        // A color is not a loss counter.
        assert_eq!(contents.info.dropped, Some(7));
        assert_eq!(contents.info.links, ["ethernet", "ppp", "raw-ip"]);
        assert!(contents.packets.iter().all(|p| p.len == 100));
    }
    let unread = read_as("a.erf", &erf(3, &[], 0, 0, &[], &[0; 52]));
    assert_eq!(
        (
            unread.info.links,
            count(&read_as("a.erf", &erf(3, &[], 0, 0, &[], &[0; 52])).info, "unknown link type")
        ),
        (vec!["erf".to_string()], 1)
    );
    // Neither the name alone nor the bytes alone suffice.
    assert!(why("a.pcap", &file).contains("not a pcap, pcapng, snoop or .erf capture"));
    assert!(why("a.erf", &[0xff; 64]).contains("not a pcap"));
    assert_eq!(read_as("a.erf", &pcap(PLAIN, &[raw(0, frame(1))])).info.format, "pcap");
}

#[test]
fn files_truncated_anywhere_are_read_up_to_their_end() {
    let whole = snoop(&[raw(7, frame(1)), raw(8, frame(2))]);
    for kept in 16..whole.len() {
        let contents = read(&whole[..kept]);
        let n = (kept - 16) / 180;
        assert_eq!(contents.packets.len(), n, "{kept}");
        let damage = contents.info.damage.map(|d| d.offset as usize);
        assert_eq!(damage, ((kept - 16) % 180 != 0).then_some(16 + n * 180), "{kept}");
    }
    let whole = join(&[&erf(2, &[], 0, 1, &[0, 0], &frame(1)), &erf(2, &[], 0, 2, &[0, 0], &frame(2))]);
    let each = whole.len() / 2;
    for kept in 16..whole.len() {
        let contents = read_as("a.erf", &whole[..kept]);
        assert_eq!(contents.packets.len(), kept / each, "{kept}");
        let damage = contents.info.damage.map(|d| d.offset as usize);
        assert_eq!(damage, (kept % each != 0).then_some(kept / each * each), "{kept}");
    }
}

#[test]
fn impossible_lengths_are_reported_with_their_offset() {
    let mut file = snoop(&[raw(7, frame(1)), raw(8, frame(2))]);
    let second = 16 + 180;
    for (at, bytes, expected) in [
        (4, 0x7000_0000u32, "claims 1879048192 included bytes"),
        (8, 100, "claims 100 bytes, which does not fit its 154 included"),
        (8, 0x7000_0000, "claims 1879048192 bytes"),
    ] {
        let good = file.clone();
        file[second + at..second + at + 4].copy_from_slice(&bytes.to_be_bytes());
        let contents = read(&file);
        let damage = contents.info.damage.unwrap();
        assert_eq!((contents.packets.len(), damage.offset), (1, second as u64), "{expected}");
        assert!(damage.what.contains(expected), "{}", damage.what);
        file = good;
    }
    let first = erf(2, &[], 0, 1, &[0, 0], &frame(1));
    let mut short = erf(2, &[], 0, 1, &[0, 0], &frame(2));
    short[10..12].copy_from_slice(&15u16.to_be_bytes());
    let mut endless = erf(0x80 | 2, &[0x80; 64], 0, 1, &[], &[]);
    endless[14] = 0;
    for second in [short, endless] {
        let contents = read_as("a.erf", &join(&[&first, &second]));
        let damage = contents.info.damage.unwrap();
        assert_eq!((contents.packets.len(), damage.offset), (1, first.len() as u64));
        assert!(damage.what.contains("less than its headers"), "{}", damage.what);
    }
}
