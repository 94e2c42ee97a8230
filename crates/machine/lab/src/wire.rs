//! Packets as read from and written to a TUN device: a [`path::Body`] of bytes, super-packets segmented as on
//! a wire, ECN and DSCP marks written back.
//!
//! Checksums: the kernel passes TCP and UDP packets with only the pseudo-header summed up ("needs checksum"
//! in the virtio header) and accepts them in this form. A segment that was cut gets its own pseudo-header
//! sum; the payload is never summed.

mod ethernet;
mod icmp;

pub use ethernet::Ethernet;
pub use icmp::too_big;

use path::{Body, Ecn, Packet};
use std::net::IpAddr;

pub const VIRTIO: usize = 10;
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A virtio header followed by an IP packet, as one write puts it on a TUN device.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    pub bytes: Vec<u8>,
    /// The packet's Ethernet header by its number in [`Ethernet`]; 0 on a TUN device.
    pub ethernet: u16,
}

/// The path drops or keeps whole fragments of tunnel packets and does not look inside. The first fragment
/// carries all bytes (tunnel headers are virtual, so outer offsets do not apply to them), the others none.
impl Body for Wire {
    fn fragment(&self, offset: u32, _len: u32) -> Wire {
        if offset == 0 { self.clone() } else { Wire::default() }
    }
    fn join(&mut self, next: Wire) {
        if self.bytes.is_empty() {
            *self = next;
        }
    }
}

impl Wire {
    /// The IP packet; empty for all fragments but the first.
    pub fn ip(&self) -> &[u8] {
        self.bytes.get(VIRTIO..).unwrap_or(&[])
    }
}

fn be16(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}

fn put16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_be_bytes());
}

fn sum(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks_exact(2);
    let last_byte = pairs.remainder().first().map_or(0, |&b| (b as u32) << 8);
    last_byte + pairs.map(|p| u16::from_be_bytes([p[0], p[1]]) as u32).sum::<u32>()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The Internet checksum (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// Bytes of an IPv6 header (RFC 8200 section 3). The kernel's TCP and UDP add no extension header except the
/// fragment header, and such packets have neither protocol's number here.
const IPV6: usize = 40;

/// Returns the length of the IP header, if the packet contains all of it.
pub fn ip_header(ip: &[u8]) -> Option<usize> {
    let first = *ip.first()?;
    let len = match first >> 4 {
        4 => (first & 15) as usize * 4,
        6 => IPV6,
        _ => return None,
    };
    (len >= 20 && ip.len() >= len).then_some(len)
}

fn is_v6(ip: &[u8]) -> bool {
    ip[0] >> 4 == 6
}

/// Returns the protocol number. The IP header must be complete.
fn protocol(ip: &[u8]) -> u8 {
    if is_v6(ip) { ip[6] } else { ip[9] }
}

/// Returns source and destination address, concatenated.
fn addresses(ip: &[u8]) -> &[u8] {
    if is_v6(ip) { &ip[8..40] } else { &ip[12..20] }
}

/// Returns DSCP and ECN.
fn tos(ip: &[u8]) -> u8 {
    if is_v6(ip) { ip[0] << 4 | ip[1] >> 4 } else { ip[1] }
}

/// Writes the length of the whole packet, with an IP header of `header` bytes.
fn set_length(ip: &mut [u8], header: usize, len: usize) {
    if is_v6(ip) {
        put16(ip, 4, (len - header) as u16);
    } else {
        put16(ip, 2, len as u16);
        fix_ip_checksum(ip, header);
    }
}

fn fix_ip_checksum(ip: &mut [u8], header: usize) {
    put16(ip, 10, 0);
    let sum = checksum(&ip[..header]);
    put16(ip, 10, sum);
}

/// Returns a hash of the packet's flow: FNV-1a of addresses, protocol and ports. Each direction has its own.
pub fn flow(ip: &[u8], header: usize) -> u32 {
    let protocol = protocol(ip);
    let ports = if matches!(protocol, TCP | UDP) { ip.get(header..header + 4).unwrap_or(&[]) } else { &[] };
    let all = addresses(ip).iter().chain([&protocol]).chain(ports);
    all.fold(0x811c_9dc5, |h: u32, &b| (h ^ b as u32).wrapping_mul(0x0100_0193))
}

/// Whether a packet's source is this host.
pub fn is_from(ip: &[u8], host: IpAddr) -> bool {
    ends_at(ip, host, 0)
}

/// Whether a packet's destination is this host.
pub fn is_to(ip: &[u8], host: IpAddr) -> bool {
    ends_at(ip, host, 1)
}

/// Whether a packet's destination is this host and it carries TCP payload.
pub fn is_data_to(ip: &[u8], host: IpAddr) -> bool {
    ends_at(ip, host, 1) && protocol(ip) == TCP && data_ports(ip).is_some()
}

/// Whether a packet's source (0) or destination (1) is this address.
fn ends_at(ip: &[u8], host: IpAddr, end: usize) -> bool {
    if ip_header(ip).is_none() || is_v6(ip) != host.is_ipv6() {
        return false;
    }
    let all = addresses(ip);
    let address = &all[end * all.len() / 2..][..all.len() / 2];
    match host {
        IpAddr::V4(a) => address == a.octets(),
        IpAddr::V6(a) => address == a.octets(),
    }
}

/// Returns source and destination port of a packet that carries TCP or UDP payload.
pub fn data_ports(ip: &[u8]) -> Option<[u16; 2]> {
    let header = ip_header(ip)?;
    let transport = ip.get(header..)?;
    let headers = match protocol(ip) {
        TCP => (*transport.get(12)? >> 4) as usize * 4,
        UDP => 8,
        _ => return None,
    };
    (transport.len() > headers).then(|| [be16(transport, 0), be16(transport, 2)])
}

/// Returns the payload of a UDP packet.
pub fn udp_payload(ip: &[u8]) -> Option<&[u8]> {
    let header = ip_header(ip).filter(|_| protocol(ip) == UDP)?;
    ip.get(header + 8..)
}

/// Returns the length of a packet from its header; `ip` may be truncated.
pub fn total_length(ip: &[u8]) -> Option<u32> {
    let header = ip_header(ip)?;
    Some(if is_v6(ip) { header as u32 + u32::from(be16(ip, 4)) } else { be16(ip, 2).into() })
}

/// Whether a packet is ESP in UDP (RFC 3948) from or to a port, and neither IKE, which four zero bytes mark,
/// nor a keepalive.
pub fn is_esp(ip: &[u8], port: u16) -> bool {
    let Some(udp) = ip_header(ip).filter(|_| protocol(ip) == UDP).and_then(|header| ip.get(header..)) else {
        return false;
    };
    udp.len() > 12 && [be16(udp, 0), be16(udp, 2)].contains(&port) && udp[8..12] != [0; 4]
}

/// The sequence range of a TCP segment.
pub struct TcpData {
    /// Source and destination address, then ports; zero padded for IPv4.
    pub endpoints: [u8; 36],
    /// Source and destination port.
    pub ports: [u16; 2],
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    pub syn: bool,
}

/// Parses a TCP segment; `None` for other packets.
pub fn tcp_data(ip: &[u8]) -> Option<TcpData> {
    let header = ip_header(ip).filter(|_| protocol(ip) == TCP)?;
    let tcp = ip.get(header..).filter(|tcp| tcp.len() >= 20)?;
    let mut endpoints = [0; 36];
    let addresses = addresses(ip);
    endpoints[..addresses.len()].copy_from_slice(addresses);
    endpoints[addresses.len()..addresses.len() + 4].copy_from_slice(&tcp[..4]);
    let len = tcp.len().checked_sub((tcp[12] >> 4) as usize * 4)?;
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    Some(TcpData {
        endpoints,
        ports: [be16(tcp, 0), be16(tcp, 2)],
        seq,
        len: len as u32,
        syn: tcp[13] & 2 != 0,
    })
}

/// Buffers for reuse.
#[derive(Default)]
pub struct Pool(Vec<Vec<u8>>);

impl Pool {
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(2048))
    }
    /// Returns a packet's buffer to the pool.
    pub fn recycle(&mut self, wire: Wire) {
        if self.0.len() < 1024 && wire.bytes.capacity() > 0 {
            self.0.push(wire.bytes);
        }
    }
}

/// Splits one read of a TUN device into wire packets and passes them to `take`. Drops packets that are not
/// IP, and IPv6 multicast, which only addresses neighbours.
pub fn receive(frame: &[u8], pool: &mut Pool, next_id: &mut u64, mut take: impl FnMut(Packet<Wire>)) {
    let Some((virtio, ip)) = frame.split_at_checked(VIRTIO) else { return };
    let Some(header) = ip_header(ip).filter(|_| !(is_v6(ip) && ip[24] == 0xff)) else { return };
    let gso = u16::from_ne_bytes([virtio[4], virtio[5]]) as usize;
    let flow = flow(ip, header);
    let mut emit = |bytes: Vec<u8>| {
        let tos = tos(&bytes[VIRTIO..]);
        let ecn = match tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        *next_id += 1;
        let size = (bytes.len() - VIRTIO) as u32;
        let dscp = tos >> 2;
        let body = Wire { bytes, ethernet: 0 };
        take(Packet { id: *next_id, size, overhead: 0, flow, dscp, ecn, fragment: None, body });
    };
    let is_super = matches!(virtio[1] & !GSO_ECN, GSO_TCPV4 | GSO_TCPV6);
    if is_super && gso > 0 && protocol(ip) == TCP && ip.len() >= header + 20 {
        let headers = header + (ip[header + 12] >> 4) as usize * 4;
        if ip.len() > headers {
            let segments = ip[headers..].chunks(gso);
            let count = segments.len();
            for (i, payload) in segments.enumerate() {
                let mut bytes = pool.take();
                cut(&mut bytes, ip, (header, headers), payload, i, gso, i + 1 == count);
                emit(bytes);
            }
            return;
        }
    }
    let mut bytes = pool.take();
    bytes.clear();
    bytes.extend_from_slice(frame);
    emit(bytes);
}

/// Builds segment `i` of a super-packet, as Linux's `tcp_gso_segment` does.
fn cut(
    bytes: &mut Vec<u8>,
    whole: &[u8],
    (header, headers): (usize, usize),
    payload: &[u8],
    i: usize,
    gso: usize,
    last: bool,
) {
    bytes.clear();
    bytes.resize(VIRTIO, 0);
    bytes[0] = NEEDS_CSUM;
    bytes[6..8].copy_from_slice(&(header as u16).to_ne_bytes());
    bytes[8..10].copy_from_slice(&16u16.to_ne_bytes());
    bytes.extend_from_slice(&whole[..headers]);
    bytes.extend_from_slice(payload);
    let ip = &mut bytes[VIRTIO..];
    if !is_v6(ip) {
        let id = be16(ip, 4).wrapping_add(i as u16);
        put16(ip, 4, id);
    }
    set_length(ip, header, headers + payload.len());
    let tcp = &mut ip[header..];
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add((i * gso) as u32);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    if !last {
        tcp[13] &= !0x09; // FIN, PSH
    }
    if i > 0 {
        tcp[13] &= !0x80; // CWR
    }
    let len = (headers - header + payload.len()) as u32;
    let pseudo = fold(sum(addresses(whole)) + TCP as u32 + len);
    put16(tcp, 16, pseudo);
}

/// Whether `next` continues `first`, of which `sent` payload bytes have been collected: same TCP connection
/// and same header but for sequence number, length, PSH and FIN. Returns the length of its headers.
pub fn same_stream(first: &[u8], next: &[u8], sent: usize) -> Option<usize> {
    let (a, b) = (first.get(VIRTIO..)?, next.get(VIRTIO..)?);
    let header = ip_header(b)?;
    let len = header + 20;
    let whole = a.len() >= len && b.len() >= len;
    if ip_header(a)? != header || protocol(a) != TCP || !whole || next[0] & NEEDS_CSUM == 0 {
        return None;
    }
    let seq = |t: &[u8]| u32::from_be_bytes([t[header + 4], t[header + 5], t[header + 6], t[header + 7]]);
    let headers = header + (b[header + 12] >> 4) as usize * 4;
    // Segments with SYN, RST, URG or CWR are never joined.
    let is_plain = b[header + 13] & 0xa6 == 0 && a[header + 13] & !0x09 == b[header + 13] & !0x09;
    let same = |range: std::ops::Range<usize>| a.get(range.clone()) == b.get(range);
    // The IP headers must agree in all but length, identification and checksum.
    let ip =
        if is_v6(a) { same(0..4) && same(6..header) } else { same(0..2) && same(6..10) && same(12..header) };
    let is_alike = ip && same(header..header + 4) && same(header + 8..header + 13);
    let is_alike = is_alike && same(header + 14..header + 16) && same(header + 18..headers);
    (is_plain && is_alike && b.len() >= headers && seq(a).wrapping_add(sent as u32) == seq(b))
        .then_some(headers)
}

/// Completes the headers of a super-packet after the payload of further segments was appended.
pub fn finish_join(frame: &mut [u8], headers: usize, gso: usize) {
    frame[1] = if is_v6(&frame[VIRTIO..]) { GSO_TCPV6 } else { GSO_TCPV4 };
    frame[2..4].copy_from_slice(&(headers as u16).to_ne_bytes());
    frame[4..6].copy_from_slice(&(gso as u16).to_ne_bytes());
    let ip = &mut frame[VIRTIO..];
    let Some(header) = ip_header(ip) else { return };
    let total = ip.len();
    set_length(ip, header, total);
    let pseudo = fold(sum(addresses(ip)) + TCP as u32 + (total - header) as u32);
    put16(ip, header + 16, pseudo);
}

/// Writes the DSCP and ECN that the path changed into the header, before the packet is delivered.
pub fn write_marks(packet: &mut Packet<Wire>) {
    let marked = packet.dscp << 2 | packet.ecn as u8;
    if let Some(ip) = packet.body.bytes.get_mut(VIRTIO..)
        && let Some(header) = ip_header(ip)
        && tos(ip) != marked
    {
        if is_v6(ip) {
            ip[0] = 0x60 | marked >> 4;
            ip[1] = marked << 4 | ip[1] & 15;
        } else {
            ip[1] = marked;
            fix_ip_checksum(ip, header);
        }
    }
}

#[cfg(test)]
pub mod tests;
