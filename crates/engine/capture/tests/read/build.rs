//! Builders of frames and capture files.

use capture::{Batch, CaptureReader, FileInfo, IcmpReport, TcpPacket};
use std::io::Cursor;

pub const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub const SERVER: [u8; 4] = [10, 0, 0, 2];
pub const ACK: u8 = 0x10;

pub fn v6_address(last: u8) -> [u8; 16] {
    let mut a = [0; 16];
    (a[0], a[1], a[15]) = (0x20, 0x01, last);
    a
}

/// A TCP segment with its payload.
pub fn tcp(seq: u32, flags: u8, options: &[u8], payload: usize) -> Vec<u8> {
    let header = 20 + options.len();
    let mut b = Vec::new();
    b.extend(40_000u16.to_be_bytes());
    b.extend(5_201u16.to_be_bytes());
    b.extend(seq.to_be_bytes());
    b.extend(77u32.to_be_bytes());
    b.extend([(header / 4 * 16) as u8, flags]);
    b.extend(502u16.to_be_bytes());
    b.extend([0; 4]);
    b.extend(options);
    b.resize(header + payload, 0xab);
    b
}

pub fn udp(sport: u16, dport: u16, payload: &[u8]) -> Vec<u8> {
    let mut b = Vec::new();
    b.extend(sport.to_be_bytes());
    b.extend(dport.to_be_bytes());
    b.extend((payload.len() as u16 + 8).to_be_bytes());
    b.extend([0; 2]);
    b.extend(payload);
    b
}

/// `place`: the field of flags and fragment offset.
pub fn ipv4_part(protocol: u8, id: u16, place: u16, payload: &[u8]) -> Vec<u8> {
    let mut b = vec![0x45, 0x02];
    b.extend((payload.len() as u16 + 20).to_be_bytes());
    b.extend(id.to_be_bytes());
    b.extend(place.to_be_bytes());
    b.extend([63, protocol, 0, 0]);
    b.extend(CLIENT);
    b.extend(SERVER);
    b.extend(payload);
    b
}

pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_part(protocol, 7, 0x4000, payload)
}

pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut b = vec![0x60, 0x20, 0, 0];
    b.extend((payload.len() as u16).to_be_bytes());
    b.extend([next, 62]);
    b.extend(v6_address(1));
    b.extend(v6_address(2));
    b.extend(payload);
    b
}

pub fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut b = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    b.extend(kind.to_be_bytes());
    b.extend(payload);
    b
}

pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A record of a classic file.
#[derive(Clone, Debug)]
pub struct Raw {
    pub seconds: u32,
    pub part: u32,
    pub bytes: Vec<u8>,
    pub wire: u32,
}

pub fn raw(n: usize, bytes: Vec<u8>) -> Raw {
    Raw { seconds: 1_700_000_000, part: n as u32, wire: bytes.len() as u32, bytes }
}

#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub magic: u32,
    pub big: bool,
    pub link: u32,
}

pub const PLAIN: Layout = Layout { magic: 0xa1b2_c3d4, big: false, link: 1 };

pub fn number(n: u32, big: bool) -> [u8; 4] {
    if big { n.to_be_bytes() } else { n.to_le_bytes() }
}

pub fn short(n: u16, big: bool) -> [u8; 2] {
    if big { n.to_be_bytes() } else { n.to_le_bytes() }
}

pub fn pcap(layout: Layout, records: &[Raw]) -> Vec<u8> {
    let n = |n| number(n, layout.big);
    let mut b = Vec::new();
    b.extend(n(layout.magic));
    b.extend(short(2, layout.big));
    b.extend(short(4, layout.big));
    b.extend([0; 8]);
    b.extend(n(65_535));
    b.extend(n(layout.link));
    for r in records {
        for word in [r.seconds, r.part, r.bytes.len() as u32, r.wire] {
            b.extend(n(word));
        }
        if layout.magic == 0xa1b2_cd34 {
            b.extend([3, 0, 0, 0, 8, 0, 4, 0]);
        }
        b.extend(&r.bytes);
    }
    b
}

/// A pcapng block.
pub fn block(kind: u32, big: bool, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = number(padded as u32 + 12, big);
    let mut b = join(&[&number(kind, big), &length, body]);
    b.resize(8 + padded, 0);
    b.extend(length);
    b
}

pub fn option(code: u16, big: bool, value: &[u8]) -> Vec<u8> {
    let mut b = join(&[&short(code, big), &short(value.len() as u16, big), value]);
    b.resize(b.len().next_multiple_of(4), 0);
    b
}

pub fn section(big: bool) -> Vec<u8> {
    let body = [&number(0x1a2b_3c4d, big)[..], &short(1, big), &short(0, big), &[0xff; 8]];
    block(0x0a0d_0d0a, big, &join(&body))
}

pub fn interface(big: bool, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    block(1, big, &join(&[&short(link, big), &[0, 0], &number(snaplen, big), options]))
}

pub fn enhanced(big: bool, interface: u32, ticks: u64, r: &Raw, options: &[u8]) -> Vec<u8> {
    let mut b = Vec::new();
    for word in [interface, (ticks >> 32) as u32, ticks as u32, r.bytes.len() as u32, r.wire] {
        b.extend(number(word, big));
    }
    b.extend(&r.bytes);
    b.resize(b.len().next_multiple_of(4), 0);
    b.extend(options);
    block(6, big, &b)
}

/// Everything that a reader returns for `bytes`.
pub struct Contents {
    pub packets: Vec<TcpPacket>,
    pub reports: Vec<IcmpReport>,
    pub info: FileInfo,
}

pub fn drain(mut reader: CaptureReader) -> Contents {
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {}
    Contents { packets: batch.packets, reports: batch.reports, info: reader.info() }
}

pub fn read(bytes: &[u8]) -> Contents {
    drain(CaptureReader::from_reader(Box::new(Cursor::new(bytes.to_vec())), "test").unwrap())
}

pub fn count(info: &FileInfo, name: &str) -> u64 {
    let mut contents = info.tunnels.iter().chain(&info.other);
    contents.find(|c| c.name == name).map_or(0, |c| c.count)
}
