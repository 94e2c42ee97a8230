//! What routers and hosts report of packets.

use crate::Endpoint;
use units::Time;

/// An ICMP or ICMPv6 report about a TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpReport {
    /// When the report was captured.
    pub time: Time,
    /// Which record of the capture it is, as of a packet ([`TcpPacket::number`]).
    pub number: u32,
    /// How many packets of its batch came before it.
    pub behind: usize,
    /// Where the packet came from.
    pub from: Endpoint,
    /// Where it was to go.
    pub to: Endpoint,
    /// What it says of it.
    pub says: IcmpSays,
}

/// What ICMP says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpSays {
    /// It was too big for a link on its way; what that would take, bytes of IP (routers older than RFC 1191 do not say).
    TooBig(Option<u32>),
    /// It cannot be delivered.
    Unreachable(Unreachable),
}

/// Why a packet cannot be delivered (RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route.
    Network,
    /// The host does not answer on its link.
    Host,
    /// Nothing takes it at the host.
    Port,
    /// A rule forbids it.
    Prohibited,
    /// Another reason.
    Other,
}
