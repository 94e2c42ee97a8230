//! Memory of connections that are silent for the next ones, so that their lists need not grow from nothing.

use crate::Bin;
use crate::log::SpareLog;
use crate::sent_board::SentSegment;
use std::collections::VecDeque;

/// The most bytes of one direction's lists: those of a long connection go back to the system.
pub const MOST_BYTES: usize = 64 << 10;
/// And of all.
const MOST_KEPT: usize = 8 << 20;

/// Memory of a direction's lists, which are empty.
#[derive(Debug, Default)]
pub struct SpareLists {
    pub board: VecDeque<SentSegment>,
    pub log: SpareLog,
    pub bins: Vec<Bin>,
}

impl SpareLists {
    fn bytes(&self) -> usize {
        let board = self.board.capacity() * size_of::<SentSegment>();
        board + self.log.bytes() + self.bins.capacity() * size_of::<Bin>()
    }
}

/// Those that no direction has.
#[derive(Debug, Default)]
pub struct SpareStore {
    lists: Vec<SpareLists>,
    bytes: usize,
}

impl SpareStore {
    /// For a connection that begins.
    pub fn take(&mut self) -> Option<SpareLists> {
        let lists = self.lists.pop()?;
        self.bytes -= lists.bytes();
        Some(lists)
    }

    /// A connection needs them no more.
    pub fn put(&mut self, lists: SpareLists) {
        let bytes = lists.bytes();
        if (1..=MOST_BYTES).contains(&bytes) && self.bytes + bytes <= MOST_KEPT {
            self.bytes += bytes;
            self.lists.push(lists);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_for_the_next_connection_is_bounded() {
        let mut store = SpareStore::default();
        let lists = |bins: usize| SpareLists { bins: Vec::with_capacity(bins), ..SpareLists::default() };
        store.put(lists(0));
        store.put(lists(MOST_BYTES));
        assert!(store.take().is_none());
        let bytes = 8 * size_of::<Bin>();
        (0..2 * MOST_KEPT / bytes).for_each(|_| store.put(lists(8)));
        assert_eq!(std::iter::from_fn(|| store.take()).count(), MOST_KEPT / bytes);
        assert_eq!(store.bytes, 0);
    }
}
