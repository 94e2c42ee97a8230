//! Comparison with tshark's reading of the same files.

use crate::build::*;
use crate::encapsulations::{attribute, encapsulations};
use crate::others::{erfs, snoop};
use capture::CaptureReader;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compared fields of a packet: time in ns, sequence and acknowledgement numbers, payload length, flags,
/// window, timestamp value, number of SACK blocks.
type Line = (u64, u32, u32, u32, u8, u16, Option<u32>, u8);

const FIELDS: [&str; 8] = [
    "frame.time_epoch",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack.count",
];

fn installed(test: &str) -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED {test}: tshark is not installed");
    }
    there
}

/// TCP packets as tshark reads them, the innermost of several; quotes in ICMP messages are left out.
fn theirs(path: &Path, preferences: &[&str]) -> Vec<Line> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-n", "-Y", "tcp.seq_raw && !icmp && !icmpv6", "-T", "fields"]);
    command.args(["-E", "separator=;", "-E", "occurrence=l", "-o", "tcp.desegment_tcp_streams:FALSE"]);
    // L2TPv3 does not show what a session carries, and tshark does not try to recognise it.
    command.args(["-d", "l2tp.pw_type==0,eth"]);
    for preference in preferences {
        command.args(["-o", preference]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(line).collect()
}

fn line(text: &str) -> Line {
    let f: Vec<&str> = text.split(';').collect();
    let (seconds, part) = f[0].split_once('.').unwrap();
    let time = seconds.parse::<u64>().unwrap() * 1_000_000_000 + part.parse::<u64>().unwrap();
    let flags = u16::from_str_radix(f[4].trim_start_matches("0x"), 16).unwrap() as u8;
    (
        time,
        f[1].parse().unwrap(),
        f[2].parse().unwrap(),
        f[3].parse().unwrap(),
        flags,
        f[5].parse().unwrap(),
        f[6].parse().ok(),
        f[7].parse().unwrap_or(0),
    )
}

fn ours(path: &Path) -> Vec<Line> {
    let contents = drain(CaptureReader::open(path).unwrap());
    assert_eq!(contents.info.damage, None);
    let lines = contents.packets.iter().map(|p| {
        let value = p.options.timestamps.map(|t| t.0);
        (p.time.as_nanos(), p.seq, p.ack, p.len, p.flags.0, p.window, value, p.options.sacks)
    });
    lines.collect()
}

fn compare(path: &Path) -> usize {
    compare_with(path, &[])
}

/// `preferences`: options for tshark.
fn compare_with(path: &Path, preferences: &[&str]) -> usize {
    let (ours, theirs) = (ours(path), theirs(path, preferences));
    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "packet {i} of {}", path.display());
    }
    assert_eq!(ours.len(), theirs.len(), "{}", path.display());
    ours.len()
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("longfat-{}-{name}", std::process::id()))
}

#[test]
fn tshark_agrees_on_every_encapsulation() {
    if !installed("tshark_agrees_on_every_encapsulation") {
        return;
    }
    let samples: Vec<_> = encapsulations().into_iter().filter(|b| b.tshark_differs.is_none()).collect();
    let mut links: Vec<u16> = Vec::new();
    let mut blocks = Vec::new();
    for (i, sample) in samples.iter().enumerate() {
        let number = links.iter().position(|l| *l == sample.link).unwrap_or_else(|| {
            links.push(sample.link);
            links.len() - 1
        });
        let time = 1_700_000_000_000_000 + i as u64;
        blocks.extend(enhanced(false, number as u32, time, &raw(0, sample.bytes.clone()), &[]));
    }
    let described: Vec<u8> = links.iter().flat_map(|l| interface(false, *l, 0, &[])).collect();
    let path = scratch("encapsulations.pcapng");
    std::fs::write(&path, join(&[&section(false), &described, &blocks])).unwrap();
    let n = compare(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(n, samples.len());
}

#[test]
fn tshark_agrees_on_real_captures() {
    if !installed("tshark_agrees_on_real_captures") {
        return;
    }
    let Some(folder) = std::env::var_os("LONGFAT_CAPTURES") else {
        eprintln!("SKIPPED tshark_agrees_on_real_captures: LONGFAT_CAPTURES names no folder of captures");
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files.iter().take(4) {
        assert!(compare(path) > 0, "{}", path.display());
    }
}

/// The cookie's length is an option of tshark's; the reader finds it by itself.
#[test]
fn l2tp_sessions_match_tshark_with_the_cookie_length_set() {
    if !installed("l2tp_sessions_match_tshark_with_the_cookie_length_set") {
        return;
    }
    let frame = ethernet(0x0800, &ipv4(6, &tcp(9, ACK, &[], 100)));
    for (header, preferences) in [
        (&[1, 2, 3, 4][..], &["l2tp.cookie_size:4 Byte Cookie"][..]),
        (&[1, 2, 3, 4, 5, 6, 7, 8], &["l2tp.cookie_size:8 Byte Cookie"]),
        (&[0x40, 0, 0, 9], &["l2tp.l2_specific:Default L2-Specific"]),
        (
            &[1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0, 0, 9],
            &["l2tp.cookie_size:8 Byte Cookie", "l2tp.l2_specific:Default L2-Specific"],
        ),
    ] {
        let packet = ipv4(115, &join(&[&[0, 0, 0, 7], header, &frame]));
        let path = scratch(&format!("l2tp-{}.pcap", header.len()));
        std::fs::write(&path, pcap(Layout { link: 101, ..PLAIN }, &[raw(0, packet)])).unwrap();
        let n = compare_with(&path, preferences);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(n, 1, "{preferences:?}");
    }
}

/// The byte order of attributes is that of the capturing machine, as that of the file.
#[test]
fn netfilter_logs_of_both_byte_orders() {
    if !installed("netfilter_logs_of_both_byte_orders") {
        return;
    }
    for big in [false, true] {
        let packet = ipv4(6, &tcp(9, ACK, &[], 100));
        let log = join(&[&[2, 0, 0, 5], &attribute(big, 10, b"in\0"), &attribute(big, 9, &packet)]);
        let path = scratch(&format!("nflog-{big}.pcap"));
        std::fs::write(&path, pcap(Layout { link: 239, big, ..PLAIN }, &[raw(0, log)])).unwrap();
        let n = compare(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(n, 1, "{big}");
    }
}

#[test]
fn snoop_and_erf_with_their_times() {
    if !installed("snoop_and_erf_with_their_times") {
        return;
    }
    let frame = |seq| ethernet(0x0800, &ipv4(6, &tcp(seq, ACK, &[], 100)));
    let packets = [raw(7, frame(1)), raw(999_999, frame(2)), raw(8, frame(3))];
    for (name, bytes, count) in [("a.snoop", snoop(&packets), 3), ("a.erf", erfs(), 7)] {
        let path = scratch(name);
        std::fs::write(&path, bytes).unwrap();
        let n = compare(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(n, count, "{name}");
    }
}
