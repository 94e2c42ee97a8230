//! The simulator's packets as a capture shows them.

use capture::{Addr, Endpoint, Frame, PacketOptions, Payload, TcpFlags, TcpFrame, TcpOptions, TcpPacket};
use scenario::Scenario;
use std::net::{IpAddr, Ipv4Addr};
use transport::Segment;
use units::Time;

const SERVER_PORT: u16 = 5201;
const CLIENT_PORT: u16 = 40_000;
/// The most payload of a super-packet: with its headers it must fit the IP length.
const MOST_OFFLOADED: u32 = 64_000;

/// What SYNs of each host announce.
#[derive(Clone, Debug)]
pub struct Wire {
    mss: Vec<u16>,
    scale: Vec<u8>,
}

impl Wire {
    /// Of the scenario's hosts.
    pub fn new(scenario: &Scenario) -> Wire {
        let stacks = || scenario.hosts.iter().map(|h| &h.stack);
        // `tcp_select_initial_window`: enough for the largest buffer there may ever be.
        let scale = |n: u64| (n.max(1).ilog2().saturating_sub(15)).min(14) as u8;
        let buffer = |s: &transport::Stack| s.receive_buffer.map_or(6 << 20, |b| b.get());
        Wire {
            mss: stacks().map(|s| s.mss.map_or(1460, |n| n.min(65_495) as u16)).collect(),
            scale: stacks().map(|s| scale(buffer(s).max(s.receive_window.map_or(0, |w| w.get())))).collect(),
        }
    }

    /// A packet between hosts `from` and `to` as it is captured at `now`.
    pub fn packet(&self, now: Time, p: &path::Packet<Segment>, from: usize, to: usize) -> TcpPacket {
        let seg = &p.body;
        let (src, dst) = ends(p.flow, from, to);
        let syn = seg.flags.has(transport::Flags::SYN);
        let ack = seg.flags.has(transport::Flags::ACK);
        // Stream offsets become sequence numbers, one up for the SYN (RFC 9293 section 3.4).
        let number = |offset: u64| (offset as u32).wrapping_add(1);
        let mut options = PacketOptions {
            timestamps: (seg.ts_val != 0).then_some((seg.ts_val, seg.ts_ecr)),
            ..PacketOptions::default()
        };
        // RFC 7323 section 2.2: a SYN's window is not scaled.
        let mut window = seg.window;
        if syn {
            (options.mss, options.wscale, options.sack_ok) =
                (Some(self.mss[from]), Some(self.scale[from]), seg.sack_ok);
        } else {
            window >>= self.scale[from];
        }
        for ((start, end), block) in seg.sack_ranges().zip(&mut options.sack) {
            *block = (number(start), number(end));
            options.sacks += 1;
        }
        TcpPacket {
            time: now,
            src,
            dst,
            seq: if syn { 0 } else { number(seg.seq) },
            ack: if ack { number(seg.ack) } else { 0 },
            flags: TcpFlags(seg.flags.0),
            window: window.min(65_535) as u16,
            len: seg.len,
            header: (p.size - seg.len) as u16,
            outside: 0,
            id: p.id as u16,
            ttl: 64,
            ecn: p.ecn as u8,
            options,
        }
    }
}

/// Addresses and ports of what has this number ([`sim::Tap::packet`]): host n is 10.0.0.0 + n + 1, the end
/// that opens connection c has port 40000 + c.
pub fn ends(number: u32, from: usize, to: usize) -> (Endpoint, Endpoint) {
    let client = CLIENT_PORT.wrapping_add((number / 2) as u16);
    let (sport, dport) = if number.is_multiple_of(2) { (client, SERVER_PORT) } else { (SERVER_PORT, client) };
    let addr = |host: usize| Addr::v4((Ipv4Addr::new(10, 0, 0, 1).to_bits() + host as u32).to_be_bytes());
    (Endpoint { addr: addr(from), port: sport }, Endpoint { addr: addr(to), port: dport })
}

/// Lengthens `first` by `next` where segmentation offload (or the receiver's) would have made one packet
/// of both; false: it would not.
pub fn offload(first: &mut TcpPacket, next: &TcpPacket) -> bool {
    let fits = first.src == next.src
        && first.dst == next.dst
        && first.len > 0
        && next.len > 0
        && first.seq.wrapping_add(first.len) == next.seq
        && first.ack == next.ack
        && first.window == next.window
        && first.ecn == next.ecn
        && first.options == next.options
        // PSH, and what is less than a segment, end a burst.
        && !first.flags.has(TcpFlags::PSH)
        && first.len.is_multiple_of(next.len.max(1)) | (next.len < first.len)
        && first.len + next.len <= MOST_OFFLOADED;
    if fits {
        first.len += next.len;
        first.flags = TcpFlags(first.flags.0 | next.flags.0);
    }
    fits
}

/// The same packet with headers to write down.
pub fn frame(p: &TcpPacket) -> Frame {
    let v4 = |e: Endpoint| match e.addr.ip() {
        IpAddr::V4(a) => a,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let o = &p.options;
    let options = TcpOptions {
        mss: o.mss,
        wscale: o.wscale,
        sack_ok: o.sack_ok,
        timestamps: o.timestamps,
        sack: o.sack_blocks().to_vec(),
    };
    let tcp = TcpFrame {
        sport: p.src.port,
        dport: p.dst.port,
        seq: p.seq,
        ack: p.ack,
        flags: p.flags,
        window: p.window,
        options,
        payload_len: p.len,
    };
    Frame {
        time: p.time,
        src: v4(p.src),
        dst: v4(p.dst),
        id: p.id,
        dscp: 0,
        ecn: p.ecn,
        ttl: p.ttl,
        payload: Payload::Tcp(tcp),
    }
}
