//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers.

use super::tally::Other;
use super::walk::Walk;
use crate::Addr;

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMP6: u8 = 58;
pub(super) const DESTINATION: u8 = 60;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AH: u8 = 51;
/// Number of extension headers above which a packet counts as damaged.
const MAX_EXTENSIONS: usize = 16;

/// An IP header, including extension headers.
pub(super) struct Net {
    pub(super) src: Addr,
    pub(super) dst: Addr,
    /// Offset of the header in the record.
    pub(super) start: usize,
    /// Bytes from the end of the headers to the end of the packet.
    pub(super) payload: u32,
    pub(super) protocol: u8,
    pub(super) v6: bool,
    pub(super) id: u16,
    pub(super) ttl: u8,
    pub(super) ecn: u8,
    /// Set if the packet is a fragment.
    pub(super) fragment: Option<IpFragment>,
}

/// Position of a fragment in its packet.
#[derive(Clone, Copy)]
pub(super) struct IpFragment {
    /// Identification: 16 bits for IPv4, 32 for IPv6.
    pub(super) id: u32,
    /// Bytes before the fragment.
    pub(super) offset: u32,
    /// Whether more fragments follow.
    pub(super) more: bool,
    /// Bytes of the packet's fragmentable part in this fragment.
    pub(super) len: u32,
}

/// Length of an Ethernet header and an IPv4 header without options.
pub(super) const PLAIN: usize = 34;
const ETHERNET: usize = 14;

/// Fast path: parses the IPv4 header of an Ethernet frame with unfragmented TCP and no IP options; `None` for
/// all other frames.
#[inline(always)]
pub(super) fn plain(h: &[u8; PLAIN]) -> Option<Net> {
    let total = u16::from_be_bytes([h[16], h[17]]) as u32;
    let place = u16::from_be_bytes([h[20], h[21]]);
    let is = [h[12], h[13], h[14], h[23]] == [8, 0, 0x45, TCP] && place & 0x3fff == 0 && total >= 20;
    is.then(|| Net {
        src: Addr::v4([h[26], h[27], h[28], h[29]]),
        dst: Addr::v4([h[30], h[31], h[32], h[33]]),
        start: ETHERNET,
        payload: total - 20,
        protocol: TCP,
        v6: false,
        id: u16::from_be_bytes([h[18], h[19]]),
        ttl: h[22],
        ecn: h[15] & 3,
        fragment: None,
    })
}

/// Parses the header at `w.at`, and advances to the end of the headers.
#[inline]
pub(super) fn parse(w: &mut Walk) -> Result<Net, Other> {
    match w.array(w.at)? {
        [first] if first >> 4 == 4 => v4(w),
        [first] if first >> 4 == 6 => v6(w),
        _ => Err(Other::Bad),
    }
}

#[inline]
fn v4(w: &mut Walk) -> Result<Net, Other> {
    let h: &[u8; 20] = w.header(w.at)?;
    let start = w.at;
    let header = (h[0] & 15) as usize * 4;
    let total = match u16::from_be_bytes([h[2], h[3]]) {
        // Segmentation offload: the packet exceeds the range of the field, or was captured before the field
        // was set.
        0 => w.wire.saturating_sub(start),
        total => total as usize,
    };
    if header < 20 || total < header {
        return Err(Other::Bad);
    }
    w.at += header;
    let mut net = Net {
        src: Addr::v4([h[12], h[13], h[14], h[15]]),
        dst: Addr::v4([h[16], h[17], h[18], h[19]]),
        start,
        payload: (total - header) as u32,
        protocol: h[9],
        v6: false,
        id: u16::from_be_bytes([h[4], h[5]]),
        ttl: h[8],
        ecn: h[1] & 3,
        fragment: None,
    };
    let place = u16::from_be_bytes([h[6], h[7]]);
    if place & 0x3fff != 0 {
        net.fragment = Some(IpFragment {
            id: net.id as u32,
            offset: (place & 0x1fff) as u32 * 8,
            more: place & 0x2000 != 0,
            len: net.payload,
        });
    }
    if net.protocol == AH && net.fragment.is_none_or(|f| f.offset == 0) {
        authentication(w, &mut net)?;
    }
    Ok(net)
}

/// Authentication header (RFC 4302 section 2): its length field counts 32-bit words, minus 2.
fn authentication(w: &mut Walk, net: &mut Net) -> Result<(), Other> {
    let [next, len] = w.array(w.at)?;
    extension(w, net, next, (len as usize + 2) * 4)
}

/// Skips an extension header of `len` bytes.
fn extension(w: &mut Walk, net: &mut Net, next: u8, len: usize) -> Result<(), Other> {
    net.payload = net.payload.checked_sub(len as u32).ok_or(Other::Bad)?;
    net.protocol = next;
    w.at += len;
    Ok(())
}

#[inline]
fn v6(w: &mut Walk) -> Result<Net, Other> {
    let h: &[u8; 40] = w.header(w.at)?;
    let start = w.at;
    let length = u16::from_be_bytes([h[4], h[5]]) as u32;
    w.at += 40;
    let mut net = Net {
        src: Addr::v6(*h[8..].first_chunk().ok_or(Other::Bad)?),
        dst: Addr::v6(*h[24..].first_chunk().ok_or(Other::Bad)?),
        start,
        payload: length,
        protocol: h[6],
        v6: true,
        id: 0,
        ttl: h[7],
        ecn: h[1] >> 4 & 3,
        fragment: None,
    };
    if length == 0 {
        net.payload = payload_length_of_large_packet(w, &net)?;
    }
    for _ in 0..MAX_EXTENSIONS {
        match net.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION => {
                let [next, len] = w.array(w.at)?;
                extension(w, &mut net, next, (len as usize + 1) * 8)?;
            }
            AH => authentication(w, &mut net)?,
            FRAGMENT => {
                let b: [u8; 8] = w.array(w.at)?;
                extension(w, &mut net, b[0], 8)?;
                let place = u16::from_be_bytes([b[2], b[3]]);
                let (offset, more) = ((place & !7) as u32, place & 1 == 1);
                // Offset 0 and no more fragments: an atomic fragment, which is a whole packet (RFC 6946).
                if offset > 0 || more {
                    let id = u32::from_be_bytes([b[4], b[5], b[6], b[7]]);
                    net.fragment = Some(IpFragment { id, offset, more, len: net.payload });
                }
                if offset > 0 {
                    break;
                }
            }
            _ => break,
        }
    }
    Ok(net)
}

/// Payload length where the length field is 0: that of a jumbogram (RFC 2675), else the length on the wire,
/// as for packets of over 64 kB captured before segmentation.
fn payload_length_of_large_packet(w: &Walk, net: &Net) -> Result<u32, Other> {
    let on_wire = w.wire.saturating_sub(w.at) as u32;
    if net.protocol != HOP_BY_HOP {
        return Ok(on_wire);
    }
    let [_, len] = w.array(w.at)?;
    let mut at = w.at + 2;
    let end = w.at + (len as usize + 1) * 8;
    while at + 6 <= end {
        let [kind, len] = w.array(at)?;
        match kind {
            // The Pad1 option has no length field.
            0 => at += 1,
            0xc2 if len == 4 => return Ok(u32::from_be_bytes(w.array(at + 2)?)),
            _ => at += 2 + len as usize,
        }
    }
    Ok(on_wire)
}
