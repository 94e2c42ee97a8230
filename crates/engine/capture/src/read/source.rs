//! Buffered sequential reading of a capture's bytes.

use std::io::{ErrorKind, Read};

/// Size of the buffer: the longest usual record (262,144 bytes and its header) fits, and the buffer stays in
/// the CPU's second-level cache. Reading copies; a mapped file would avoid that, but one that shrinks while
/// it is read (such as a ring of capture files) would kill the process. Fuzzing uses a small buffer, so that
/// its small files exceed it.
const BUFFER_SIZE: usize = if cfg!(fuzzing) { 4 << 10 } else { 288 << 10 };
/// Bytes kept of a record that exceeds the buffer: far more than headers need.
const KEPT_OF_LONG_RECORD: usize = if cfg!(fuzzing) { 1 << 10 } else { 64 << 10 };

/// The bytes of a capture, from first to last.
pub(super) struct ByteSource {
    input: Box<dyn Read + Send>,
    buf: Box<[u8]>,
    at: usize,
    end: usize,
    /// Offset in the stream of `buf[0]`, valid for positions at and after `at`.
    base: u64,
    ended: bool,
    failure: Option<String>,
}

impl ByteSource {
    pub(super) fn new(input: Box<dyn Read + Send>) -> ByteSource {
        let buf = vec![0; BUFFER_SIZE].into_boxed_slice();
        ByteSource { input, buf, at: 0, end: 0, base: 0, ended: false, failure: None }
    }

    /// The buffered bytes that come next.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buf[self.at..self.end]
    }

    /// Skips `n` buffered bytes.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.at += n;
        debug_assert!(self.at <= self.end);
    }

    /// Offset of the next byte in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Why the input ended, if by an error.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Buffers `n` bytes; `false` if fewer are left. `n` must not exceed 288 KiB.
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

    /// Reads once into the free space; `false` at the end of the input.
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

    /// Buffers a record of `total` bytes. Returns how many of them are buffered, to be skipped with
    /// [`ByteSource::advance`]: all, or the beginning of a record that is too long, whose rest has then been
    /// skipped. Fails with the number of available bytes when the file ends within the record.
    #[inline]
    pub(super) fn record(&mut self, total: u64) -> Result<usize, u64> {
        if total > BUFFER_SIZE as u64 {
            return self.long_record(total);
        }
        if self.ensure(total as usize) { Ok(total as usize) } else { Err((self.end - self.at) as u64) }
    }

    #[cold]
    fn long_record(&mut self, total: u64) -> Result<usize, u64> {
        if !self.ensure(KEPT_OF_LONG_RECORD) {
            return Err((self.end - self.at) as u64);
        }
        self.buf.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        let mut gone = 0;
        loop {
            let over =
                (self.end - KEPT_OF_LONG_RECORD).min((total - KEPT_OF_LONG_RECORD as u64 - gone) as usize);
            self.buf.copy_within(KEPT_OF_LONG_RECORD + over..self.end, KEPT_OF_LONG_RECORD);
            self.end -= over;
            gone += over as u64;
            if gone + KEPT_OF_LONG_RECORD as u64 == total {
                self.base += gone;
                return Ok(KEPT_OF_LONG_RECORD);
            }
            if !self.read_some() {
                return Err(gone + KEPT_OF_LONG_RECORD as u64);
            }
        }
    }
}
