//! What Linux' netfilter logs (LINKTYPE_NFLOG; `nfgenmsg` and `nfulnl_attr_type` of linux/netfilter/nfnetlink_log.h).

use super::is_ip;
use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Address family of bridged frames; what is logged of them begins behind their MAC header.
const BRIDGE: u8 = 7;
/// Attributes: the EtherType among other things, and the packet.
const PACKET_HEADER: u16 = 1;
const PAYLOAD: u16 = 9;
/// The two upper bits of an attribute's type say how it is made (linux/netlink.h).
const TYPE: u16 = 0x3fff;

/// Family, version 0, resource; then attributes, each padded to four bytes: length with its header, type, value. These
/// two have the byte order of the machine that captured; no type fills more than a byte, which tells it.
pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let [family, version, _, _] = w.array(w.at)?;
    if version != 0 {
        return Err(Other::Bad);
    }
    w.at += 4;
    let mut ether = None;
    loop {
        let [a, b, c, d] = w.array(w.at)?;
        let big = c & 0x3f == 0 && d != 0;
        let number = |bytes| if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
        let length = number([a, b]) as usize;
        if length < 4 {
            return Err(Other::Bad);
        }
        match number([c, d]) & TYPE {
            PAYLOAD => break,
            PACKET_HEADER => ether = Some(w.u16(w.at + 4)?),
            _ => {}
        }
        w.at += length.next_multiple_of(4);
    }
    w.at += 4;
    w.base = w.at;
    match (family, ether) {
        (BRIDGE, Some(kind)) => Ok(Layer::Type(kind)),
        _ => is_ip(family.into()),
    }
}
