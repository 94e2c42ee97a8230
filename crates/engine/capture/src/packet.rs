//! A TCP packet as a capture shows it: what the flow tracker needs of it, without its bytes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::BitOr;
use units::Time;

/// An IP address; IPv4 as `::ffff:a.b.c.d`, so that it is one number to compare and hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u128);

impl Addr {
    /// From four bytes in network order.
    pub fn v4(octets: [u8; 4]) -> Addr {
        Addr(0xffff_0000_0000 | u32::from_be_bytes(octets) as u128)
    }

    /// From sixteen bytes in network order.
    pub fn v6(octets: [u8; 16]) -> Addr {
        Addr(u128::from_be_bytes(octets))
    }

    /// From the standard library's.
    pub fn of(ip: IpAddr) -> Addr {
        match ip {
            IpAddr::V4(ip) => Addr::v4(ip.octets()),
            IpAddr::V6(ip) => Addr::v6(ip.octets()),
        }
    }

    /// As the standard library knows it.
    pub fn ip(self) -> IpAddr {
        match self.0 >> 32 {
            0xffff => IpAddr::V4(Ipv4Addr::from_bits(self.0 as u32)),
            _ => IpAddr::V6(Ipv6Addr::from_bits(self.0)),
        }
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address.
    pub addr: Addr,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.addr.ip() {
            IpAddr::V4(a) => write!(f, "{a}:{}", self.port),
            IpAddr::V6(a) => write!(f, "[{a}]:{}", self.port),
        }
    }
}

/// TCP flags; combine with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// Acknowledge.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// Urgent.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo (RFC 3168 section 6.1).
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168 section 6.1).
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Whether all of `other`'s flags are set.
    pub fn has(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// A TCP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpPacket {
    /// When it was captured: nanoseconds since 1970.
    pub time: Time,
    /// Which record of the capture it is, counted from 1, as Wireshark's `frame.number` (of as many bits); that of the last
    /// fragment of one that came in several; 0 of one that stands in no capture.
    pub number: u32,
    /// From where.
    pub src: Endpoint,
    /// To where.
    pub dst: Endpoint,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; meaningful where `flags` has ACK.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// The window field, not yet scaled.
    pub window: u16,
    /// Bytes of payload, by the IP length (not by what was captured): up to 64 kB, and more with
    /// BIG TCP, where segmentation offload hands the capture many segments as one.
    pub len: u32,
    /// Bytes of IP and TCP headers and options, tunnel headers outside them not counted.
    pub header: u16,
    /// Bytes that link layer and tunnels add to each packet on this wire.
    pub outside: u16,
    /// IP identification (of IPv4; 0 for IPv6).
    pub id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The two ECN bits.
    pub ecn: u8,
    /// The IP fragments that it came in.
    pub fragments: PacketFragments,
    /// Options, as far as they were captured.
    pub options: PacketOptions,
}

/// The IP fragments of a packet (RFC 791 section 2.3, RFC 8200 section 4.5), or of the tunnel's packet around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFragments {
    /// How many were captured; 0 of a packet that came whole.
    pub count: u8,
    /// Some were not, though those of other packets were: it will not arrive.
    pub torn: bool,
    /// The largest packet that would have come whole, bytes of IP, to the 8 bytes that fragments are cut by.
    pub fits: u16,
}

/// TCP options of a captured packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketOptions {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub wscale: Option<u8>,
    /// SACK permitted.
    pub sack_ok: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// The first `sacks` are SACK blocks: first byte and the one after the last.
    pub sack: [(u32, u32); 4],
    /// How many.
    pub sacks: u8,
    /// The snap length cut options off.
    pub cut: bool,
}

impl PacketOptions {
    /// The SACK blocks.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..self.sacks as usize]
    }
}
