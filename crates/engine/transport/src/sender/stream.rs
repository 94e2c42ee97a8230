//! The data that the application wrote, in the blocks of Linux's write queue (skbs): each write first fills
//! the last block, then starts others (`tcp_sendmsg_locked`). The block boundaries decide whether a short
//! burst waits for more window, and which segments have PSH.

use std::collections::VecDeque;

/// Maximum size of a write of which the pushes are recorded, bytes.
const MAX_MARKED_WRITE: u64 = 64 << 20;

/// The stream that the application wrote.
#[derive(Default)]
pub(super) struct WriteStream {
    /// Offset after the last byte (`write_seq`).
    pub(super) end: u64,
    /// Whether no more data will follow.
    pub(super) closed: bool,
    /// Whether a FIN follows the last byte.
    pub(super) fin: bool,
    /// Offset after the last packet sent that was not full-sized (`snd_sml`).
    pub(super) small_end: u64,
    /// Runs of blocks of the same size, as (offset of the first block, size). The last block of a run ends
    /// early where the next run or the stream's end begins.
    runs: VecDeque<(u64, u64)>,
    /// Blocks with PSH, each by an offset in it or at its end; the last block is not listed.
    pushes: VecDeque<u64>,
    /// Offset after the last byte marked for a push (`pushed_seq`).
    pushed: u64,
    /// Whether a write is in progress.
    writing: bool,
    /// Range of the block being sent, from where it was looked up to its end; empty if unknown.
    head: (u64, u64),
}

impl WriteStream {
    /// Offset after everything that is to be sent, including FIN.
    #[inline]
    pub(super) fn end_with_fin(&self) -> u64 {
        self.end + self.fin as u64
    }

    /// Starts a write; everything before `nxt` is sent. The last block keeps its PSH only if it is full, at
    /// `size` bytes.
    pub(super) fn begin(&mut self, nxt: u64, size: u64) {
        self.head = (0, 0);
        self.forget(nxt);
        let tail = self.tail(nxt);
        if tail < self.end && self.end - tail >= size {
            self.pushes.push_back(self.end);
        } else {
            self.pushes.retain(|&p| p <= tail);
        }
        self.writing = true;
    }

    /// Number of bytes until the last block is full.
    pub(super) fn room(&self, nxt: u64, size: u64) -> u64 {
        let used = self.end - self.tail(nxt);
        if used < size { size - used } else { size }
    }

    /// Whether the last block is the next to be sent.
    pub(super) fn is_one_block(&self, nxt: u64) -> bool {
        nxt < self.end && self.tail(nxt) == nxt
    }

    /// Appends `n` bytes, which fill the last block first.
    pub(super) fn append(&mut self, nxt: u64, n: u64, size: u64) {
        self.head = (0, 0);
        let old = self.end;
        let tail = self.tail(nxt);
        let begin = if old - tail < size { tail } else { old };
        self.end += n;
        if old == nxt {
            self.runs.clear();
        }
        match self.runs.back() {
            Some(&(from, s)) if s == size && (begin - from) % s == 0 => {}
            _ => self.runs.push_back((begin, size)),
        }
    }

    /// Whether a write must be pushed before its end, because it exceeds `half` of the window
    /// (`forced_push`).
    pub(super) fn is_forced(&mut self, half: u64) -> bool {
        let forced = self.end > self.pushed + half;
        if forced {
            self.pushes.push_back(self.end);
            self.pushed = self.end;
        }
        forced
    }

    /// Appends the rest of a write. Nothing of the rest is sent before the write ends.
    pub(super) fn finish(&mut self, nxt: u64, n: u64, size: u64, half: u64) {
        let mut full = self.end + self.room(nxt, size);
        self.append(nxt, n, size);
        while n < MAX_MARKED_WRITE && full < self.end {
            if full > self.pushed + half {
                self.pushes.push_back(full);
                self.pushed = full;
            }
            full += size;
        }
        self.pushed = self.end;
        self.writing = false;
    }

    /// Withdraws data that was not sent.
    pub(super) fn truncate(&mut self, nxt: u64) {
        self.head = (0, 0);
        self.end = nxt;
        self.closed = true;
        self.runs.clear();
        self.pushes.clear();
    }

    /// Offset of the last unsent block; `end` if everything is sent.
    fn tail(&self, nxt: u64) -> u64 {
        let end = self.end;
        match self.runs.back() {
            Some(&(from, size)) if nxt < end && from < end => {
                (from + (end - 1 - from) / size * size).max(nxt)
            }
            _ => end,
        }
    }

    /// End of the block that contains `at`.
    fn block_end(&self, at: u64) -> u64 {
        let next = self.runs.partition_point(|&(from, _)| from <= at);
        let cut = self.runs.get(next).map_or(self.end, |r| r.0);
        match next.checked_sub(1).and_then(|i| self.runs.get(i)) {
            Some(&(from, size)) => (from + ((at - from) / size + 1) * size).min(cut),
            None => cut,
        }
    }

    /// Size of the next block to be sent, which starts at `nxt`. A block shorter than `least` permanently
    /// takes bytes of the next one (`tcp_grow_skb`).
    #[inline]
    pub(super) fn block(&mut self, nxt: u64, least: u64) -> u64 {
        let (from, to) = self.head;
        if nxt < from || nxt >= to || (nxt + least > to && to < self.end) {
            self.head = (nxt, nxt + self.find_block(nxt, least));
        }
        self.head.1 - nxt
    }

    #[inline(never)]
    fn find_block(&mut self, nxt: u64, least: u64) -> u64 {
        let end = self.block_end(nxt);
        if end - nxt >= least || end >= self.end {
            return end - nxt;
        }
        let next_end = self.block_end(end);
        let grown = next_end.min(nxt + least);
        let mut size = next_end - end;
        while let Some(run) = self.runs.front().filter(|r| r.0 <= next_end) {
            size = run.1;
            self.runs.pop_front();
        }
        // Blocks after these two keep their boundaries.
        if next_end < self.end && self.runs.front().is_none_or(|r| r.0 > next_end) {
            self.runs.push_front((next_end, size));
        }
        if grown < next_end {
            self.runs.push_front((grown, size.max(next_end - grown)));
        }
        self.runs.push_front((nxt, size.max(grown - nxt)));
        grown - nxt
    }

    /// Whether a burst from `nxt` to `end` has PSH: a block with PSH ends within it.
    pub(super) fn has_push(&self, nxt: u64, end: u64) -> bool {
        let within = |&p: &u64| (nxt + 1..=end).contains(&self.block_end(p - 1));
        end == self.end && !self.writing || self.pushes.iter().any(within)
    }

    /// Forgets blocks before `nxt`, which are sent. The rest of a block with PSH keeps it.
    #[inline]
    pub(super) fn forget(&mut self, nxt: u64) {
        if !self.pushes.is_empty() || self.runs.len() > 1 {
            self.forget_some(nxt);
        }
    }

    fn forget_some(&mut self, nxt: u64) {
        while let Some(&place) = self.pushes.front().filter(|&&p| p <= nxt) {
            let left = self.block_end(place - 1) > nxt;
            self.pushes.pop_front();
            if left {
                self.pushes.push_front(nxt + 1);
            }
        }
        while self.runs.get(1).is_some_and(|r| r.0 <= nxt) {
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(s: &mut WriteStream, nxt: u64, n: u64, size: u64, half: u64) {
        s.begin(nxt, size);
        s.finish(nxt, n, size, half);
    }

    #[test]
    fn writes_fill_the_last_block_first() {
        let mut s = WriteStream::default();
        write(&mut s, 0, 250, 100, 1000);
        assert_eq!((s.block(0, 1), s.block(100, 1), s.block(200, 1)), (100, 100, 50));
        write(&mut s, 0, 30, 100, 1000);
        assert_eq!((s.block(200, 1), s.room(0, 100)), (80, 20));
        // Larger blocks from now on: the last block is filled, too.
        write(&mut s, 0, 200, 150, 1000);
        assert_eq!((s.block(200, 1), s.block(350, 1)), (150, 130));
        // Shorter than what may be sent: it takes bytes of the next block.
        assert_eq!(s.block(80, 50), 50);
        assert_eq!((s.block(130, 1), s.block(200, 1)), (70, 150));
    }

    #[test]
    fn a_partly_sent_block_is_filled_from_its_new_start() {
        let mut s = WriteStream::default();
        write(&mut s, 0, 90, 100, 1000);
        assert!(s.is_one_block(0));
        write(&mut s, 40, 200, 100, 1000);
        assert_eq!((s.block(40, 1), s.block(140, 1), s.block(240, 1)), (100, 100, 50));
    }

    #[test]
    fn a_full_block_that_ended_a_write_keeps_its_push() {
        let mut s = WriteStream::default();
        for n in [100, 50, 20] {
            write(&mut s, 0, n, 100, 1000);
        }
        let pushed: Vec<u64> = (1..=170).filter(|&e| s.has_push(e - 1, e)).collect();
        assert_eq!(pushed, [100, 170]);
    }

    #[test]
    fn the_rest_of_a_block_keeps_its_push_when_it_grows() {
        let mut s = WriteStream::default();
        write(&mut s, 0, 300, 100, 100); // pushed at 200
        s.forget(190);
        // The rest of the block grows by twenty bytes of the next.
        assert_eq!(s.block(190, 30), 30);
        let pushed: Vec<u64> = (191..300).filter(|&e| s.has_push(e - 1, e)).collect();
        assert_eq!(pushed, [220]);
    }

    #[test]
    fn writes_are_pushed_every_half_window() {
        let mut s = WriteStream::default();
        write(&mut s, 0, 1000, 100, 250);
        let pushed: Vec<u64> = (1..=1000).filter(|&e| s.has_push(e - 1, e)).collect();
        assert_eq!(pushed, [300, 600, 900, 1000]);
    }
}
