//! A packet's headers as data, and as the bytes of RFC 791, RFC 8200, RFC 9293, RFC 768, RFC 792 and RFC 4443.

mod ip;

use crate::icmp::{IcmpReport, IcmpSays};
use crate::packet::{Addr, Endpoint, PacketFragments, PacketOptions, TcpFlags, TcpPacket};
use std::net::IpAddr;
use units::Time;

const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// A protocol number.
const UDP: u8 = 17;
/// What a TCP header can hold of options (RFC 9293 section 3.1: data offset of at most 15 words).
const MOST_OPTIONS: usize = 40;

/// An IP packet whose payload is zeros. Both addresses are of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it was seen.
    pub time: Time,
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// IP identification; IPv6 has none.
    pub id: u16,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// The two ECN bits.
    pub ecn: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// What it carries.
    pub payload: Payload,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(TcpFrame),
    /// A UDP datagram.
    Udp(UdpFrame),
    /// ICMP: a packet was too big.
    TooBig(TooBigFrame),
}

/// ICMP "fragmentation needed" (RFC 792 type 3 code 4; RFC 1191 section 4), ICMPv6 "packet too big" (RFC 4443 section 3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TooBigFrame {
    /// The MTU of the next hop, bytes.
    pub mtu: u32,
    /// The packet's IP header and the first bytes behind it, ports and sequence number.
    pub quoted: Vec<u8>,
}

/// A TCP segment's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpFrame {
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// The window field: already scaled down, except in a SYN.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Bytes of payload.
    pub payload_len: u32,
}

/// TCP options, written in the order and with the padding that Linux uses.
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
    /// SACK blocks, first byte and the one after the last (RFC 2018 section 3); those that do not
    /// fit (beyond three with timestamps, four without) are left out.
    pub sack: Vec<(u32, u32)>,
}

/// A UDP datagram's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpFrame {
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Bytes of payload.
    pub payload_len: u32,
}

/// Why a frame has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Headers and payload are more than an IP packet holds: 65,535 bytes, of IPv6 behind its own header.
    #[error("a packet of {bytes} bytes is longer than IP allows (65535, of IPv6 and its header)")]
    TooLong {
        /// How many bytes they are.
        bytes: u64,
    },
    /// One address is of IPv4, the other of IPv6.
    #[error("a packet between an IPv4 and an IPv6 address")]
    TwoVersions,
}

impl TcpOptions {
    /// The SACK blocks that the header has room for.
    fn fitting(&self) -> &[(u32, u32)] {
        let before = TcpOptions { sack: Vec::new(), ..*self }.bytes().len();
        let room = (MOST_OPTIONS - before).saturating_sub(4) / 8;
        &self.sack[..self.sack.len().min(room)]
    }

    /// The options' bytes, a multiple of four, 40 at most.
    fn bytes(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(MOST_OPTIONS);
        if let Some(mss) = self.mss {
            b.extend([2, 4]);
            b.extend(mss.to_be_bytes());
        }
        // SACK permitted takes the place of the two NOPs before timestamps, as in Linux.
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
        let blocks = if self.sack.is_empty() { &[] } else { self.fitting() };
        if !blocks.is_empty() {
            b.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                b.extend(start.to_be_bytes());
                b.extend(end.to_be_bytes());
            }
        }
        debug_assert!(b.len() % 4 == 0 && b.len() <= MOST_OPTIONS);
        b
    }
}

/// The sum of 16-bit words in one's complement (RFC 1071), not yet inverted; a last odd byte has a zero behind it.
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
    /// What a reader makes of a TCP segment's headers, as [`CaptureReader`](crate::CaptureReader) does of their bytes; `None` of
    /// a datagram.
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
        for (block, from) in options.sack.iter_mut().zip(o.fitting()) {
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

    /// The message of a router at `router` to whoever sent this packet: it is too big for a next hop that carries
    /// `mtu` bytes.
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

    /// What a reader makes of an ICMP message about a TCP packet, as [`CaptureReader`](crate::CaptureReader) does.
    pub fn too_big(&self) -> Option<IcmpReport> {
        let Payload::TooBig(TooBigFrame { mtu, quoted }) = &self.payload else { return None };
        let [from, to] = ip::ends(quoted)?;
        let says = IcmpSays::TooBig(Some(*mtu).filter(|mtu| *mtu > 0));
        Some(IcmpReport { time: self.time, number: 0, behind: 0, from, to, says })
    }

    /// A captured TCP packet as headers: the reverse of [`Frame::seen`].
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

    /// The headers' bytes, checksums right for a payload of zeros, and the packet's whole length.
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
        // IPv4's length is the packet's, IPv6's what follows the header (RFC 8200 section 3).
        let most = u64::from(u16::MAX) - if v6 { 0 } else { header as u64 };
        let len = u16::try_from(segment).ok().filter(|_| segment <= most);
        let len = len.ok_or(FrameError::TooLong { bytes })?;
        if let Payload::Udp(_) = self.payload {
            transport[4..6].copy_from_slice(&len.to_be_bytes());
        }
        // Zeros of payload add nothing; ICMP of IPv4 has no pseudo-header.
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

/// With a checksum of zero.
fn tcp_header(tcp: &TcpFrame) -> Vec<u8> {
    let options = tcp.options.bytes();
    let words = (TCP_HEADER + options.len()) / 4;
    let mut b = Vec::with_capacity(TCP_HEADER + MOST_OPTIONS);
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

/// With a length and checksum of zero.
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
    fn options_are_laid_out_as_linux_does() {
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
    fn what_ip_cannot_hold_is_refused() {
        let of = |src: IpAddr, payload_len| Frame {
            time: Time::ZERO,
            src,
            dst: src,
            id: 0,
            dscp: 0,
            ecn: 0,
            ttl: 64,
            payload: Payload::Udp(UdpFrame { payload_len, ..Default::default() }),
        };
        let frame = |n| of(Ipv4Addr::LOCALHOST.into(), n);
        assert_eq!(frame(65_507).headers().map(|(_, n)| n), Ok(65_535));
        assert_eq!(frame(65_508).headers(), Err(FrameError::TooLong { bytes: 65_536 }));
        assert_eq!(frame(u32::MAX).headers(), Err(FrameError::TooLong { bytes: u32::MAX as u64 + 28 }));
        let frame = |n| of(Ipv6Addr::LOCALHOST.into(), n);
        assert_eq!(frame(65_527).headers().map(|(_, n)| n), Ok(65_575));
        assert_eq!(frame(65_528).headers(), Err(FrameError::TooLong { bytes: 65_576 }));
        let mixed = Frame { dst: Ipv4Addr::LOCALHOST.into(), ..frame(1) };
        assert_eq!(mixed.headers(), Err(FrameError::TwoVersions));
    }
}
