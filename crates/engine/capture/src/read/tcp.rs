//! TCP headers (RFC 9293 section 3.1), and ICMP reports about TCP packets.

use super::ip::{self, Net};
use super::tally::Other;
use super::walk::Walk;
use crate::icmp::{IcmpMessage, IcmpReport, Unreachable};
use crate::{Addr, Endpoint, PacketFragments, PacketOptions, TcpFlags, TcpPacket};
use units::Time;

/// Appends the packet whose TCP header is at `w.at`.
#[inline(always)]
pub(super) fn packet(time: Time, net: &Net, w: &Walk, packets: &mut Vec<TcpPacket>) -> Result<(), Other> {
    // Checksum and urgent pointer may be cut off by the snap length.
    let h: &[u8; 16] = w.header(w.at)?;
    let header = (h[12] >> 4) as usize * 4;
    if header < 20 || header as u32 > net.payload {
        return Err(Other::Bad);
    }
    let end = w.at + header;
    let kept = w.bytes.get(w.at + 20..end.min(w.bytes.len())).unwrap_or_default();
    let packet = push_empty(packets);
    packet.time = time;
    packet.src = Endpoint { addr: net.src, port: u16::from_be_bytes([h[0], h[1]]) };
    packet.dst = Endpoint { addr: net.dst, port: u16::from_be_bytes([h[2], h[3]]) };
    packet.seq = u32::from_be_bytes([h[4], h[5], h[6], h[7]]);
    packet.ack = u32::from_be_bytes([h[8], h[9], h[10], h[11]]);
    packet.flags = TcpFlags(h[13]);
    packet.window = u16::from_be_bytes([h[14], h[15]]);
    packet.len = net.payload - header as u32;
    packet.header = (end - net.start).min(u16::MAX as usize) as u16;
    packet.outside = net.start.saturating_sub(w.base).min(u16::MAX as usize) as u16;
    packet.id = net.id;
    packet.ttl = net.ttl;
    packet.ecn = net.ecn;
    if header > 20 {
        options(kept, header - 20, &mut packet.options);
    }
    Ok(())
}

/// Appends an empty packet, to be filled in place: constructing a packet and then moving it takes twice as
/// long. The empty packet is copied from a static, because the compiler writes [`TcpPacket::default`] via the
/// stack.
#[inline]
fn push_empty(packets: &mut Vec<TcpPacket>) -> &mut TcpPacket {
    let at = packets.len();
    packets.extend_from_slice(std::slice::from_ref(&EMPTY));
    &mut packets[at]
}

const NO_ENDPOINT: Endpoint = Endpoint { addr: Addr(0), port: 0 };
static EMPTY: TcpPacket = TcpPacket {
    time: Time::ZERO,
    number: 0,
    src: NO_ENDPOINT,
    dst: NO_ENDPOINT,
    seq: 0,
    ack: 0,
    flags: TcpFlags(0),
    window: 0,
    len: 0,
    header: 0,
    outside: 0,
    id: 0,
    ttl: 0,
    ecn: 0,
    fragments: PacketFragments { count: 0, is_partial: false, fits: 0 },
    options: PacketOptions {
        mss: None,
        wscale: None,
        sack_ok: false,
        timestamps: None,
        sack: [(0, 0); 4],
        sacks: 0,
        cut: false,
    },
};

/// Parses options of `len` bytes, of which `bytes` were captured.
#[inline(always)]
fn options(bytes: &[u8], len: usize, o: &mut PacketOptions) {
    // Fast path for nearly every segment: two no-operations and timestamps (RFC 7323 appendix A).
    if let ([1, 1, 8, 10, value @ ..], 12) = (bytes, len)
        && let Some((a, b)) = pair(value)
    {
        o.timestamps = Some((a, b));
        return;
    }
    any_options(bytes, len, o);
}

#[inline(never)]
fn any_options(bytes: &[u8], len: usize, o: &mut PacketOptions) {
    o.cut = bytes.len() < len;
    let mut rest = bytes;
    while let [kind, after @ ..] = rest {
        match kind {
            0 => break,
            1 => rest = after,
            _ => {
                let Some((&len, _)) = after.split_first() else { break };
                if len < 2 || len as usize > rest.len() {
                    break;
                }
                option(o, *kind, &rest[2..len as usize]);
                rest = &rest[len as usize..];
            }
        }
    }
}

fn option(o: &mut PacketOptions, kind: u8, value: &[u8]) {
    match (kind, value) {
        (2, &[a, b]) => o.mss = Some(u16::from_be_bytes([a, b])),
        (3, &[scale]) => o.wscale = Some(scale),
        (4, []) => o.sack_ok = true,
        (8, _) if value.len() == 8 => o.timestamps = pair(value),
        // SACK blocks (RFC 2018 section 3).
        (5, _) => {
            for (to, block) in o.sack.iter_mut().zip(value.chunks_exact(8)) {
                *to = pair(block).unwrap_or_default();
                o.sacks += 1;
            }
        }
        _ => {}
    }
}

/// Two 32-bit integers.
fn pair(b: &[u8]) -> Option<(u32, u32)> {
    let b: &[u8; 8] = b.first_chunk()?;
    Some((u32::from_be_bytes([b[0], b[1], b[2], b[3]]), u32::from_be_bytes([b[4], b[5], b[6], b[7]])))
}

/// Reads an ICMP report about a TCP packet: "fragmentation needed" (RFC 1191 section 4), "packet too big"
/// (RFC 4443 section 3.2), and destination unreachable (RFC 792, RFC 4443 section 3.1). `behind`: number of
/// packets before it in the batch.
pub(super) fn report(time: Time, behind: usize, net: &Net, w: &Walk) -> Option<IcmpReport> {
    let b: [u8; 8] = w.array(w.at).ok()?;
    let too_big = |mtu: u32| IcmpMessage::TooBig((mtu > 0).then_some(mtu));
    let says = match (net.protocol, b[0], b[1]) {
        (ip::ICMP, 3, 4) => too_big(u16::from_be_bytes([b[6], b[7]]).into()),
        (ip::ICMP6, 2, _) => too_big(u32::from_be_bytes([b[4], b[5], b[6], b[7]])),
        (ip::ICMP, 3, code) => IcmpMessage::Unreachable(match code {
            0 | 6 | 11 => Unreachable::Network,
            1 | 7 | 12 => Unreachable::Host,
            3 => Unreachable::Port,
            9 | 10 | 13 => Unreachable::Prohibited,
            _ => Unreachable::Other,
        }),
        (ip::ICMP6, 1, code) => IcmpMessage::Unreachable(match code {
            0 => Unreachable::Network,
            3 => Unreachable::Host,
            4 => Unreachable::Port,
            1 | 5 | 6 => Unreachable::Prohibited,
            _ => Unreachable::Other,
        }),
        _ => return None,
    };
    let (from, to, protocol, at) = quoted(w, w.at + 8)?;
    if protocol != ip::TCP {
        return None;
    }
    let [src, dst] = [w.u16(at).ok()?, w.u16(at + 2).ok()?];
    let (from, to) = (Endpoint { addr: from, port: src }, Endpoint { addr: to, port: dst });
    Some(IcmpReport { time, number: 0, behind, from, to, says })
}

/// Addresses, protocol, and offset of the transport header of the packet that an ICMP message quotes, usually
/// truncated.
fn quoted(w: &Walk, at: usize) -> Option<(Addr, Addr, u8, usize)> {
    let mut inner = w.look(at);
    let net = ip::parse(&mut inner).ok()?;
    net.fragment.is_none_or(|f| f.offset == 0).then_some((net.src, net.dst, net.protocol, inner.at))
}
