//! What was sent again lately: a D-SACK, a timestamp or a hasty ACK may tell that it was needless.

use std::collections::VecDeque;

/// The most remembered.
const MOST: usize = 1024;

/// A stretch sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    pub seq: u64,
    pub end: u64,
    /// The log's number of the transmission before, thought lost.
    pub entry: u32,
    pub segments: u16,
    /// It is known to have been needless.
    pub needless: bool,
}

/// In the order of time.
#[derive(Debug, Default)]
pub struct Resent {
    list: VecDeque<Again>,
}

impl Resent {
    pub fn push(&mut self, again: Again) {
        if self.list.len() >= MOST {
            self.list.pop_front();
        }
        self.list.push_back(again);
    }

    /// Marks what lies within `seq` to `end` as needless; `found` is told of each.
    pub fn needless(&mut self, seq: u64, end: u64, mut found: impl FnMut(&Again)) {
        for a in &mut self.list {
            if a.seq >= seq && a.end <= end && !a.needless {
                a.needless = true;
                found(a);
            }
        }
    }
}
