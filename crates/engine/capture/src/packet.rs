//! A TCP packet as a capture shows it: the header fields that the flow tracker needs.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::BitOr;
use units::Time;

/// An IP address. IPv4 is stored as `::ffff:a.b.c.d`, which makes every address a single integer to compare
/// and hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u128);

impl Addr {
    /// An IPv4 address from bytes in network order.
    pub fn v4(octets: [u8; 4]) -> Addr {
        Addr(0xffff_0000_0000 | u32::from_be_bytes(octets) as u128)
    }

    /// An IPv6 address from bytes in network order.
    pub fn v6(octets: [u8; 16]) -> Addr {
        Addr(u128::from_be_bytes(octets))
    }

    /// Converts from the standard library's type.
    pub fn of(ip: IpAddr) -> Addr {
        match ip {
            IpAddr::V4(ip) => Addr::v4(ip.octets()),
            IpAddr::V6(ip) => Addr::v6(ip.octets()),
        }
    }

    /// Converts to the standard library's type.
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
    pub addr: Addr,
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

    /// Whether all flags of `other` are set.
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
    /// Capture time, ns since 1970.
    pub time: Time,
    /// Number of the packet's record in the capture, from 1, as Wireshark's `frame.number` (also 32 bits);
    /// for a fragmented packet, that of its last fragment. 0 for a packet that is not from a capture.
    pub number: u32,
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    pub seq: u32,
    /// Acknowledgement number; valid if `flags` has ACK.
    pub ack: u32,
    pub flags: TcpFlags,
    /// The window field, not scaled.
    pub window: u16,
    /// Payload bytes, computed from the IP length and not from the captured bytes: up to 64 kB, and more
    /// with BIG TCP, where segmentation offload presents many segments as one packet.
    pub len: u32,
    /// Length of IP and TCP headers with options, bytes, without tunnel headers.
    pub header: u16,
    /// Bytes that link layer and tunnels add to each packet on this link.
    pub outside: u16,
    /// IP identification; 0 for IPv6.
    pub id: u16,
    /// Time to live (IPv4) or hop limit (IPv6).
    pub ttl: u8,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// The IP fragments in which the packet arrived.
    pub fragments: PacketFragments,
    /// TCP options, as far as they were captured.
    pub options: PacketOptions,
}

/// The IP fragments of a packet (RFC 791 section 2.3, RFC 8200 section 4.5), or of the tunnel packet around
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFragments {
    /// Number of captured fragments; 0 for an unfragmented packet.
    pub count: u8,
    /// Whether the packet was partially lost: some of its fragments are missing, although the capture holds
    /// all fragments of other packets.
    pub is_partial: bool,
    /// Largest packet that would not have been fragmented, bytes of IP, with the 8-byte granularity of
    /// fragments.
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
    /// SACK blocks, left and right edge of each; the first `sacks` elements are valid.
    pub sack: [(u32, u32); 4],
    /// Number of SACK blocks.
    pub sacks: u8,
    /// Whether the snap length cut options off.
    pub cut: bool,
}

impl PacketOptions {
    /// The SACK blocks.
    #[inline]
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..self.sacks as usize]
    }
}
