//! The send buffer, as the application experiences it.
//!
//! An application that writes more than the buffer holds is blocked, and woken when a third of the buffer is
//! free (`sk_stream_is_writeable`: the free space must be half of the queued data). So where the congestion
//! window is larger, the data in flight varies between the whole buffer and two thirds of it: 4 MiB
//! (`tcp_wmem`) limit a flow that needs more than 2.8 MB in flight.

use super::Sender;

/// Memory that the kernel accounts for a block of the write queue in addition to its payload, bytes:
/// `SKB_TRUESIZE` of a header alone, as `ss -m` shows for a SYN on x86-64.
const BLOCK_OVERHEAD: u64 = 832;

/// State of the send buffer.
#[derive(Default)]
pub(super) struct SendBuffer {
    /// Offset after the last byte in the buffer.
    end: u64,
    /// Whether the application is blocked until there is room.
    is_blocked: bool,
    /// A blocked application may write again when everything before this offset is acknowledged; 0 if it is
    /// not blocked.
    resumes: u64,
    /// [`Sender::buffer_size`] for segments of the given size, as divisions are expensive.
    size: (u32, u64),
}

impl Sender {
    /// Payload that fits into the send buffer, bytes.
    fn buffer_size(&mut self) -> u64 {
        if self.buffer.size.0 != self.s.mss {
            self.buffer.size = (self.s.mss, self.find_buffer_size());
        }
        self.buffer.size.1
    }

    #[cold]
    fn find_buffer_size(&self) -> u64 {
        let mss = self.s.mss.max(1) as u64;
        let block = if self.rules.tso { (self.s.gso_max_size as u64 / mss).max(1) * mss } else { mss };
        if self.rules.linux {
            self.rules.send_buffer * block / (block + BLOCK_OVERHEAD)
        } else {
            self.rules.send_buffer
        }
    }

    /// Lets the application fill the buffer if it may; returns the offset after the last byte that may be
    /// sent, including FIN.
    #[inline]
    pub(super) fn buffered_end(&mut self) -> u64 {
        if self.buffer.end < self.stream.end
            && (self.s.snd_una >= self.buffer.resumes || self.buffer.size.0 != self.s.mss)
        {
            self.refill();
        }
        if self.buffer.end < self.stream.end { self.buffer.end } else { self.stream.end_with_fin() }
    }

    /// Unsent bytes in the buffer; `u64::MAX` if the buffer holds all data that was written. Changes nothing.
    pub(super) fn buffer_room(&self) -> u64 {
        let holds_all = self.buffer.end >= self.stream.end;
        if holds_all { u64::MAX } else { self.buffer.end.saturating_sub(self.s.snd_nxt) }
    }

    fn refill(&mut self) {
        let size = self.buffer_size();
        let resumes = |end: u64| end.saturating_sub(size / 3 * 2);
        if self.rules.linux && self.buffer.is_blocked && self.s.snd_una < resumes(self.buffer.end) {
            self.buffer.resumes = resumes(self.buffer.end);
            return;
        }
        // A last block that begins within the buffer fits as a whole.
        let room = (self.s.snd_una + size).saturating_sub(self.s.snd_nxt);
        let mss = self.s.mss.max(1) as u64;
        let end = self.stream.end.min(self.s.snd_nxt + room.div_ceil(mss) * mss);
        self.buffer.end = self.buffer.end.max(end);
        self.buffer.is_blocked = self.buffer.end < self.stream.end;
        let blocks = self.rules.linux && self.buffer.is_blocked;
        self.buffer.resumes = if blocks { resumes(self.buffer.end) } else { 0 };
    }

    /// Discards written data that is not in the buffer.
    pub(super) fn truncate_buffer(&mut self) {
        self.buffer.end = self.buffer.end.min(self.stream.end);
        (self.buffer.is_blocked, self.buffer.resumes) = (false, 0);
    }
}
