//! ICMP reports of routers and hosts about packets.

use crate::Endpoint;
use units::Time;

/// An ICMP or ICMPv6 report about a TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpReport {
    /// Capture time of the report.
    pub time: Time,
    /// Number of the report's record in the capture, as in [`TcpPacket::number`](crate::TcpPacket::number).
    pub number: u32,
    /// Number of packets in the batch that precede the report.
    pub behind: usize,
    /// Source of the reported packet.
    pub from: Endpoint,
    /// Destination of the reported packet.
    pub to: Endpoint,
    pub says: IcmpMessage,
}

/// An ICMP message about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// The packet was too big for a link; the MTU of that link, bytes, unless the router predates RFC 1191
    /// and omits it.
    TooBig(Option<u32>),
    /// The packet cannot be delivered.
    Unreachable(Unreachable),
}

/// Why a packet cannot be delivered (RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No route to the network.
    Network,
    /// The host does not respond on its link.
    Host,
    /// The port is closed, or the protocol unknown.
    Port,
    /// Prohibited by a filter rule.
    Prohibited,
    /// Any other reason.
    Other,
}
