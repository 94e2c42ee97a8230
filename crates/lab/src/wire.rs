//! Packets as they are: bytes of a TUN device as a [`path::Body`], super-packets cut into what a
//! wire would carry, marks written back.
//!
//! Checksums: the kernel hands TCP and UDP over with only the pseudo-header summed up, and takes
//! them so ("needs checksum" in the virtio header). A cut segment gets a pseudo-header sum of its
//! own; nobody sums payload.

use path::{Body, Ecn, Packet};
use std::net::Ipv4Addr;

/// Bytes of `virtio_net_hdr` in front of each packet.
pub const VIRTIO: usize = 10;
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// An IP packet and the virtio header before it, as one write puts it on a TUN device.
#[derive(Clone, Debug, Default)]
pub struct Wire(pub Vec<u8>);

/// A fragment of a tunnel loses or keeps the packet it is part of, and nobody looks inside: the
/// first carries all bytes (tunnel headers are virtual, so outer offsets mean nothing to them), the
/// others none.
impl Body for Wire {
    fn fragment(&self, offset: u32, _len: u32) -> Wire {
        if offset == 0 { self.clone() } else { Wire::default() }
    }
    fn join(&mut self, next: Wire) {
        if self.0.is_empty() {
            *self = next;
        }
    }
}

impl Wire {
    /// The IP packet; empty in a fragment but the first.
    pub fn ip(&self) -> &[u8] {
        self.0.get(VIRTIO..).unwrap_or(&[])
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
    let odd = pairs.remainder().first().map_or(0, |&b| (b as u32) << 8);
    odd + pairs.map(|p| u16::from_be_bytes([p[0], p[1]]) as u32).sum::<u32>()
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

/// Length of the IPv4 header, when there is a whole one.
fn ip_header(ip: &[u8]) -> Option<usize> {
    let first = *ip.first()?;
    let len = (first & 15) as usize * 4;
    (first >> 4 == 4 && len >= 20 && ip.len() >= len).then_some(len)
}

fn fix_ip_checksum(ip: &mut [u8], header: usize) {
    put16(ip, 10, 0);
    let sum = checksum(&ip[..header]);
    put16(ip, 10, sum);
}

/// A number of the packet's flow: FNV-1a of addresses, protocol and ports. Each direction has its own.
pub fn flow(ip: &[u8], header: usize) -> u32 {
    let ports = if matches!(ip[9], TCP | UDP) { ip.get(header..header + 4).unwrap_or(&[]) } else { &[] };
    let all = ip[12..20].iter().chain(&ip[9..10]).chain(ports);
    all.fold(0x811c_9dc5, |h: u32, &b| (h ^ b as u32).wrapping_mul(0x0100_0193))
}

/// Whether the host of this address sent this packet itself.
pub fn is_from(ip: &[u8], host: Ipv4Addr) -> bool {
    ip.get(12..16).is_some_and(|source| source == host.octets())
}

/// Whether a packet is for the host of this address and carries TCP payload.
pub fn is_data_to(ip: &[u8], host: Ipv4Addr) -> bool {
    let for_host = ip.get(16..20).is_some_and(|destination| destination == host.octets());
    for_host && ip[9] == TCP && data_ports(ip).is_some()
}

/// Source and destination port of a packet that carries TCP or UDP payload.
pub fn data_ports(ip: &[u8]) -> Option<[u16; 2]> {
    let header = ip_header(ip)?;
    let transport = ip.get(header..)?;
    let headers = match ip[9] {
        TCP => (*transport.get(12)? >> 4) as usize * 4,
        UDP => 8,
        _ => return None,
    };
    (transport.len() > headers).then(|| [be16(transport, 0), be16(transport, 2)])
}

/// Payload of a packet that carries UDP.
pub fn udp_payload(ip: &[u8]) -> Option<&[u8]> {
    let header = ip_header(ip).filter(|_| ip[9] == UDP)?;
    ip.get(header + 8..)
}

/// Bytes of a packet by its own header, of which the beginning is here.
pub fn total_length(ip: &[u8]) -> Option<u32> {
    ip_header(ip).map(|_| be16(ip, 2).into())
}

/// Whether a packet is ESP in UDP (RFC 3948) from or to a port: neither IKE, which four zero bytes mark, nor a keepalive.
pub fn is_esp(ip: &[u8], port: u16) -> bool {
    let Some(udp) = ip_header(ip).filter(|_| ip[9] == UDP).and_then(|header| ip.get(header..)) else {
        return false;
    };
    udp.len() > 12 && [be16(udp, 0), be16(udp, 2)].contains(&port) && udp[8..12] != [0; 4]
}

/// A TCP segment, as far as its sender's progress goes.
pub struct TcpData {
    /// Addresses and ports, source first.
    pub between: [u8; 12],
    /// Source and destination.
    pub ports: [u16; 2],
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    pub syn: bool,
}

/// A packet as a TCP segment; `None` when it is none.
pub fn tcp_data(ip: &[u8]) -> Option<TcpData> {
    let header = ip_header(ip).filter(|_| ip[9] == TCP)?;
    let tcp = ip.get(header..).filter(|tcp| tcp.len() >= 20)?;
    let mut between = [0; 12];
    between[..8].copy_from_slice(&ip[12..20]);
    between[8..].copy_from_slice(&tcp[..4]);
    let len = tcp.len().checked_sub((tcp[12] >> 4) as usize * 4)?;
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    Some(TcpData {
        between,
        ports: [be16(tcp, 0), be16(tcp, 2)],
        seq,
        len: len as u32,
        syn: tcp[13] & 2 != 0,
    })
}

/// Spent buffers, to be used again.
#[derive(Default)]
pub struct Pool(Vec<Vec<u8>>);

impl Pool {
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(2048))
    }
    /// Gives a packet's memory back.
    pub fn give(&mut self, wire: Wire) {
        if self.0.len() < 1024 && wire.0.capacity() > 0 {
            self.0.push(wire.0);
        }
    }
}

/// What one read of a TUN device gave, as wire packets handed to `take`. Other than IPv4 is dropped.
pub fn receive(frame: &[u8], pool: &mut Pool, next_id: &mut u64, mut take: impl FnMut(Packet<Wire>)) {
    let Some((virtio, ip)) = frame.split_at_checked(VIRTIO) else { return };
    let Some(header) = ip_header(ip) else { return };
    let gso = u16::from_ne_bytes([virtio[4], virtio[5]]) as usize;
    let flow = flow(ip, header);
    let mut hand = |bytes: Vec<u8>| {
        let tos = bytes[VIRTIO + 1];
        let ecn = match tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        *next_id += 1;
        let size = (bytes.len() - VIRTIO) as u32;
        let dscp = tos >> 2;
        let body = Wire(bytes);
        take(Packet { id: *next_id, size, overhead: 0, flow, dscp, ecn, fragment: None, body });
    };
    if virtio[1] & !GSO_ECN == GSO_TCPV4 && gso > 0 && ip[9] == TCP && ip.len() >= header + 20 {
        let headers = header + (ip[header + 12] >> 4) as usize * 4;
        if ip.len() > headers {
            let segments = ip[headers..].chunks(gso);
            let count = segments.len();
            for (i, payload) in segments.enumerate() {
                let mut bytes = pool.take();
                cut(&mut bytes, ip, (header, headers), payload, i, gso, i + 1 == count);
                hand(bytes);
            }
            return;
        }
    }
    let mut bytes = pool.take();
    bytes.clear();
    bytes.extend_from_slice(frame);
    hand(bytes);
}

/// Segment `i` of a super-packet, as Linux's `tcp_gso_segment` would cut it.
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
    put16(ip, 2, (headers + payload.len()) as u16);
    let id = be16(ip, 4).wrapping_add(i as u16);
    put16(ip, 4, id);
    fix_ip_checksum(ip, header);
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
    let pseudo = fold(sum(&whole[12..20]) + TCP as u32 + len);
    put16(tcp, 16, pseudo);
}

/// Whether `next` continues `first`, of which `sent` payload bytes are there already: the same TCP
/// connection and header but for sequence, length, PSH and FIN; the length of its headers.
pub fn same_stream(first: &[u8], next: &[u8], sent: usize) -> Option<usize> {
    let (a, b) = (first.get(VIRTIO..)?, next.get(VIRTIO..)?);
    let header = ip_header(b)?;
    let len = header + 20;
    if ip_header(a)? != header || a[9] != TCP || a.len() < len || b.len() < len || next[0] & NEEDS_CSUM == 0 {
        return None;
    }
    let seq = |t: &[u8]| u32::from_be_bytes([t[header + 4], t[header + 5], t[header + 6], t[header + 7]]);
    let headers = header + (b[header + 12] >> 4) as usize * 4;
    // SYN, RST, URG, CWR: never.
    let plain = b[header + 13] & 0xa6 == 0 && a[header + 13] & !0x09 == b[header + 13] & !0x09;
    let same = |range: std::ops::Range<usize>| a.get(range.clone()) == b.get(range);
    let alike = same(0..2) && same(6..10) && same(12..header + 4) && same(header + 8..header + 13);
    let alike = alike && same(header + 14..header + 16) && same(header + 18..headers);
    (plain && alike && b.len() >= headers && seq(a).wrapping_add(sent as u32) == seq(b)).then_some(headers)
}

/// Makes a super-packet of a first segment that others' payload was appended to.
pub fn finish_join(frame: &mut [u8], headers: usize, gso: usize) {
    frame[1] = GSO_TCPV4;
    frame[2..4].copy_from_slice(&(headers as u16).to_ne_bytes());
    frame[4..6].copy_from_slice(&(gso as u16).to_ne_bytes());
    let ip = &mut frame[VIRTIO..];
    let header = (ip[0] & 15) as usize * 4;
    let total = ip.len();
    put16(ip, 2, total as u16);
    fix_ip_checksum(ip, header);
    let pseudo = fold(sum(&ip[12..20]) + TCP as u32 + (total - header) as u32);
    put16(ip, header + 16, pseudo);
}

/// Writes the marks that the path changed into the header, before the packet is delivered.
pub fn write_marks(packet: &mut Packet<Wire>) {
    let tos = packet.dscp << 2 | packet.ecn as u8;
    if let Some(ip) = packet.body.0.get_mut(VIRTIO..)
        && let Some(header) = ip_header(ip)
        && ip[1] != tos
    {
        ip[1] = tos;
        fix_ip_checksum(ip, header);
    }
}

/// ICMP "fragmentation needed" (RFC 792, RFC 1191) for a packet, from its destination, virtio
/// header included; `None` for what is no whole IPv4 packet.
pub fn too_big(packet: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let header = ip_header(packet)?;
    let quoted = &packet[..packet.len().min(header + 8)];
    let len = 28 + quoted.len();
    let mut bytes = vec![0; VIRTIO + len];
    let ip = &mut bytes[VIRTIO..];
    ip[0] = 0x45;
    put16(ip, 2, len as u16);
    ip[8] = 64;
    ip[9] = 1;
    ip[12..16].copy_from_slice(&packet[16..20]);
    ip[16..20].copy_from_slice(&packet[12..16]);
    fix_ip_checksum(ip, 20);
    ip[20] = 3;
    ip[21] = 4;
    put16(ip, 26, mtu.min(65_535) as u16);
    ip[28..].copy_from_slice(quoted);
    let sum = checksum(&ip[20..]);
    put16(ip, 22, sum);
    Some(bytes)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn super_packet(payload: usize, gso: u16) -> Vec<u8> {
        let mut f = vec![0; VIRTIO + 40 + payload];
        f[0] = NEEDS_CSUM;
        f[1] = GSO_TCPV4;
        f[4..6].copy_from_slice(&gso.to_ne_bytes());
        let ip = &mut f[VIRTIO..];
        ip[0] = 0x45;
        put16(ip, 2, (40 + payload) as u16);
        put16(ip, 4, 65_535);
        ip[9] = TCP;
        ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        ip[20..24].copy_from_slice(&[1, 2, 3, 4]);
        ip[24..28].copy_from_slice(&(u32::MAX - 10).to_be_bytes());
        ip[32] = 5 << 4;
        ip[33] = 0x18;
        for (i, b) in ip[40..].iter_mut().enumerate() {
            *b = i as u8;
        }
        f
    }

    #[test]
    fn a_super_packet_is_cut_into_what_a_wire_carries() {
        let frame = super_packet(2500, 1000);
        let mut got = Vec::new();
        receive(&frame, &mut Pool::default(), &mut 0, |p| got.push(p));
        let sizes: Vec<u32> = got.iter().map(|p| p.size).collect();
        assert_eq!(sizes, [1040, 1040, 540]);
        let mut payload = Vec::new();
        for (i, p) in got.iter().enumerate() {
            let ip = p.body.ip();
            assert_eq!(be16(ip, 2) as u32, p.size);
            assert_eq!(checksum(&ip[..20]), 0);
            assert_eq!(be16(ip, 4), 65_535u16.wrapping_add(i as u16));
            let seq = u32::from_be_bytes(*ip[24..28].first_chunk().unwrap());
            assert_eq!(seq, (u32::MAX - 10).wrapping_add(1000 * i as u32));
            assert_eq!(ip[33] & 8 != 0, i == 2, "PSH on the last only");
            assert_eq!(p.flow, got[0].flow);
            payload.extend_from_slice(&ip[40..]);
        }
        assert_eq!(payload, frame[VIRTIO + 40..]);
    }

    #[test]
    fn marks_reach_the_header_and_its_checksum() {
        let mut got = Vec::new();
        receive(&super_packet(100, 0), &mut Pool::default(), &mut 0, |p| got.push(p));
        let mut p = got.remove(0);
        assert_eq!(data_ports(p.body.ip()), Some([0x0102, 0x0304]));
        let tcp = tcp_data(p.body.ip()).unwrap();
        assert_eq!((tcp.ports, tcp.seq, tcp.len, tcp.syn), ([0x0102, 0x0304], u32::MAX - 10, 100, false));
        assert_eq!(tcp.between, [10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4]);
        (p.dscp, p.ecn) = (46, Ecn::Ce);
        write_marks(&mut p);
        assert_eq!(p.body.ip()[1], 46 << 2 | 3);
        assert_eq!(checksum(&p.body.ip()[..20]), 0);
    }

    #[test]
    fn too_big_quotes_the_packet_and_names_the_mtu() {
        let frame = super_packet(1000, 0);
        let icmp = too_big(&frame[VIRTIO..], 1400).unwrap();
        let ip = &icmp[VIRTIO..];
        assert_eq!((checksum(&ip[..20]), checksum(&ip[20..])), (0, 0));
        assert_eq!((be16(ip, 26), &ip[28..48]), (1400, &frame[VIRTIO..VIRTIO + 20]));
    }

    #[test]
    fn esp_is_told_from_ike_and_keepalives() {
        let mut ip = super_packet(100, 0).split_off(VIRTIO);
        ip[9] = UDP;
        ip[20..24].copy_from_slice(&[0x4e, 0x21, 0x4e, 0x21]);
        ip[28..32].copy_from_slice(&[1, 2, 3, 4]);
        assert!(is_esp(&ip, 0x4e21) && !is_esp(&ip, 0x4e22));
        assert_eq!(total_length(&ip), Some(140));
        ip[28..32].fill(0);
        assert!(!is_esp(&ip, 0x4e21), "IKE");
        ip.truncate(29);
        assert!(!is_esp(&ip, 0x4e21), "a keepalive");
    }

    #[test]
    fn noise_is_dropped() {
        for n in 0..64 {
            receive(&vec![0x4f; n], &mut Pool::default(), &mut 0, |_| ());
            receive(&vec![0x45; n], &mut Pool::default(), &mut 0, |_| ());
            assert!(tcp_data(&vec![0x45; n]).is_none());
        }
    }
}
