//! Radiotap headers before 802.11 frames (radiotap.org: header, and the fields TSFT and Flags).

use super::wifi;
use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Bits of a presence word; fields are in the order of the bits, each aligned to its size.
const TSFT: u32 = 1;
const FLAGS: u32 = 1 << 1;
/// Bit of a presence word: another presence word follows.
const MORE: u32 = 1 << 31;
/// Bits of the Flags field.
const DATA_PAD: u8 = 0x20;
const BAD_FCS: u8 = 0x40;

/// Version 0, a byte of padding, length (little-endian), presence words, fields.
pub(super) fn header(w: &mut Walk) -> Result<Layer, Other> {
    let start = w.at;
    let [version, _, low, high] = w.array(start)?;
    let length = u16::from_le_bytes([low, high]) as usize;
    if version != 0 || length < 8 {
        return Err(Other::Bad);
    }
    let flags = flags(w, start, start + length)?;
    w.at = start + length;
    w.base = w.at;
    if flags & BAD_FCS != 0 {
        return Err(Other::WifiDamaged);
    }
    wifi::frame(w, flags & DATA_PAD != 0)
}

/// The Flags field; 0 if it is missing.
fn flags(w: &Walk, start: usize, end: usize) -> Result<u8, Other> {
    let first = u32::from_le_bytes(w.array(start + 4)?);
    let (mut present, mut at) = (first, start + 8);
    while present & MORE != 0 {
        if at + 4 > end {
            return Err(Other::Bad);
        }
        present = u32::from_le_bytes(w.array(at)?);
        at += 4;
    }
    if first & FLAGS == 0 {
        return Ok(0);
    }
    if first & TSFT != 0 {
        at = start + (at - start).next_multiple_of(8) + 8;
    }
    if at >= end {
        return Err(Other::Bad);
    }
    w.array(at).map(|[flags]| flags)
}
