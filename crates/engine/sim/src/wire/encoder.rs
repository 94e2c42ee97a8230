//! Conversion of a simulated packet to packet headers.

use capture::{Frame, Payload, TcpFlags, TcpFrame, TcpOptions, UdpFrame};
use path::Packet;
use scenario::Scenario;
use std::net::IpAddr;
use transport::{Segment, Stack};
use units::Time;

const SERVER_PORT: u16 = 5201;
/// Port of the client of connection 0; other clients add their connection's number.
const CLIENT_PORT: u16 = 40_000;
const MTU: u32 = 1500;

/// Encodes the packets of one scenario.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Window scale of each host, as announced in its SYNs.
    scale: Vec<u8>,
    /// Addresses of each host; flows use the first.
    addresses: Vec<Vec<IpAddr>>,
}

impl Encoder {
    /// An encoder for a scenario's packets.
    pub fn new(scenario: &Scenario) -> Encoder {
        // The scale is the same for every path.
        let scale = |stack: &Stack| stack.own_limits(MTU, None).offer.scale.unwrap_or(0);
        Encoder {
            scale: scenario.hosts.iter().map(|h| scale(&h.stack)).collect(),
            addresses: (0..scenario.hosts.len()).map(|host| scenario.addresses(host)).collect(),
        }
    }

    /// The headers of a packet from host `from` to host `to`, the ends of its connection (as in
    /// [`crate::Tap`]), as seen at `now`. `None` for a fragment that is not the first, since it has no TCP
    /// header.
    pub fn frame(&self, now: Time, packet: &Packet<Segment>, from: usize, to: usize) -> Option<Frame> {
        if packet.fragment.is_some_and(|f| f.index > 0) {
            return None;
        }
        let segment = &packet.body;
        // Datagrams have no flags, and a number per flow instead of per end.
        let udp = segment.flags == transport::Flags::default();
        // Answers have the number after that of their flow.
        let back = udp && segment.ack > 0;
        let (sport, dport) = ports(packet.flow - back as u32, udp);
        let (sport, dport) = if back { (dport, sport) } else { (sport, dport) };
        let payload = if udp {
            Payload::Udp(UdpFrame { sport, dport, payload_len: segment.len })
        } else {
            Payload::Tcp(tcp(segment, sport, dport, self.scale[from]))
        };
        Some(Frame {
            time: now,
            src: self.addresses[from][0],
            dst: self.addresses[to][0],
            id: packet.id as u16,
            dscp: packet.dscp,
            ecn: packet.ecn as u8,
            ttl: 64,
            payload,
        })
    }

    /// The ICMP error to a packet's sender: the packet was too big for the link after host `router`, which
    /// carries `mtu` bytes. Its source is that host. If the host is the sender itself or has no address of
    /// the packet's IP version, the source is the packet's destination, as on the kernel's clock. `None`
    /// where [`Encoder::frame`] returns it.
    pub fn too_big(
        &self,
        now: Time,
        packet: &Packet<Segment>,
        (router, mtu): (usize, u32),
        from: usize,
        to: usize,
    ) -> Option<Frame> {
        let frame = self.frame(now, packet, from, to)?;
        let own = self.addresses[router].iter().find(|a| a.is_ipv4() == frame.src.is_ipv4());
        let own = own.filter(|_| router != from).copied().unwrap_or(frame.dst);
        frame.refused(own, mtu).ok()
    }
}

/// Source and destination port of packets with this directed flow number. For TCP it is the number of an end,
/// even for clients and odd for servers; for datagrams (`udp`) it is the number of the flow.
pub fn ports(number: u32, udp: bool) -> (u16, u16) {
    let (connection, opens) = if udp { (number, true) } else { (number / 2, number.is_multiple_of(2)) };
    let client = CLIENT_PORT.wrapping_add(connection as u16);
    if opens { (client, SERVER_PORT) } else { (SERVER_PORT, client) }
}

/// The TCP header of a segment. Stream offsets become sequence numbers modulo 2^32, plus one for the SYN (RFC
/// 9293 section 3.4).
fn tcp(segment: &Segment, sport: u16, dport: u16, scale: u8) -> TcpFrame {
    let syn = segment.flags.has(transport::Flags::SYN);
    let ack = segment.flags.has(transport::Flags::ACK);
    let number = |offset: u64| (offset as u32).wrapping_add(1);
    let offered = segment.syn_options();
    let options = TcpOptions {
        mss: offered.mss,
        wscale: offered.scale,
        sack_ok: syn && segment.sack_ok,
        timestamps: (segment.ts_val != 0).then_some((segment.ts_val, segment.ts_ecr)),
        sack: segment.sack_ranges().map(|(start, end)| (number(start), number(end))).collect(),
    };
    // A SYN's window is not scaled (RFC 7323 section 2.2).
    let window = if syn { segment.window } else { segment.window >> scale };
    TcpFrame {
        sport,
        dport,
        seq: if syn { 0 } else { number(segment.seq) },
        ack: if ack { number(segment.ack) } else { 0 },
        flags: TcpFlags(segment.flags.0),
        window: window.min(65_535) as u16,
        options,
        payload_len: segment.len,
    }
}
