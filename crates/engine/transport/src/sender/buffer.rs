//! The send buffer as the application meets it.
//!
//! Who writes more than it holds waits, and is woken when a third is free, not sooner (`sk_stream_is_writeable`: what is free
//! must be half of what is queued). So what is in flight swings between all of the buffer and two thirds of it where the
//! congestion window is larger: 4 MiB (`tcp_wmem`) hold back whoever needs more than 2.8 MB in flight.

use super::Sender;

/// Bytes that the kernel accounts for a block of the write queue beside its payload: `SKB_TRUESIZE` of a header alone, as
/// `ss -m` shows for a SYN on x86-64.
const BLOCK_OVERHEAD: u64 = 832;

/// How far the buffer has taken in what was written.
#[derive(Default)]
pub(super) struct SendBuffer {
    /// One past the last byte that it holds.
    end: u64,
    /// The application waits for room.
    waits: bool,
}

impl Sender {
    /// Payload that the send buffer holds.
    fn buffer_size(&self) -> u64 {
        let mss = self.s.mss.max(1) as u64;
        let block = if self.rules.tso { (self.s.gso_max_size as u64 / mss).max(1) * mss } else { mss };
        if self.rules.linux {
            self.rules.send_buffer * block / (block + BLOCK_OVERHEAD)
        } else {
            self.rules.send_buffer
        }
    }

    /// The application fills the buffer up if it may. One past what may be sent, FIN included.
    #[inline]
    pub(super) fn take_in(&mut self) -> u64 {
        if self.buffer.end < self.stream.end {
            self.fill_up();
        }
        if self.buffer.end < self.stream.end { self.buffer.end } else { self.stream.all() }
    }

    /// What it holds and has not sent; more than anybody asks for where it holds all that was written. Looks only.
    pub(super) fn buffer_room(&self) -> u64 {
        let holds_all = self.buffer.end >= self.stream.end;
        if holds_all { u64::MAX } else { self.buffer.end.saturating_sub(self.s.snd_nxt) }
    }

    fn fill_up(&mut self) {
        let size = self.buffer_size();
        let held = self.buffer.end.saturating_sub(self.s.snd_una);
        if self.rules.linux && self.buffer.waits && held > size / 3 * 2 {
            return;
        }
        // The last block that begins within the buffer is whole.
        let room = (self.s.snd_una + size).saturating_sub(self.s.snd_nxt);
        let mss = self.s.mss.max(1) as u64;
        let end = self.stream.end.min(self.s.snd_nxt + room.div_ceil(mss) * mss);
        self.buffer.end = self.buffer.end.max(end);
        self.buffer.waits = self.buffer.end < self.stream.end;
    }

    /// Nothing is written any more of what the buffer did not hold.
    pub(super) fn cut_buffer(&mut self) {
        self.buffer = SendBuffer { end: self.buffer.end.min(self.stream.end), waits: false };
    }
}
