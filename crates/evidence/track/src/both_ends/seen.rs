//! Reads a capture's connections, with the fields that identify each packet in the other capture.

use super::clock::ClockFit;
use crate::table;
use capture::{Endpoint, TcpFlags, TcpPacket};
use std::collections::HashMap;
use units::Time;

/// Maximum number of TCP packets of a capture that are paired, at 48 bytes each. Later ones are treated as in
/// a single capture.
const MAX_PACKETS: u32 = 1 << 23;

/// A packet, reduced to the fields that only a proxy changes between two captures. Addresses and ports, which
/// NAT changes, and the time to live are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SeenPacket {
    pub time: Time,
    /// Index among the capture's TCP packets, from 0.
    pub index: u32,
    pub seq: u32,
    pub ack: u32,
    pub len: u32,
    /// TSval; 0 if it has none.
    pub tsval: u32,
    pub window: u16,
    /// IP identification; 0 if it has none.
    pub id: u16,
    pub flags: TcpFlags,
}

impl SeenPacket {
    /// SYN, FIN and RST, but not PSH, which segmentation moves.
    fn control(&self) -> u8 {
        self.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0)
    }

    /// Identifies a packet without payload.
    pub fn key(&self) -> (u32, u32, u32, u16, u16, u8) {
        (self.seq, self.ack, self.tsval, self.window, self.id, self.control())
    }
}

/// A connection in one capture.
#[derive(Clone, Debug)]
pub(super) struct SeenConnection {
    pub ends: [Endpoint; 2],
    /// Initial sequence numbers, by end.
    pub isn: [Option<u32>; 2],
    /// The end that opened it, if its SYN or the SYN/ACK was seen.
    pub opener: Option<usize>,
    /// Packets by end, in the capture's order.
    pub packets: [Vec<SeenPacket>; 2],
}

/// The connections of a capture.
#[derive(Debug, Default)]
pub(super) struct SeenCapture {
    /// Connections in order of their first packets.
    pub connections: Vec<SeenConnection>,
    /// The open connection between two ends.
    open: HashMap<[Endpoint; 2], usize>,
    /// Number of TCP packets.
    pub packets: u32,
    /// Times of the first and the last TCP packet.
    pub times: Option<(Time, Time)>,
    /// Times of the first and the last record of the file.
    pub watched: (Time, Time),
}

impl SeenCapture {
    /// Converts all times to the clock here.
    pub fn set_clock(&mut self, clock: &ClockFit) {
        let (from, to) = self.watched;
        self.watched = (clock.here(from), clock.here(to));
        let packets = self.connections.iter_mut().flat_map(|c| c.packets.iter_mut().flatten());
        packets.for_each(|p| p.time = clock.here(p.time));
    }

    /// Adds the next packet.
    pub fn packet(&mut self, p: &TcpPacket) {
        let index = self.packets;
        if index >= MAX_PACKETS {
            return;
        }
        self.packets += 1;
        let (first, last) = self.times.unwrap_or((p.time, p.time));
        self.times = Some((first.min(p.time), last.max(p.time)));
        let (ends, side) = table::key(p.src, p.dst);
        let syn = p.flags.has(TcpFlags::SYN);
        let answer = syn && p.flags.has(TcpFlags::ACK);
        let known = self.open.get(&ends).copied().filter(|at| {
            // A SYN with another sequence number opens another connection.
            let isn = self.connections[*at].isn[side];
            !syn || answer || isn.is_none_or(|isn| isn == p.seq)
        });
        let at = known.unwrap_or_else(|| {
            let isn = [None; 2];
            self.connections.push(SeenConnection { ends, isn, opener: None, packets: Default::default() });
            self.open.insert(ends, self.connections.len() - 1);
            self.connections.len() - 1
        });
        let connection = &mut self.connections[at];
        if syn {
            connection.isn[side].get_or_insert(p.seq);
            connection.opener.get_or_insert(if answer { 1 - side } else { side });
        }
        connection.packets[side].push(SeenPacket {
            time: p.time,
            index,
            seq: p.seq,
            ack: p.ack,
            len: p.len,
            tsval: p.options.timestamps.map_or(0, |t| t.0),
            window: p.window,
            id: p.id,
            flags: p.flags,
        });
    }
}

/// A connection that is in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionPair {
    /// Index of the connection in each capture.
    pub at: [usize; 2],
    /// The ends are in the opposite order there.
    pub swapped: bool,
    /// The addresses or ports differ between the captures.
    pub translated: bool,
}

impl ConnectionPair {
    /// The index there of the end `side` here.
    pub fn there(&self, side: usize) -> usize {
        if self.swapped { 1 - side } else { side }
    }
}

/// Finds the connections that are in both captures: by their ends or, where those differ, by the sequence
/// numbers of both SYNs. NAT leaves these 64 bits unchanged, and two connections share them only by intent
/// (RFC 6528).
pub(super) fn connections(captures: [&SeenCapture; 2]) -> Vec<ConnectionPair> {
    let [here, there] = captures.map(|c| &c.connections);
    let mut by_ends: HashMap<[Endpoint; 2], Vec<usize>> = HashMap::new();
    // The last first: they are taken from the end.
    for (i, c) in there.iter().enumerate().rev() {
        by_ends.entry(c.ends).or_default().push(i);
    }
    let mut taken = vec![false; there.len()];
    let mut pairs = Vec::new();
    let mut left = Vec::new();
    for (i, c) in here.iter().enumerate() {
        let same =
            |other: &SeenConnection| (0..2).all(|s| c.isn[s].zip(other.isn[s]).is_none_or(|(a, b)| a == b));
        let candidates = by_ends.get_mut(&c.ends);
        let found = candidates.and_then(|list| {
            let at = list.iter().rposition(|j| same(&there[*j]))?;
            Some(list.remove(at))
        });
        match found {
            Some(j) => {
                taken[j] = true;
                pairs.push(ConnectionPair { at: [i, j], swapped: false, translated: false });
            }
            None => left.push(i),
        }
    }
    let handshake = |c: &SeenConnection| {
        let opener = c.opener?;
        Some((c.isn[opener]?, c.isn[1 - opener]?))
    };
    // Returns the index of the connection with each pair of sequence numbers, if it is unique.
    let unique = |list: &[SeenConnection], some: &mut dyn Iterator<Item = usize>| {
        let mut by_numbers: HashMap<(u32, u32), Option<usize>> = HashMap::new();
        for i in some {
            if let Some(numbers) = handshake(&list[i]) {
                by_numbers.entry(numbers).and_modify(|at| *at = None).or_insert(Some(i));
            }
        }
        by_numbers
    };
    let unique_here = unique(here, &mut left.iter().copied());
    let unique_there = unique(there, &mut (0..there.len()).filter(|j| !taken[*j]));
    for i in left {
        let numbers = handshake(&here[i]).filter(|n| unique_here.get(n) == Some(&Some(i)));
        if let Some(&Some(j)) = numbers.and_then(|n| unique_there.get(&n)) {
            let swapped = here[i].opener != there[j].opener;
            pairs.push(ConnectionPair { at: [i, j], swapped, translated: true });
        }
    }
    pairs.sort_by_key(|p| p.at);
    pairs
}
