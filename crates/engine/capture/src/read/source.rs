//! The bytes of a capture in order, a stretch of them in memory.

use std::io::{ErrorKind, Read};

/// Bytes in memory: the longest usual record (262,144 bytes and its header) fits, and it stays in a
/// processor's second cache. Reading copies; a mapped file would save that, but one that shrinks
/// while it is read (a ring of capture files starting over) would kill the process.
/// A fuzzer's files are small, and shall not fit.
const ROOM: usize = if cfg!(fuzzing) { 4 << 10 } else { 288 << 10 };
/// Of a record that does not fit only so much is kept: far more than headers take.
const KEPT: usize = if cfg!(fuzzing) { 1 << 10 } else { 64 << 10 };

/// Bytes of a capture, from first to last.
pub(super) struct ByteSource {
    input: Box<dyn Read + Send>,
    buf: Box<[u8]>,
    at: usize,
    end: usize,
    /// Offset in the stream of `buf[0]`, as far as `at` and later are concerned.
    base: u64,
    ended: bool,
    failure: Option<String>,
}

impl ByteSource {
    pub(super) fn new(input: Box<dyn Read + Send>) -> ByteSource {
        let buf = vec![0; ROOM].into_boxed_slice();
        ByteSource { input, buf, at: 0, end: 0, base: 0, ended: false, failure: None }
    }

    /// What is in memory of the bytes to come.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buf[self.at..self.end]
    }

    /// Passes over `n` bytes that are in memory.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.at += n;
        debug_assert!(self.at <= self.end);
    }

    /// Offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Why the bytes ended, where it was not the end of the file.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Brings `n` bytes into memory; false where there are not so many. `n` must not exceed 288 KiB.
    #[inline]
    pub(super) fn ensure(&mut self, n: usize) -> bool {
        self.end - self.at >= n || self.refill(n)
    }

    #[cold]
    fn refill(&mut self, n: usize) -> bool {
        self.buf.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while self.end < n && self.read_some() {}
        self.end >= n
    }

    /// One read into the free room at the end; false at the end of the input.
    fn read_some(&mut self) -> bool {
        while !self.ended {
            match self.input.read(&mut self.buf[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.end += n;
                    return true;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    self.failure = Some(e.to_string());
                    self.ended = true;
                }
            }
        }
        false
    }

    /// Makes sure of a record of `total` bytes. Gives how many of them are in memory, to be passed over
    /// with [`ByteSource::advance`] afterwards: all, or where it is too long its beginning, the rest of it
    /// gone already. Where the file ends within the record: how many bytes there are.
    #[inline]
    pub(super) fn record(&mut self, total: u64) -> Result<usize, u64> {
        if total > ROOM as u64 {
            return self.long_record(total);
        }
        if self.ensure(total as usize) { Ok(total as usize) } else { Err((self.end - self.at) as u64) }
    }

    #[cold]
    fn long_record(&mut self, total: u64) -> Result<usize, u64> {
        if !self.ensure(KEPT) {
            return Err((self.end - self.at) as u64);
        }
        self.buf.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        let mut gone = 0;
        loop {
            let over = (self.end - KEPT).min((total - KEPT as u64 - gone) as usize);
            self.buf.copy_within(KEPT + over..self.end, KEPT);
            self.end -= over;
            gone += over as u64;
            if gone + KEPT as u64 == total {
                self.base += gone;
                return Ok(KEPT);
            }
            if !self.read_some() {
                return Err(gone + KEPT as u64);
            }
        }
    }
}
