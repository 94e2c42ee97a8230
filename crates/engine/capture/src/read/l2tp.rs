//! L2TP: version 2 (RFC 2661 section 3.1), version 3 over UDP and IP (RFC 3931 sections 3.2, 4.1).
//!
//! A header of version 3 does not show the length of its cookie, whether a sublayer follows, or what the
//! session carries; both ends negotiated these earlier. The parser therefore tries every combination, and
//! accepts one only if exactly one inner IP packet ends where the outer packet ends.

use super::walk::{Layer, Walk};

pub(super) const PORT: u16 = 1701;
pub(super) const PROTOCOL: u8 = 115;

/// Bits of the first two bytes: control message; length, sequence numbers and offset present; reserved bits
/// that are 0; version.
const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const RESERVED: u16 = 0x34f0;
const VERSION: u16 = 0x000f;
/// Possible lengths of session identifier, cookie (0, 4 or 8 bytes) and sublayer (0 or 4 bytes).
const HEADER_LENGTHS: [usize; 4] = [4, 8, 12, 16];
/// Ethernet pads shorter frames to this length; the frame check sequence is not carried.
const MIN_FRAME: usize = 60;

/// The layer inside a datagram of port 1701 that begins at `at` and ends before `end`; `None` for control
/// messages.
pub(super) fn udp(w: &mut Walk, at: usize, end: usize) -> Option<Layer> {
    let flags = w.u16(at).ok()?;
    match flags & VERSION {
        _ if flags & CONTROL != 0 => None,
        2 if flags & RESERVED == 0 => {
            let mut header = 6;
            if flags & LENGTH != 0 {
                if at + w.u16(at + 2).ok()? as usize > end {
                    return None;
                }
                header += 2;
            }
            if flags & SEQUENCE != 0 {
                header += 4;
            }
            if flags & OFFSET != 0 {
                header += 2 + w.u16(at + header).ok()? as usize;
            }
            w.at = at + header;
            Some(Layer::Ppp)
        }
        3 => session(w, at + 4, end),
        _ => None,
    }
}

/// The layer inside a session of version 3 whose identifier is at `at`; identifier 0 is used for control
/// messages over IP.
pub(super) fn session(w: &mut Walk, at: usize, end: usize) -> Option<Layer> {
    if w.array(at).ok()? == [0; 4] {
        return None;
    }
    let mut fits = HEADER_LENGTHS.iter().filter_map(|header| packet(w, at + header, end));
    // The first match has the shortest cookie; a match with a longer one may take the frame's own header for
    // a cookie.
    let (at, layer, inner) = fits.next()?;
    if !fits.all(|(_, _, other)| other == inner) {
        return None;
    }
    w.at = at;
    Some(layer)
}

/// A frame or packet at `at` that ends at `end`: where to continue, as which layer, and where IP begins.
fn packet(w: &Walk, at: usize, end: usize) -> Option<(usize, Layer, usize)> {
    let kind = w.u16(at + 12).ok();
    let tagged = kind.filter(|kind| matches!(kind, 0x8100 | 0x88a8)).and_then(|_| w.u16(at + 16).ok());
    let (kind, ip) = if tagged.is_some() { (tagged, at + 18) } else { (kind, at + 14) };
    let padded = end.saturating_sub(at) <= MIN_FRAME;
    if kind.is_some_and(is_ip) && ends(w, ip).is_some_and(|e| e == end || padded && e < end) {
        return Some((at, Layer::Ethernet, ip));
    }
    match w.array::<4>(at).ok()? {
        [0xff, 0x03, 0x00, 0x21 | 0x57] if ends(w, at + 4) == Some(end) => Some((at, Layer::Ppp, at + 4)),
        // Cisco's HDLC.
        [0x0f | 0x8f, 0x00, a, b] if is_ip(u16::from_be_bytes([a, b])) && ends(w, at + 4) == Some(end) => {
            Some((at + 4, Layer::Ip, at + 4))
        }
        _ if ends(w, at) == Some(end) => Some((at, Layer::Ip, at)),
        _ => None,
    }
}

fn is_ip(kind: u16) -> bool {
    matches!(kind, 0x0800 | 0x86dd)
}

/// Where the IP packet at `at` ends according to its length field.
fn ends(w: &Walk, at: usize) -> Option<usize> {
    let [first] = w.array(at).ok()?;
    match first {
        0x45..=0x4f => Some(at + w.u16(at + 2).ok()? as usize),
        0x60..=0x6f => Some(at + 40 + w.u16(at + 4).ok()? as usize),
        _ => None,
    }
}
