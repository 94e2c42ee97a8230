//! Packets logged by Linux's netfilter (LINKTYPE_NFLOG; `nfgenmsg` and `nfulnl_attr_type` of
//! linux/netfilter/nfnetlink_log.h).

use super::is_ip;
use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Address family of bridged frames; their log records start after the MAC header.
const BRIDGE: u8 = 7;
/// Attribute types: packet header with the EtherType, and payload.
const PACKET_HEADER: u16 = 1;
const PAYLOAD: u16 = 9;
/// Mask of an attribute's type; the two upper bits are flags (linux/netlink.h).
const TYPE_MASK: u16 = 0x3fff;

/// Header: family, version 0, resource. Then attributes, each padded to four bytes: length including its
/// header, type, value. Length and type have the byte order of the capturing machine, which is recognised
/// because all types fit into one byte.
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
        match number([c, d]) & TYPE_MASK {
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
