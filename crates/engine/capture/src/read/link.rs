//! Link layers, with numbers of the registry of link types (draft-ietf-opsawg-pcaplinktype).

mod hdlc;
mod nflog;
mod pflog;
mod ppi;
mod radiotap;
pub(super) mod wifi;

use super::tally::{Other, Tunnel};
use super::walk::{Layer, Walk};

macro_rules! links {
    ($($number:pat => $name:literal, $begin:expr;)*) => {
        /// Name of a link type, as in [`super::FileInfo::links`].
        pub(super) fn name(link: u16) -> String {
            match link {
                $($number => $name.into(),)*
                other => format!("link type {other}"),
            }
        }

        /// Starts parsing a record of this link type at `w.at`; returns the first layer.
        #[inline]
        pub(super) fn outermost(w: &mut Walk, link: u16) -> Result<Layer, Other> {
            match link {
                $($number => $begin(w),)*
                _ => Err(Other::Link),
            }
        }
    };
}

pub(super) const ETHERNET: u16 = 1;

links! {
    0 => "null", null;
    ETHERNET => "ethernet", |_| Ok(Layer::Ethernet);
    9 | 50 => "ppp", hdlc::or_ppp;
    // 12 and 14 are raw IP in memory on some systems, which a few programs also wrote to files.
    12 | 14 | 101 | 228 | 229 => "raw-ip", |_| Ok(Layer::Ip);
    104 => "cisco-hdlc", hdlc::header;
    105 => "802.11", wifi::bare;
    108 => "loop", null;
    // Packet type, ARPHRD type, address length, address of 8, EtherType.
    113 => "linux-cooked", |w| cooked(w, 14, 16);
    117 => "pflog", pflog::header;
    127 => "802.11-radiotap", radiotap::header;
    ppi::NUMBER => "ppi", ppi::header;
    197 => "erf", |_| Err(Other::Link);
    239 => "nflog", nflog::header;
    // EtherType, reserved, interface, ARPHRD type, packet type, address length, address of 8.
    276 => "linux-cooked-v2", |w| cooked(w, 0, 20);
}

fn cooked(w: &mut Walk, kind: usize, header: usize) -> Result<Layer, Other> {
    let kind = w.u16(w.at + kind)?;
    w.at += header;
    w.base = w.at;
    Ok(Layer::Type(kind))
}

/// Header of a 32-bit address family, in the capturing machine's byte order (0) or in network order (108).
fn null(w: &mut Walk) -> Result<Layer, Other> {
    let family = u32::from_be_bytes(w.array(w.at)?);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    w.at += 4;
    w.base = w.at;
    is_ip(family)
}

/// IP, if the address family is that of IPv4 or IPv6.
fn is_ip(family: u32) -> Result<Layer, Other> {
    match family {
        // IPv4; IPv6 on Linux, NetBSD, FreeBSD, macOS.
        2 | 10 | 24 | 28 | 30 => Ok(Layer::Ip),
        _ => Err(Other::EtherType),
    }
}

/// A MAC header with an EtherType, or an 802.3 length and an LLC/SNAP header (RFC 1042).
#[inline]
pub(super) fn ethernet(w: &mut Walk) -> Result<Layer, Other> {
    let kind = w.u16(w.at + 12)?;
    w.at += 14;
    if kind >= 0x600 {
        return Ok(Layer::Type(kind));
    }
    snap(w)
}

/// LLC and SNAP (RFC 1042), and an EtherType.
#[inline]
fn snap(w: &mut Walk) -> Result<Layer, Other> {
    if w.array(w.at)? != [0xaa, 0xaa, 3, 0, 0, 0] {
        return Err(Other::Llc);
    }
    let kind = w.u16(w.at + 6)?;
    w.at += 8;
    Ok(Layer::Type(kind))
}

/// The layer after an EtherType.
#[inline]
pub(super) fn ethertype(w: &mut Walk, kind: u16) -> Result<Layer, Other> {
    match kind {
        0x0800 | 0x86dd => Ok(Layer::Ip),
        // 802.1Q, 802.1ad and its predecessor: two bytes of tag, then the next EtherType.
        0x8100 | 0x88a8 | 0x9100 => {
            let next = w.u16(w.at + 2)?;
            w.at += 4;
            Ok(Layer::Type(next))
        }
        0x8847 | 0x8848 => {
            w.enter(Tunnel::Mpls);
            Ok(Layer::Mpls)
        }
        0x8864 => {
            // RFC 2516 section 4: version and type 1, code 0 for a session, session, length.
            let [version, code] = w.array(w.at)?;
            if version != 0x11 || code != 0 {
                return Err(Other::Bad);
            }
            w.at += 6;
            w.enter(Tunnel::Pppoe);
            Ok(Layer::Ppp)
        }
        0x6558 => Ok(Layer::Ethernet),
        0x0806 => Err(Other::Arp),
        0x8863 => Err(Other::Discovery),
        0x88cc => Err(Other::Lldp),
        0x88e5 => Err(Other::Macsec),
        _ => Err(Other::EtherType),
    }
}

/// PPP (RFC 1661 section 2, RFC 1662 section 3.1): address and control may be missing, and the protocol may
/// be a single byte.
pub(super) fn ppp(w: &mut Walk) -> Result<Layer, Other> {
    if w.array(w.at)? == [0xff, 0x03] {
        w.at += 2;
    }
    let [first] = w.array(w.at)?;
    let protocol = if first & 1 == 1 {
        w.at += 1;
        first as u16
    } else {
        w.at += 2;
        w.u16(w.at - 2)?
    };
    match protocol {
        0x0021 | 0x0057 => Ok(Layer::Ip),
        0x0281 => {
            w.enter(Tunnel::Mpls);
            Ok(Layer::Mpls)
        }
        _ => Err(Other::PppControl),
    }
}

/// Skips labels up to the bottom of the stack (RFC 3032 section 2.1). The payload has no type field: IP is
/// recognised by its version, Ethernet by its EtherType, with a pseudowire's control word in front (RFC 4385
/// section 3, first nibble 0) or without.
pub(super) fn mpls(w: &mut Walk) -> Result<Layer, Other> {
    loop {
        let label: [u8; 4] = w.array(w.at)?;
        w.at += 4;
        if label[2] & 1 == 1 {
            break;
        }
    }
    let [first] = w.array(w.at)?;
    let is_frame = |at| w.u16(at + 12).is_ok_and(|kind| FRAME_ETHERTYPES.contains(&kind));
    match first >> 4 {
        4 | 6 => Ok(Layer::Ip),
        _ if is_frame(w.at) => Ok(Layer::Ethernet),
        0 => {
            w.at += 4;
            Ok(Layer::Ethernet)
        }
        _ => Err(Other::Tunnelled),
    }
}

/// EtherTypes by which an Ethernet frame is recognised.
const FRAME_ETHERTYPES: [u16; 6] = [0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x8847];
