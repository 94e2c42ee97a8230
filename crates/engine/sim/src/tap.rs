//! What a caller may watch of a run while it is played.

use path::Packet;
use transport::{Segment, Tcp};
use units::Time;

/// Sees every packet where a capture on a host's interfaces would: when it leaves the host it
/// begins at, and when it arrives at a host, be it its destination or one that hands it on (what
/// that host sends on is not shown again; it leaves at the same time).
///
/// Called in order of time, and for packets of one time in the order they were handled. The packet
/// is as it is there: marked ([`Packet::ecn`], [`Packet::dscp`]), as large as the tunnels it is
/// still in make it, one fragment of several ([`Packet::fragment`], each shown for itself) or a
/// copy (the same [`Packet::id`]). Packets that are lost are shown only where they left.
pub trait Tap {
    /// `host` sent (`outgoing`) or received this packet, which goes from host `from` to host `to`;
    /// all three are indexes of the scenario's hosts. With relays, `from` and `to` are the ends of
    /// the connection the packet belongs to. [`Packet::flow`] tells connections and directions
    /// apart: connection c has 2c from the end that opened it and 2c + 1 back; datagram flows
    /// have numbers after those.
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        packet: &Packet<Segment>,
        from: usize,
        to: usize,
    );

    /// A host sees a message on its way to the sender of a packet that was too big: it passes all hosts at the same
    /// time, that of the packet.
    fn too_big(&mut self, now: Time, host: usize, refusal: &SizeRefusal<'_>) {
        let _ = (now, host, refusal);
    }

    /// Whether [`Tap::stage`] is to be called; asked once, before the run.
    fn watches_stages(&self) -> bool {
        false
    }

    /// A packet left a stage of the path. In order of time for each stage, not among stages.
    fn stage(&mut self, passage: Passage<'_>) {
        let _ = passage;
    }

    /// An end of a connection at a point of the time series; numbered as [`Packet::flow`]: what end n
    /// sends has the number n.
    fn end(&mut self, now: Time, number: u32, end: &Tcp) {
        let _ = (now, number, end);
    }
}

/// A packet between two stages of a link, or between the last and the host.
pub struct Passage<'a> {
    /// When it left the stage.
    pub now: Time,
    /// The stage that it left, named as in the result's elements.
    pub stage: &'a str,
    /// As it was then.
    pub packet: &'a Packet<Segment>,
    /// Ends of the connection, as in [`Tap::packet`].
    pub from: usize,
    /// The other.
    pub to: usize,
}

/// A router's message that a packet was too big (ICMP "fragmentation needed", RFC 1191).
pub struct SizeRefusal<'a> {
    /// The packet.
    pub packet: &'a Packet<Segment>,
    /// What would have fit, bytes of IP.
    pub mtu: u32,
    /// The router, which sent the packet on to where it did not fit; the packet's sender where that is a link of its
    /// own.
    pub router: usize,
    /// Who sent the packet, and for whom it was, as in [`Tap::packet`].
    pub from: usize,
    /// The other.
    pub to: usize,
}
