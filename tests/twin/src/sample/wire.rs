//! IPv4 packets of one TCP connection, as they pass the TUN device.

use super::log::Ack;
use super::peer::SCALE;
use std::net::Ipv4Addr;
use transport::Flags;

/// Address of the end under test.
pub const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the other end.
pub const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Port of the other end.
pub const PORT: u16 = 5001;
/// Initial sequence number of the other end.
const ISN: u32 = 1_000_000;

/// Size of the `virtio_net_hdr` before each packet, bytes.
const VIRTIO: usize = 10;
/// Flag: the checksum is left for a device to fill in, and the segment is intact.
const NEEDS_CSUM: u8 = 1;
/// Position of the checksum in a TCP header.
const CSUM: u16 = 16;
const TCP: u8 = 6;
const HEADER: usize = 20;

/// A segment of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub port: u16,
    pub seq: u32,
    pub flags: u8,
    pub ts: u32,
    pub len: u32,
    /// Payload of each segment in it.
    pub mss: u32,
}

fn be16(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}

fn be32(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

/// Parses one read of the device; `None` for anything but TCP.
pub fn read(frame: &[u8]) -> Option<Sent> {
    let (virtio, ip) = frame.split_at_checked(VIRTIO)?;
    if ip.len() < 2 * HEADER || ip[0] != 0x45 || ip[9] != TCP {
        return None;
    }
    let tcp = &ip[HEADER..];
    let header = (tcp[12] >> 4) as usize * 4;
    let len = tcp.len().checked_sub(header)? as u32;
    let gso = u16::from_ne_bytes([virtio[4], virtio[5]]) as u32;
    let mss = if virtio[1] != 0 && gso > 0 { gso } else { len };
    let ts = timestamp(tcp.get(HEADER..header)?);
    Some(Sent { port: be16(tcp, 0), seq: be32(tcp, 4), flags: tcp[13], ts, len, mss })
}

/// The timestamp (TSval) among a header's options, 0 for none.
fn timestamp(mut options: &[u8]) -> u32 {
    while let Some((&kind, rest)) = options.split_first() {
        let len = match kind {
            0 => return 0,
            1 => 1,
            _ => rest.first().map_or(0, |&n| n as usize),
        };
        if kind == 8 && options.len() >= 10 {
            return be32(options, 2);
        }
        options = if len == 0 { &[] } else { options.get(len..).unwrap_or(&[]) };
    }
    0
}

/// Builds the frame of a segment of the other end, for the connection from `port` whose first byte is
/// `first`. `clock`: difference between the kernel's timestamps and the log's.
pub fn frame(ack: &Ack, mss: u32, sack: bool, port: u16, first: u32, clock: u32) -> Vec<u8> {
    let syn = ack.flags & Flags::SYN.0 != 0;
    let mut options: Vec<u8> = Vec::new();
    if syn {
        options.extend([2, 4]);
        options.extend((mss as u16).to_be_bytes());
        options.extend([1, 3, 3, SCALE as u8]);
        if sack {
            options.extend([1, 1, 4, 2]);
        }
    }
    if ack.ts_val != 0 {
        options.extend([1, 1, 8, 10]);
        options.extend(ack.ts_val.to_be_bytes());
        options.extend(ack.ts_ecr.wrapping_add(clock).to_be_bytes());
    }
    if !ack.sacks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * ack.sacks.len() as u8]);
        for (from, to) in &ack.sacks {
            options.extend(first.wrapping_add(*from as u32).to_be_bytes());
            options.extend(first.wrapping_add(*to as u32).to_be_bytes());
        }
    }
    let window = if syn { ack.window } else { ack.window >> SCALE };
    let total = 2 * HEADER + options.len();
    let mut f = vec![0; VIRTIO];
    f[0] = NEEDS_CSUM;
    f[6..8].copy_from_slice(&(HEADER as u16).to_ne_bytes());
    f[8..10].copy_from_slice(&CSUM.to_ne_bytes());
    f.extend([0x45, 0]);
    f.extend((total as u16).to_be_bytes());
    f.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
    f.extend(THERE.octets());
    f.extend(HERE.octets());
    let sum: u32 = f[VIRTIO..].chunks(2).map(|p| be16(p, 0) as u32).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    f[VIRTIO + 10..VIRTIO + 12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    f.extend(PORT.to_be_bytes());
    f.extend(port.to_be_bytes());
    f.extend(if syn { ISN } else { ISN + 1 }.to_be_bytes());
    f.extend(first.wrapping_add(ack.ack as u32).to_be_bytes());
    f.extend([(((HEADER + options.len()) / 4) << 4) as u8, ack.flags]);
    f.extend((window as u16).to_be_bytes());
    f.extend([0, 0, 0, 0]);
    f.extend(options);
    f
}
