//! Encoding of IP headers of both versions, and of the ICMP error that a packet was too big.
//!
//! | | IPv4 | IPv6 |
//! |---|---|---|
//! | header | 20 bytes, checksum, "don't fragment" | 40 bytes, no checksum, flow label 0 (RFC 8200 section 3) |
//! | length field | the whole packet | what follows the header |
//! | too big | type 3 code 4, the MTU in 16 bits (RFC 1191); quotes the IP header and 8 bytes after it (RFC 792) | type 2, the MTU in 32 bits; quotes as much as fits into 1280 bytes, and its checksum covers the pseudo-header (RFC 4443) |

use super::{Frame, TooBigFrame, checksum};
use crate::{Addr, Endpoint};
use std::net::IpAddr;

pub(super) const ICMP: u8 = 1;
pub(super) const ICMP6: u8 = 58;
pub(super) const TCP: u8 = 6;
/// The minimum MTU of IPv6 (RFC 8200 section 5), which is the maximum length of an ICMPv6 error (RFC 4443
/// section 2.4 (c)).
const MIN_MTU_V6: usize = 1280;
/// Length of the ICMP header.
const ICMP_HEADER: usize = 8;

/// Length of an IP header without options, bytes.
pub(super) const fn header_len(address: IpAddr) -> usize {
    if address.is_ipv4() { 20 } else { 40 }
}

/// Sum of the pseudo-header's words: both addresses, protocol and length (RFC 9293 section 3.1, RFC 8200
/// section 8.1).
pub(super) fn pseudo_header(frame: &Frame, protocol: u8, len: u32) -> u32 {
    let add_address = |sum, address| match address {
        IpAddr::V4(a) => super::add_words(sum, &a.octets()),
        IpAddr::V6(a) => super::add_words(sum, &a.octets()),
    };
    add_address(add_address(u32::from(protocol) + (len >> 16) + (len & 0xffff), frame.src), frame.dst)
}

/// Appends the header of a packet whose remainder is `len` bytes; both addresses are of the same IP version.
pub(super) fn header(frame: &Frame, len: u16, protocol: u8, b: &mut Vec<u8>) {
    let class = frame.dscp << 2 | frame.ecn & 3;
    match (frame.src, frame.dst) {
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            b.extend([0x60 | class >> 4, class << 4, 0, 0]);
            b.extend(len.to_be_bytes());
            b.extend([protocol, frame.ttl]);
            b.extend(src.octets());
            b.extend(dst.octets());
        }
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            b.extend([0x45, class]);
            b.extend((len + 20).to_be_bytes());
            b.extend(frame.id.to_be_bytes());
            b.extend([0x40, 0, frame.ttl, protocol, 0, 0]); // Don't fragment; the checksum comes last.
            b.extend(src.octets());
            b.extend(dst.octets());
            let sum = checksum(super::add_words(0, b));
            b[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        _ => {}
    }
}

/// The part of a packet that an ICMP error quotes, given the packet's headers and total length.
pub(super) fn quoted(mut headers: Vec<u8>, total: usize, v6: bool) -> Vec<u8> {
    if v6 {
        headers.resize(total.min(MIN_MTU_V6 - 40 - ICMP_HEADER), 0);
    } else {
        headers.truncate(28);
    }
    headers
}

/// The ICMP error, with a checksum of zero.
pub(super) fn too_big(report: &TooBigFrame, v6: bool) -> Vec<u8> {
    let mut b = if v6 { vec![2, 0, 0, 0] } else { vec![3, 4, 0, 0, 0, 0] };
    let mtu = report.mtu.to_be_bytes();
    b.extend(if v6 { &mtu[..] } else { &mtu[2..] });
    b.extend(&report.quoted);
    b
}

/// Source and destination of a quoted TCP packet; `None` for other protocols, or if the quote ends before the
/// ports.
pub(super) fn ends(quoted: &[u8]) -> Option<[Endpoint; 2]> {
    let v6 = quoted.first()? >> 4 == 6;
    let (protocol, addresses, ports) = if v6 { (6, 8, 40) } else { (9, 12, 20) };
    let port = |at: usize| Some(u16::from_be_bytes(*quoted.get(at..)?.first_chunk()?));
    let addr = |end: usize| {
        Some(match v6 {
            true => Addr::v6(*quoted.get(addresses + 16 * end..)?.first_chunk()?),
            false => Addr::v4(*quoted.get(addresses + 4 * end..)?.first_chunk()?),
        })
    };
    let end = |n: usize| Some(Endpoint { addr: addr(n)?, port: port(ports + 2 * n)? });
    if *quoted.get(protocol)? != TCP {
        return None;
    }
    Some([end(0)?, end(1)?])
}
