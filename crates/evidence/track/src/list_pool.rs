//! Memory of silent connections' lists, reused for new connections so that their lists need not grow from
//! nothing.

use crate::Bin;
use crate::log::PooledLog;
use crate::scoreboard::SentSegment;
use std::collections::VecDeque;

/// Maximum size of one direction's lists, bytes. Larger ones are freed.
pub const MAX_POOLED_BYTES: usize = 64 << 10;
/// Maximum size of the whole pool, bytes.
const MAX_POOL_BYTES: usize = 8 << 20;

/// Empty lists of a direction, kept for their memory.
#[derive(Debug, Default)]
pub struct PooledLists {
    pub scoreboard: VecDeque<SentSegment>,
    pub log: PooledLog,
    pub bins: Vec<Bin>,
}

impl PooledLists {
    fn bytes(&self) -> usize {
        let scoreboard = self.scoreboard.capacity() * size_of::<SentSegment>();
        scoreboard + self.log.bytes() + self.bins.capacity() * size_of::<Bin>()
    }
}

/// Lists that no direction uses.
#[derive(Debug, Default)]
pub struct ListPool {
    lists: Vec<PooledLists>,
    bytes: usize,
}

impl ListPool {
    /// Takes lists for a new connection.
    pub fn take(&mut self) -> Option<PooledLists> {
        let lists = self.lists.pop()?;
        self.bytes -= lists.bytes();
        Some(lists)
    }

    /// Returns lists of a connection that no longer needs them.
    pub fn put(&mut self, lists: PooledLists) {
        let bytes = lists.bytes();
        if (1..=MAX_POOLED_BYTES).contains(&bytes) && self.bytes + bytes <= MAX_POOL_BYTES {
            self.bytes += bytes;
            self.lists.push(lists);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_bounded() {
        let mut store = ListPool::default();
        let lists = |bins: usize| PooledLists { bins: Vec::with_capacity(bins), ..PooledLists::default() };
        store.put(lists(0));
        store.put(lists(MAX_POOLED_BYTES));
        assert!(store.take().is_none());
        let bytes = 8 * size_of::<Bin>();
        (0..2 * MAX_POOL_BYTES / bytes).for_each(|_| store.put(lists(8)));
        assert_eq!(std::iter::from_fn(|| store.take()).count(), MAX_POOL_BYTES / bytes);
        assert_eq!(store.bytes, 0);
    }
}
