//! ICMP errors for packets that exceed an MTU. They are returned at once and appear to come from the packet's
//! destination; a virtio header precedes them.

use super::{IPV6, VIRTIO, checksum, fix_ip_checksum, fold, ip_header, is_v6, put16, sum};

pub(super) const ICMPV6: u8 = 58;

/// Builds ICMP "fragmentation needed" (RFC 792, RFC 1191) or ICMPv6 "packet too big" (RFC 4443 section 3.2)
/// for a packet, from its destination, virtio header included. Returns `None` if the IP header is incomplete.
pub fn too_big(packet: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let header = ip_header(packet)?;
    if is_v6(packet) {
        return Some(too_big_v6(packet, mtu));
    }
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

/// Quotes as much of the packet as fits in the minimum MTU (RFC 4443 section 3.2).
fn too_big_v6(packet: &[u8], mtu: u32) -> Vec<u8> {
    const QUOTED: usize = 1280 - IPV6 - 8;
    let quoted = &packet[..packet.len().min(QUOTED)];
    let len = 8 + quoted.len();
    let mut bytes = vec![0; VIRTIO + IPV6 + len];
    let ip = &mut bytes[VIRTIO..];
    ip[0] = 0x60;
    put16(ip, 4, len as u16);
    (ip[6], ip[7]) = (ICMPV6, 64);
    ip[8..24].copy_from_slice(&packet[24..40]);
    ip[24..40].copy_from_slice(&packet[8..24]);
    ip[40] = 2;
    ip[44..48].copy_from_slice(&mtu.to_be_bytes());
    ip[48..].copy_from_slice(quoted);
    // RFC 4443 section 2.3: the checksum includes the pseudo-header.
    let sum = !fold(sum(&ip[8..40]) + len as u32 + ICMPV6 as u32 + sum(&ip[40..]));
    put16(ip, 42, sum);
    bytes
}
