//! 802.11 frames (IEEE 802.11-2020: sections 9.2.4 header, 9.3.2.1 data frames, 9.3.2.2 A-MSDU, 10.3.2.14 duplicates).
//!
//! Data in the clear is read; all other frames are counted by what they are. Of a fragmented frame the first part is
//! read: the IP header in it says how long the whole is. The mesh's additional header is not known.

use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Bits of the frame control field's second byte.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// Bits of a data frame's subtype.
const NO_DATA: u8 = 0x4;
const QOS: u8 = 0x8;
/// Senders whose last frame is remembered.
const MOST_SENDERS: usize = 256;

/// What tells a frame from its repetition.
#[derive(Clone, Copy)]
pub(in crate::read) struct WifiSequence {
    /// The transmitter's address, and the traffic identifier.
    sender: ([u8; 6], u8),
    /// The sequence control field: number and fragment.
    number: u16,
    retry: bool,
}

/// The frame without a header of the capture's before it.
pub(super) fn bare(w: &mut Walk) -> Result<Layer, Other> {
    frame(w, false)
}

/// A frame; `padded`: between header and body there are bytes up to a multiple of four.
pub(super) fn frame(w: &mut Walk, padded: bool) -> Result<Layer, Other> {
    let start = w.at;
    let [control, flags] = w.array(start)?;
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    match (control & 3, kind) {
        (0, 0) => return Err(Other::WifiManagement),
        (0, 1) => return Err(Other::WifiControl),
        (0, 2) => {}
        _ => return Err(Other::Bad),
    }
    if subtype & NO_DATA != 0 {
        return Err(Other::WifiNoData);
    }
    if flags & PROTECTED != 0 {
        return Err(Other::WifiEncrypted);
    }
    let h: &[u8; 24] = w.header(start)?;
    let number = u16::from_le_bytes([h[22], h[23]]);
    let mut header = 24;
    if flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS {
        header += 6;
    }
    let (mut class, mut aggregate) = (u8::MAX, false);
    if subtype & QOS != 0 {
        let [low, _] = w.array(start + header)?;
        (class, aggregate) = (low & 15, low & 0x80 != 0);
        header += 2;
        if flags & ORDER != 0 {
            header += 4;
        }
    }
    let sender = [h[10], h[11], h[12], h[13], h[14], h[15]];
    w.sequence = Some(WifiSequence { sender: (sender, class), number, retry: flags & RETRY != 0 });
    if number & 15 != 0 {
        return Err(Other::WifiFragment);
    }
    w.at = start + if padded { header.next_multiple_of(4) } else { header };
    if aggregate { subframe(w) } else { super::snap(w) }
}

/// The frame of an A-MSDU at `w.at`, made as one of 802.3 is: addresses, length, LLC. The next begins at a multiple
/// of four bytes from here. The header around them is nobody's in particular.
pub(in crate::read) fn subframe(w: &mut Walk) -> Result<Layer, Other> {
    w.base = w.at;
    let length = w.u16(w.at + 12)? as usize;
    let next = w.at + (14 + length).next_multiple_of(4);
    // What is left may be a frame check sequence.
    w.following = (next + 14 < w.bytes.len()).then_some(next);
    Ok(Layer::Ethernet)
}

/// Frames sent last, to know repetitions by.
#[derive(Default)]
pub(in crate::read) struct WifiSenders {
    last: Vec<WifiSequence>,
    /// The one that goes when there are too many.
    oldest: usize,
}

impl WifiSenders {
    /// Whether the frame was seen before; remembers it.
    pub(in crate::read) fn repeats(&mut self, frame: WifiSequence) -> bool {
        if let Some(last) = self.last.iter_mut().find(|last| last.sender == frame.sender) {
            let again = frame.retry && last.number == frame.number;
            *last = frame;
            return again;
        }
        if self.last.len() < MOST_SENDERS {
            self.last.push(frame);
        } else {
            self.last[self.oldest] = frame;
            self.oldest = (self.oldest + 1) % MOST_SENDERS;
        }
        false
    }
}
