//! Tunnels over IP and UDP.

use super::ip::{self, Net};
use super::l2tp;
use super::tally::{Other, Tunnel};
use super::walk::{Layer, Walk};

/// The layer inside an IP packet that is neither TCP nor UDP.
pub(super) fn ip(w: &mut Walk, net: &Net) -> Result<Layer, Other> {
    match net.protocol {
        4 => {
            w.enter(if net.v6 { Tunnel::FourInSix } else { Tunnel::FourInFour });
            Ok(Layer::Ip)
        }
        41 => {
            w.enter(if net.v6 { Tunnel::SixInSix } else { Tunnel::SixInFour });
            Ok(Layer::Ip)
        }
        47 => gre(w),
        l2tp::PROTOCOL => {
            w.enter(Tunnel::L2tp);
            l2tp::session(w, w.at, w.at + net.payload as usize).ok_or(Other::Tunnelled)
        }
        50 => {
            w.enter(Tunnel::Esp);
            Err(Other::Esp)
        }
        ip::ICMP => Err(Other::Icmp),
        ip::ICMP6 => Err(Other::Icmp6),
        2 => Err(Other::Igmp),
        132 => Err(Other::Sctp),
        _ => Err(Other::Protocol),
    }
}

/// GRE with key, checksum and sequence number (RFC 2784, RFC 2890), and PPTP's variant (RFC 2637 section
/// 4.1).
fn gre(w: &mut Walk) -> Result<Layer, Other> {
    let flags = w.u16(w.at)?;
    let kind = w.u16(w.at + 2)?;
    let numbered = flags & 0x1000 != 0;
    let words = match flags & 7 {
        // Checksum (with RFC 1701's offset), key, sequence number.
        0 => (flags & 0xc000 != 0) as usize + (flags & 0x2000 != 0) as usize + numbered as usize,
        // Key, sequence number, acknowledgement number.
        1 => (flags & 0x2000 != 0) as usize + numbered as usize + (flags & 0x80 != 0) as usize,
        _ => return Err(Other::Bad),
    };
    w.at += 4 + 4 * words;
    if kind == 0x88be {
        return erspan(w, numbered);
    }
    w.enter(Tunnel::Gre);
    match kind {
        0x880b => Ok(Layer::Ppp),
        0x0800 | 0x86dd | 0x6558 | 0x8847 | 0x8848 => Ok(Layer::Type(kind)),
        _ => Err(Other::Tunnelled),
    }
}

/// A switch's copy of a frame. Version I has no header, version II one of 8 bytes; the sequence number
/// distinguishes them (draft-foschiano-erspan section 4). The encapsulation of the copy was not on the
/// packet's own link.
fn erspan(w: &mut Walk, numbered: bool) -> Result<Layer, Other> {
    if numbered {
        w.at += 8;
    }
    w.base = w.at;
    w.enter(Tunnel::Erspan);
    Ok(Layer::Ethernet)
}

/// The layer inside a UDP datagram; `None` unless it is a tunnel whose contents can be read.
pub(super) fn udp(w: &mut Walk) -> Result<Option<Layer>, Other> {
    let h: [u8; 8] = w.array(w.at)?;
    let [src, dst, len] = [0, 2, 4].map(|i| u16::from_be_bytes([h[i], h[i + 1]]));
    let at = w.at + 8;
    // All tunnels below have a header of at least 8 bytes.
    let Ok(b) = w.array::<8>(at) else { return Ok(None) };
    let next = match dst {
        // Linux used port 8472 before IANA assigned 4789; only datagrams that look like VXLAN are parsed as
        // such.
        4789 if b[0] & 0x08 != 0 => vxlan(w, at),
        8472 if b[..4] == [8, 0, 0, 0] => vxlan(w, at),
        6081 if b[0] >> 6 == 0 => geneve(w, at, b),
        2152 => gtp(w, at, b)?,
        _ if dst == l2tp::PORT || src == l2tp::PORT => {
            let layer = l2tp::udp(w, at, w.at + len as usize);
            if layer.is_some() {
                w.enter(Tunnel::L2tp);
            }
            layer
        }
        _ => None,
    };
    if next.is_some() {
        w.guessed = true;
        return Ok(next);
    }
    if dst == 4500 || src == 4500 {
        // RFC 3948 section 2: four zero bytes indicate IKE, a single byte 0xff is a NAT keepalive.
        if b[..4] != [0; 4] {
            w.enter(Tunnel::EspInUdp);
        }
    } else if wireguard(b, len) {
        w.enter(Tunnel::WireGuard);
    }
    Ok(None)
}

/// VXLAN (RFC 7348 section 5).
fn vxlan(w: &mut Walk, at: usize) -> Option<Layer> {
    w.at = at + 8;
    w.enter(Tunnel::Vxlan);
    Some(Layer::Ethernet)
}

/// Geneve (RFC 8926 section 3.4).
fn geneve(w: &mut Walk, at: usize, b: [u8; 8]) -> Option<Layer> {
    let kind = u16::from_be_bytes([b[2], b[3]]);
    if !matches!(kind, 0x6558 | 0x0800 | 0x86dd) {
        return None;
    }
    w.at = at + 8 + (b[0] & 0x3f) as usize * 4;
    w.enter(Tunnel::Geneve);
    Some(Layer::Type(kind))
}

/// GTP-U (3GPP TS 29.281 section 5): version 1; message type 255 carries a user's packet.
fn gtp(w: &mut Walk, at: usize, b: [u8; 8]) -> Result<Option<Layer>, Other> {
    if b[0] & 0xf0 != 0x30 || b[1] != 255 {
        return Ok(None);
    }
    let mut at = at + 8;
    if b[0] & 7 != 0 {
        // Sequence number, N-PDU number, and type of the first extension header. Each extension header starts
        // with its length in units of four bytes and ends with the type of the next.
        let [_, _, _, mut next] = w.array(at)?;
        at += 4;
        while next != 0 && b[0] & 4 != 0 {
            let [len] = w.array(at)?;
            if len == 0 {
                return Ok(None);
            }
            at += len as usize * 4;
            [next] = w.array(at - 1)?;
        }
    }
    w.at = at;
    w.enter(Tunnel::GtpU);
    Ok(Some(Layer::Ip))
}

/// Whether a datagram looks like WireGuard: type, three zero bytes, and the length for that type; data is
/// padded to 16 bytes (the WireGuard paper, section 5.4).
fn wireguard(b: [u8; 8], udp_len: u16) -> bool {
    let len = udp_len.saturating_sub(8);
    match [b[0], b[1], b[2], b[3]] {
        [1, 0, 0, 0] => len == 148,
        [2, 0, 0, 0] => len == 92,
        [3, 0, 0, 0] => len == 64,
        [4, 0, 0, 0] => len >= 32 && len.is_multiple_of(16),
        _ => false,
    }
}
