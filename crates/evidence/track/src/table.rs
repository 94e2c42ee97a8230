//! Open connections, by their two endpoints.

use crate::connection::TrackedConnection;
use capture::Endpoint;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The two endpoints, the smaller first.
pub type EndpointPair = [Endpoint; 2];

/// Returns the key of a packet, and the index of its source in the key.
#[inline]
pub fn key(src: Endpoint, dst: Endpoint) -> (EndpointPair, usize) {
    if src <= dst { ([src, dst], 0) } else { ([dst, src], 1) }
}

/// A multiplicative hash. Its seed differs from process to process, so that no capture can be crafted in
/// which all connections collide.
#[derive(Clone, Copy, Debug)]
struct FoldHasher {
    state: u64,
    seed: u64,
}

impl FoldHasher {
    #[inline]
    fn mix(&mut self, n: u64) {
        let product = (self.state ^ n) as u128 * (self.seed | 1) as u128;
        self.state = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        let mut last = *self;
        last.mix(self.seed >> 1);
        last.state
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.mix(b as u64);
        }
    }
    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.mix(n as u64 | 1 << 32);
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }
    #[inline]
    fn write_u128(&mut self, n: u128) {
        self.mix(n as u64);
        self.mix((n >> 64) as u64);
    }
    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }
}

#[derive(Clone, Copy, Debug)]
struct SeededState([u64; 2]);

impl BuildHasher for SeededState {
    type Hasher = FoldHasher;
    #[inline]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher { state: self.0[0], seed: self.0[1] }
    }
}

/// The table of open connections.
pub struct ConnectionTable {
    slots: Vec<Option<Box<TrackedConnection>>>,
    free: Vec<u32>,
    by_ends: HashMap<EndpointPair, u32, SeededState>,
    /// The connection looked up last.
    last: Option<(EndpointPair, u32)>,
}

impl ConnectionTable {
    pub fn new() -> ConnectionTable {
        let random = RandomState::new();
        let seeds = [random.hash_one(1u8), random.hash_one(2u8)];
        ConnectionTable {
            slots: Vec::new(),
            free: Vec::new(),
            by_ends: HashMap::with_hasher(SeededState(seeds)),
            last: None,
        }
    }

    pub fn len(&self) -> usize {
        self.by_ends.len()
    }

    #[inline]
    pub fn find(&mut self, key: &EndpointPair) -> Option<usize> {
        if let Some((last, slot)) = &self.last
            && last == key
        {
            return Some(*slot as usize);
        }
        let slot = *self.by_ends.get(key)?;
        self.last = Some((*key, slot));
        Some(slot as usize)
    }

    /// Returns the connection of `key` without reading it.
    #[inline]
    pub fn peek(&self, key: &EndpointPair) -> Option<&TrackedConnection> {
        match &self.last {
            Some((last, slot)) if last == key => self.slots.get(*slot as usize)?.as_deref(),
            _ => self.slots.get(*self.by_ends.get(key)? as usize)?.as_deref(),
        }
    }

    pub fn insert(&mut self, key: EndpointPair, connection: TrackedConnection) -> usize {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize] = Some(Box::new(connection));
        self.by_ends.insert(key, slot);
        self.last = Some((key, slot));
        slot as usize
    }

    /// Returns the connection in `slot`, as returned by [`ConnectionTable::find`] and
    /// [`ConnectionTable::insert`].
    #[inline]
    pub fn get(&mut self, slot: usize) -> Option<&mut TrackedConnection> {
        self.slots.get_mut(slot)?.as_deref_mut()
    }

    pub fn remove(&mut self, slot: usize) -> Option<TrackedConnection> {
        let connection = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot as u32);
        self.by_ends.remove(&connection.ends);
        self.last = None;
        Some(*connection)
    }

    /// Returns the slots of the connections that match, in order of connection numbers.
    pub fn slots_where(&self, matches: impl Fn(&TrackedConnection) -> bool) -> Vec<usize> {
        let open = self.slots.iter().enumerate().filter_map(|(i, c)| c.as_ref().map(|c| (c, i)));
        let mut found: Vec<_> = open.filter(|(c, _)| matches(c)).map(|(c, i)| (c.number, i)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, slot)| slot).collect()
    }

    pub fn each(&mut self, f: impl FnMut(&mut TrackedConnection)) {
        self.slots.iter_mut().flatten().map(|c| &mut **c).for_each(f);
    }
}
