//! 802.11 frames (IEEE 802.11-2020: sections 9.2.4 header, 9.3.2.1 data frames, 9.3.2.2 A-MSDU, 10.3.2.14
//! duplicates).
//!
//! Only unencrypted data is read; other frames are counted by kind. Of a fragmented frame only the first
//! fragment is read; its IP header has the total length. Mesh control headers are not supported.

use crate::read::tally::Other;
use crate::read::walk::{Layer, Walk};

/// Bits of the second byte of the frame control field.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// Bits of a data frame's subtype.
const NO_DATA: u8 = 0x4;
const QOS: u8 = 0x8;
/// Maximum number of senders whose last frame is remembered.
const MAX_SENDERS: usize = 256;

/// Identifies a frame, to recognise its retransmissions.
#[derive(Clone, Copy)]
pub(in crate::read) struct WifiSequence {
    /// Transmitter address and traffic identifier.
    sender: ([u8; 6], u8),
    /// The sequence control field: sequence and fragment number.
    number: u16,
    retry: bool,
}

/// A frame without a capture header.
pub(super) fn bare(w: &mut Walk) -> Result<Layer, Other> {
    frame(w, false)
}

/// A frame. `padded`: the header is padded to a multiple of four bytes.
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

/// A subframe of an A-MSDU at `w.at`, laid out like an 802.3 frame: addresses, length, LLC. The next subframe
/// begins at a multiple of four bytes from here. The enclosing header is not attributed to any subframe.
pub(in crate::read) fn subframe(w: &mut Walk) -> Result<Layer, Other> {
    w.base = w.at;
    let length = w.u16(w.at + 12)? as usize;
    let next = w.at + (14 + length).next_multiple_of(4);
    // The remaining bytes may be a frame check sequence.
    w.following = (next + 14 < w.bytes.len()).then_some(next);
    Ok(Layer::Ethernet)
}

/// The last frame of each sender, to recognise retransmissions.
#[derive(Default)]
pub(in crate::read) struct WifiSenders {
    last: Vec<WifiSequence>,
    /// Index of the entry to replace when the list is full.
    oldest: usize,
}

impl WifiSenders {
    /// Whether the frame is a retransmission of one seen before; records the frame.
    pub(in crate::read) fn repeats(&mut self, frame: WifiSequence) -> bool {
        if let Some(last) = self.last.iter_mut().find(|last| last.sender == frame.sender) {
            let again = frame.retry && last.number == frame.number;
            *last = frame;
            return again;
        }
        if self.last.len() < MAX_SENDERS {
            self.last.push(frame);
        } else {
            self.last[self.oldest] = frame;
            self.oldest = (self.oldest + 1) % MAX_SENDERS;
        }
        false
    }
}
