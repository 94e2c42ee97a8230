//! Filters by address, port and time; several files read as one.

use crate::build::*;
use capture::{Batch, CaptureReader, FilterTime, PacketFilter};
use std::io::Cursor;
use units::{Span, Time};

/// A packet from port `port` of 10.0.0.`host`.
fn packet(host: u8, port: u16, seq: u32) -> Vec<u8> {
    let mut segment = tcp(seq, ACK, &[], 10);
    segment[..2].copy_from_slice(&port.to_be_bytes());
    let mut b = ipv4(6, &segment);
    b[15] = host;
    b
}

fn icmp(host: u8, port: u16) -> Vec<u8> {
    ipv4(1, &join(&[&[3, 4, 0, 0, 0, 0, 5, 0x14], &packet(host, port, 9)[..28]]))
}

/// Seconds 0 to 5 after the first record.
fn file() -> Vec<u8> {
    let frames = [
        packet(1, 1000, 0),
        packet(1, 2000, 1),
        icmp(1, 2000),
        packet(9, 1000, 2),
        icmp(9, 1000),
        packet(9, 3000, 3),
    ];
    let at = |(i, bytes)| Raw { seconds: 1_700_000_000 + i as u32, ..raw(0, bytes) };
    let records: Vec<Raw> = frames.into_iter().enumerate().map(at).collect();
    pcap(Layout { link: 101, ..PLAIN }, &records)
}

fn filtered(filter: PacketFilter) -> Contents {
    let mut reader = CaptureReader::from_reader(Box::new(Cursor::new(file())), "test").unwrap();
    reader.keep(filter);
    drain(reader)
}

fn seqs(contents: &Contents) -> Vec<u32> {
    contents.packets.iter().map(|p| p.seq).collect()
}

#[test]
fn one_end_must_match_a_host_and_one_end_a_port() {
    let ask = |hosts: &[&str], ports: &[u16]| {
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        filtered(PacketFilter { hosts, ports: ports.into(), ..PacketFilter::default() })
    };
    assert_eq!(seqs(&ask(&[], &[])), [0, 1, 2, 3]);
    for (hosts, ports, kept, reports) in [
        (&["10.0.0.1"][..], &[][..], &[0, 1][..], &[2][..]),
        (&["10.0.0.1", "10.0.0.9"], &[], &[0, 1, 2, 3], &[2, 3]),
        (&["10.0.0.2/32"], &[], &[0, 1, 2, 3], &[2, 3]),
        (&["10.0.0.8/29"], &[], &[2, 3], &[1]),
        (&[], &[1000], &[0, 2], &[2]),
        (&[], &[2000, 3000], &[1, 3], &[1]),
        (&["10.0.0.9"], &[5201, 9], &[2, 3], &[1]),
        (&["10.0.0.9"], &[2000], &[], &[]),
    ] {
        let contents = ask(hosts, ports);
        assert_eq!(seqs(&contents), kept, "{hosts:?} {ports:?}");
        let behind: Vec<usize> = contents.reports.iter().map(|r| r.behind).collect();
        assert_eq!(behind, reports, "{hosts:?} {ports:?}");
        let left = 4 - kept.len() as u64;
        assert_eq!(count(&contents.info, "tcp left out by the filter"), left);
        assert_eq!((contents.info.tcp_packets, contents.info.records), (4 - left, 6));
    }
}

#[test]
fn times_are_relative_to_the_first_record_or_absolute() {
    let after = |s| Some(FilterTime::After(Span::from_secs(s)));
    let at = |s: u64| Some(FilterTime::At(Time::from_nanos((1_700_000_000 + s) * 1_000_000_000)));
    for (from, to, kept) in [
        (after(1), None, &[1, 2, 3][..]),
        (None, after(3), &[0, 1, 2]),
        (at(1), at(3), &[1, 2]),
        (after(1), at(1), &[1]),
        (after(6), None, &[]),
        (None, Some(FilterTime::At(Time::ZERO)), &[]),
        (Some(FilterTime::After(Span::from_nanos(u64::MAX))), None, &[]),
    ] {
        let contents = filtered(PacketFilter { from, to, ..PacketFilter::default() });
        assert_eq!(seqs(&contents), kept, "{from:?} {to:?}");
    }
}

#[test]
fn earlier_contents_of_a_batch_are_kept() {
    let mut reader = CaptureReader::from_reader(Box::new(Cursor::new(file())), "test").unwrap();
    reader.keep(PacketFilter { ports: vec![3000], ..PacketFilter::default() });
    let contents = read(&file());
    let mut batch = Batch { packets: contents.packets, reports: contents.reports, ..Batch::default() };
    while reader.fill(&mut batch) {}
    assert_eq!(batch.packets.iter().map(|p| p.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 3]);
    assert_eq!(batch.reports.len(), 2);
}

#[test]
fn several_files_are_read_as_one() {
    let dir = std::env::temp_dir().join(format!("longfat-joined-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let paths = ["b.pcap", "a.snoop", "cut.pcap", "gone.pcap", "c.pcap"].map(|name| dir.join(name));
    let whole = file();
    std::fs::write(&paths[0], &whole).unwrap();
    let ether = ethernet(0x0800, &packet(1, 1000, 50));
    std::fs::write(&paths[1], crate::others::snoop(&[raw(0, ether.clone()), raw(1, ether)])).unwrap();
    std::fs::write(&paths[2], &whole[..whole.len() - 1]).unwrap();
    std::fs::write(&paths[4], &whole).unwrap();
    let contents = drain(CaptureReader::open_all("folder", paths.to_vec()).unwrap());
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(seqs(&contents), [0, 1, 2, 3, 50, 50, 0, 1, 2, 0, 1, 2, 3]);
    assert_eq!(
        (contents.info.name.as_str(), contents.info.records, contents.info.dropped),
        ("folder", 19, Some(2))
    );
    assert_eq!(contents.info.links, ["raw-ip", "ethernet"]);
    let damage = contents.info.damage.unwrap();
    assert!(damage.what.contains("cut.pcap: the file ends within a record"), "{}", damage.what);
}
