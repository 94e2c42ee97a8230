//! Observation of a run while it is simulated.

use path::Packet;
use transport::{Segment, Tcp};
use units::Time;

/// Sees every packet as captures on the hosts' interfaces would: when it leaves its source host, and when it
/// arrives at a host, its destination or one that forwards it. A forwarded packet is not shown again when it
/// leaves, as it leaves at the same time.
///
/// Calls are in order of time; packets of the same time come in the order in which they were handled. A
/// packet is shown in its present state: with its marks ([`Packet::ecn`], [`Packet::dscp`]), with the headers
/// of tunnels that it is in, as a single fragment ([`Packet::fragment`]) or as a duplicate (same
/// [`Packet::id`]). Lost packets are shown only at their source.
pub trait Tap {
    /// `host` sent (`outgoing`) or received a packet that goes from host `from` to host `to`; all are indexes
    /// of the scenario's hosts. With relays, `from` and `to` are the ends of the packet's connection.
    /// [`Packet::flow`] identifies connection and direction: connection c uses 2c from the end that opened
    /// it, and 2c + 1 from the other; datagram flows have the numbers after those.
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        packet: &Packet<Segment>,
        from: usize,
        to: usize,
    );

    /// A host sees an ICMP error on its way to the sender of a packet that was too big. The message passes
    /// all hosts at the time of the packet.
    fn too_big(&mut self, now: Time, host: usize, refusal: &SizeRefusal<'_>) {
        let _ = (now, host, refusal);
    }

    /// Whether to call [`Tap::stage`]; queried once, before the run.
    fn watches_stages(&self) -> bool {
        false
    }

    /// A packet left a stage of the path. Calls are in order of time per stage, but not across stages.
    fn stage(&mut self, passage: Passage<'_>) {
        let _ = passage;
    }

    /// The state of a connection end at a point of the time series. Ends are numbered as in [`Packet::flow`]:
    /// end n sends packets with number n.
    fn end(&mut self, now: Time, number: u32, end: &Tcp) {
        let _ = (now, number, end);
    }
}

/// A packet that leaves a stage of a link.
pub struct Passage<'a> {
    /// Time at which the packet left the stage.
    pub now: Time,
    /// Name of the stage, as in the result's elements.
    pub stage: &'a str,
    /// The packet as it left.
    pub packet: &'a Packet<Segment>,
    /// Host at the sending end of the connection, as in [`Tap::packet`].
    pub from: usize,
    /// Host at the receiving end of the connection.
    pub to: usize,
}

/// An ICMP error that a packet was too big ("fragmentation needed", RFC 1191).
pub struct SizeRefusal<'a> {
    /// The packet that was too big.
    pub packet: &'a Packet<Segment>,
    /// Largest IP packet that would have fit, bytes.
    pub mtu: u32,
    /// The router: the host that forwarded the packet onto the link it does not fit, which is the packet's
    /// source where the link is its own.
    pub router: usize,
    /// Source host of the packet, as in [`Tap::packet`].
    pub from: usize,
    /// Destination host of the packet.
    pub to: usize,
}
