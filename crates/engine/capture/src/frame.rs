//! Packet headers as data, and their encoding according to RFC 791, RFC 8200, RFC 9293, RFC 768, RFC 792 and
//! RFC 4443.

mod ip;

use crate::icmp::{IcmpMessage, IcmpReport};
use crate::packet::{Addr, Endpoint, PacketFragments, PacketOptions, TcpFlags, TcpPacket};
use std::net::IpAddr;
use units::Time;

const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// IP protocol number.
const UDP: u8 = 17;
/// Maximum length of TCP options, bytes (RFC 9293 section 3.1: the data offset is at most 15 words).
const MAX_OPTIONS_LEN: usize = 40;

/// An IP packet with a payload of zeros. Both addresses are of the same IP version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Capture time.
    pub time: Time,
    pub src: IpAddr,
    pub dst: IpAddr,
    /// IP identification; unused for IPv6.
    pub id: u16,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Time to live (IPv4) or hop limit (IPv6).
    pub ttl: u8,
    pub payload: Payload,
}

/// The payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    Tcp(TcpFrame),
    Udp(UdpFrame),
    /// An ICMP error: a packet was too big.
    TooBig(TooBigFrame),
}

/// ICMP "fragmentation needed" (RFC 792 type 3 code 4; RFC 1191 section 4) or ICMPv6 "packet too big" (RFC
/// 4443 section 3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TooBigFrame {
    /// MTU of the next hop, bytes.
    pub mtu: u32,
    /// IP header of the packet that was too big, and the first bytes after it with ports and sequence
    /// number.
    pub quoted: Vec<u8>,
}

/// A TCP segment's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpFrame {
    pub sport: u16,
    pub dport: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    /// The window field as sent: scaled down, except in a SYN.
    pub window: u16,
    pub options: TcpOptions,
    /// Payload bytes.
    pub payload_len: u32,
}

/// TCP options, written in the order and with the padding of Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale (RFC 7323 section 2).
    pub wscale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2).
    pub sack_ok: bool,
    /// Timestamp value and echo reply (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018 section 3): left and right edge of each. Blocks that do not fit (beyond three
    /// with timestamps, four without) are not written.
    pub sack: Vec<(u32, u32)>,
}

/// Header of a UDP datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpFrame {
    pub sport: u16,
    pub dport: u16,
    /// Payload bytes.
    pub payload_len: u32,
}

/// Why a frame cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The packet exceeds the maximum length of IP: 65,535 bytes; for IPv6, without its header.
    #[error("a packet of {bytes} bytes exceeds the maximum of IP (65535; for IPv6 without the header)")]
    TooLong {
        /// Length of the packet, bytes.
        bytes: u64,
    },
    /// One address is IPv4, the other IPv6.
    #[error("a packet between an IPv4 and an IPv6 address")]
    TwoVersions,
}

impl TcpOptions {
    /// The SACK blocks that fit into the header.
    fn fitting_blocks(&self) -> &[(u32, u32)] {
        let before = TcpOptions { sack: Vec::new(), ..*self }.bytes().len();
        let room = (MAX_OPTIONS_LEN - before).saturating_sub(4) / 8;
        &self.sack[..self.sack.len().min(room)]
    }

    /// The encoded options: a multiple of four bytes, at most 40.
    fn bytes(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(MAX_OPTIONS_LEN);
        if let Some(mss) = self.mss {
            b.extend([2, 4]);
            b.extend(mss.to_be_bytes());
        }
        // SACK permitted replaces the two NOPs before timestamps, as in Linux.
        match (self.sack_ok, self.timestamps) {
            (true, _) => b.extend([4, 2]),
            (false, Some(_)) => b.extend([1, 1]),
            (false, None) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            b.extend([8, 10]);
            b.extend(value.to_be_bytes());
            b.extend(echo.to_be_bytes());
        } else if self.sack_ok {
            b.extend([1, 1]);
        }
        if let Some(shift) = self.wscale {
            b.extend([1, 3, 3, shift]);
        }
        let blocks = if self.sack.is_empty() { &[] } else { self.fitting_blocks() };
        if !blocks.is_empty() {
            b.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                b.extend(start.to_be_bytes());
                b.extend(end.to_be_bytes());
            }
        }
        debug_assert!(b.len() % 4 == 0 && b.len() <= MAX_OPTIONS_LEN);
        b
    }
}

/// Sum of 16-bit words in one's complement (RFC 1071), not yet inverted; an odd last byte is padded with
/// zero.
fn add_words(sum: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&b| u32::from(b) << 8);
    words.fold(sum + last, |sum, w| sum + u16::from_be_bytes([w[0], w[1]]) as u32)
}

fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl Frame {
    /// The TCP packet as [`CaptureReader`](crate::CaptureReader) would read it from the encoded headers;
    /// `None` unless the payload is TCP.
    pub fn seen(&self) -> Option<TcpPacket> {
        let Payload::Tcp(tcp) = &self.payload else { return None };
        let end = |addr: IpAddr, port| Endpoint { addr: Addr::of(addr), port };
        let o = &tcp.options;
        let mut options = PacketOptions {
            mss: o.mss,
            wscale: o.wscale,
            sack_ok: o.sack_ok,
            timestamps: o.timestamps,
            ..PacketOptions::default()
        };
        for (block, from) in options.sack.iter_mut().zip(o.fitting_blocks()) {
            *block = *from;
            options.sacks += 1;
        }
        Some(TcpPacket {
            time: self.time,
            number: 0,
            src: end(self.src, tcp.sport),
            dst: end(self.dst, tcp.dport),
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            window: tcp.window,
            len: tcp.payload_len,
            header: (ip::header_len(self.src) + TCP_HEADER + o.bytes().len()) as u16,
            outside: 0,
            id: if self.src.is_ipv4() { self.id } else { 0 },
            ttl: self.ttl,
            ecn: self.ecn,
            fragments: PacketFragments::default(),
            options,
        })
    }

    /// The ICMP error that `router` sends to the source of this packet: the packet is too big for a next hop
    /// with MTU `mtu`, bytes.
    ///
    /// # Errors
    /// Fails when this packet itself cannot be encoded.
    pub fn refused(&self, router: IpAddr, mtu: u32) -> Result<Frame, FrameError> {
        let (headers, total) = self.headers()?;
        let v6 = self.src.is_ipv6();
        let quoted = ip::quoted(headers, total as usize, v6);
        let mtu = if v6 { mtu } else { mtu.min(u16::MAX.into()) };
        Ok(Frame {
            src: router,
            dst: self.src,
            id: 0,
            dscp: 0,
            ecn: 0,
            ttl: 64,
            payload: Payload::TooBig(TooBigFrame { mtu, quoted }),
            ..*self
        })
    }

    /// The ICMP report as [`CaptureReader`](crate::CaptureReader) would read it; `None` unless this is an
    /// error about a TCP packet.
    pub fn too_big(&self) -> Option<IcmpReport> {
        let Payload::TooBig(TooBigFrame { mtu, quoted }) = &self.payload else { return None };
        let [from, to] = ip::ends(quoted)?;
        let says = IcmpMessage::TooBig(Some(*mtu).filter(|mtu| *mtu > 0));
        Some(IcmpReport { time: self.time, number: 0, behind: 0, from, to, says })
    }

    /// The headers of a captured TCP packet: the reverse of [`Frame::seen`].
    pub fn of(packet: &TcpPacket) -> Frame {
        let o = &packet.options;
        let options = TcpOptions {
            mss: o.mss,
            wscale: o.wscale,
            sack_ok: o.sack_ok,
            timestamps: o.timestamps,
            sack: o.sack_blocks().to_vec(),
        };
        Frame {
            time: packet.time,
            src: packet.src.addr.ip(),
            dst: packet.dst.addr.ip(),
            id: packet.id,
            dscp: 0,
            ecn: packet.ecn,
            ttl: packet.ttl,
            payload: Payload::Tcp(TcpFrame {
                sport: packet.src.port,
                dport: packet.dst.port,
                seq: packet.seq,
                ack: packet.ack,
                flags: packet.flags,
                window: packet.window,
                options,
                payload_len: packet.len,
            }),
        }
    }

    /// The encoded headers, with checksums for a payload of zeros, and the length of the whole packet.
    ///
    /// # Errors
    /// Fails when the packet exceeds IP's maximum length, or its addresses are of different IP versions.
    pub fn headers(&self) -> Result<(Vec<u8>, u32), FrameError> {
        let v6 = self.src.is_ipv6();
        if v6 != self.dst.is_ipv6() {
            return Err(FrameError::TwoVersions);
        }
        let (mut transport, protocol, checksum_at, payload) = match &self.payload {
            Payload::Tcp(tcp) => (tcp_header(tcp), ip::TCP, 16, tcp.payload_len),
            Payload::Udp(udp) => (udp_header(udp), UDP, 6, udp.payload_len),
            Payload::TooBig(report) => (ip::too_big(report, v6), if v6 { ip::ICMP6 } else { ip::ICMP }, 2, 0),
        };
        let segment = transport.len() as u64 + payload as u64;
        let header = ip::header_len(self.src);
        let bytes = header as u64 + segment;
        // IPv4's length field counts the whole packet, IPv6's what follows the header (RFC 8200 section 3).
        let most = u64::from(u16::MAX) - if v6 { 0 } else { header as u64 };
        let len = u16::try_from(segment).ok().filter(|_| segment <= most);
        let len = len.ok_or(FrameError::TooLong { bytes })?;
        if let Payload::Udp(_) = self.payload {
            transport[4..6].copy_from_slice(&len.to_be_bytes());
        }
        // A payload of zeros does not change the checksum; ICMP over IPv4 has no pseudo-header.
        let pseudo = if protocol == ip::ICMP { 0 } else { ip::pseudo_header(self, protocol, segment as u32) };
        let mut sum = checksum(add_words(pseudo, &transport));
        if protocol == UDP && sum == 0 {
            sum = 0xffff; // RFC 768: zero means "no checksum".
        }
        transport[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
        let mut all = Vec::with_capacity(header + transport.len());
        ip::header(self, len, protocol, &mut all);
        all.append(&mut transport);
        Ok((all, bytes as u32))
    }
}

/// The TCP header with a checksum of zero.
fn tcp_header(tcp: &TcpFrame) -> Vec<u8> {
    let options = tcp.options.bytes();
    let words = (TCP_HEADER + options.len()) / 4;
    let mut b = Vec::with_capacity(TCP_HEADER + MAX_OPTIONS_LEN);
    b.extend(tcp.sport.to_be_bytes());
    b.extend(tcp.dport.to_be_bytes());
    b.extend(tcp.seq.to_be_bytes());
    b.extend(tcp.ack.to_be_bytes());
    b.extend([(words as u8) << 4, tcp.flags.0]);
    b.extend(tcp.window.to_be_bytes());
    b.extend([0; 4]);
    b.extend(options);
    b
}

/// The UDP header with a length and a checksum of zero.
fn udp_header(udp: &UdpFrame) -> Vec<u8> {
    let mut b = Vec::with_capacity(UDP_HEADER);
    b.extend(udp.sport.to_be_bytes());
    b.extend(udp.dport.to_be_bytes());
    b.extend([0; 4]);
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn options_have_the_layout_of_linux() {
        let syn = TcpOptions {
            mss: Some(1460),
            wscale: Some(7),
            sack_ok: true,
            timestamps: Some((1, 0)),
            sack: vec![],
        };
        assert_eq!(syn.bytes().len(), 20);
        let data = TcpOptions { timestamps: Some((1, 2)), ..Default::default() };
        assert_eq!(data.bytes(), [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        let blocks = vec![(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)];
        assert_eq!(TcpOptions { sack: blocks.clone(), ..data }.bytes().len(), 40);
        assert_eq!(TcpOptions { sack: blocks, ..Default::default() }.bytes().len(), 36);
        assert!(TcpOptions::default().bytes().is_empty());
    }

    #[test]
    fn packets_longer_than_ip_allows_are_rejected() {
        let datagram = |src: IpAddr, payload_len| Frame {
            time: Time::ZERO,
            src,
            dst: src,
            id: 0,
            dscp: 0,
            ecn: 0,
            ttl: 64,
            payload: Payload::Udp(UdpFrame { payload_len, ..Default::default() }),
        };
        let frame = |n| datagram(Ipv4Addr::LOCALHOST.into(), n);
        assert_eq!(frame(65_507).headers().map(|(_, n)| n), Ok(65_535));
        assert_eq!(frame(65_508).headers(), Err(FrameError::TooLong { bytes: 65_536 }));
        assert_eq!(frame(u32::MAX).headers(), Err(FrameError::TooLong { bytes: u32::MAX as u64 + 28 }));
        let frame = |n| datagram(Ipv6Addr::LOCALHOST.into(), n);
        assert_eq!(frame(65_527).headers().map(|(_, n)| n), Ok(65_575));
        assert_eq!(frame(65_528).headers(), Err(FrameError::TooLong { bytes: 65_576 }));
        let mixed = Frame { dst: Ipv4Addr::LOCALHOST.into(), ..frame(1) };
        assert_eq!(mixed.headers(), Err(FrameError::TwoVersions));
    }
}
