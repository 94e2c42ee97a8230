//! Per-Packet Information (CACE Technologies, PPI header format 1.0.10): fields before a packet of another
//! link type.

use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

pub(super) const NUMBER: u16 = 192;
/// Type of the field 802.11-Common, its length, and the offset of its flags.
const COMMON: u16 = 2;
const COMMON_LEN: usize = 20;
const COMMON_FLAGS: usize = 8;
/// Bits of these flags: wrong frame check sequence, error of the physical layer.
const DAMAGED: u16 = 0x0004 | 0x0008;

/// Header: version 0, flags, length, link type, then fields of type, length and value; all little-endian.
pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let start = w.at;
    let h: [u8; 8] = w.array(start)?;
    let length = u16::from_le_bytes([h[2], h[3]]) as usize;
    let link = u32::from_le_bytes([h[4], h[5], h[6], h[7]]);
    if h[0] != 0 || length < 8 {
        return Err(Other::Bad);
    }
    // Fields are aligned to four bytes if the lowest bit is set.
    let align = if h[1] & 1 != 0 { 4 } else { 1 };
    let end = start + length;
    let mut at = start + 8;
    while at + 4 <= end {
        let f: [u8; 4] = w.array(at)?;
        let (kind, len) = (u16::from_le_bytes([f[0], f[1]]), u16::from_le_bytes([f[2], f[3]]) as usize);
        if kind == COMMON && len >= COMMON_LEN && at + 4 + len <= end {
            let flags = u16::from_le_bytes(w.array(at + 4 + COMMON_FLAGS)?);
            if flags & DAMAGED != 0 {
                return Err(Other::WifiDamaged);
            }
        }
        at += (4 + len).next_multiple_of(align);
    }
    (w.at, w.base) = (end, end);
    match u16::try_from(link) {
        Ok(link) if link != NUMBER => super::outermost(w, link),
        _ => Err(Other::Link),
    }
}
