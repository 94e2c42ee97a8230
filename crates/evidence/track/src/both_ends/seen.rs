//! What is kept of each capture to put both together: its connections, and of each packet what tells it from others.

use super::clock::ClockFit;
use crate::table;
use capture::{Endpoint, TcpFlags, TcpPacket};
use std::collections::HashMap;
use units::Time;

/// TCP packets of a capture that are paired; what comes later is told of as with one capture alone. At 48 bytes each.
const MOST_PACKETS: u32 = 1 << 23;

/// A packet, by what nothing between two captures changes but what takes connections apart: neither addresses and ports, which
/// NAT does, nor the time to live.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SeenPacket {
    pub time: Time,
    /// Which TCP packet of the capture it is, from 0.
    pub index: u32,
    pub seq: u32,
    pub ack: u32,
    pub len: u32,
    /// 0 where it has none.
    pub tsval: u32,
    pub window: u16,
    /// IP identification; 0 where it has none.
    pub id: u16,
    pub flags: TcpFlags,
}

impl SeenPacket {
    /// SYN, FIN and RST, but not PSH, which segmentation moves.
    fn control(&self) -> u8 {
        self.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0)
    }

    /// What tells a packet without payload from others.
    pub fn key(&self) -> (u32, u32, u32, u16, u16, u8) {
        (self.seq, self.ack, self.tsval, self.window, self.id, self.control())
    }
}

/// A connection in one capture.
#[derive(Clone, Debug)]
pub(super) struct SeenConnection {
    pub ends: [Endpoint; 2],
    /// Sequence numbers of the SYNs, by end.
    pub isn: [Option<u32>; 2],
    /// Which end opened it, where its SYN or the answer was seen.
    pub opener: Option<usize>,
    /// By end, in the capture's order.
    pub packets: [Vec<SeenPacket>; 2],
}

/// A capture's connections.
#[derive(Debug, Default)]
pub(super) struct SeenCapture {
    /// In the order of first packets.
    pub connections: Vec<SeenConnection>,
    /// The one that is open between two ends.
    open: HashMap<[Endpoint; 2], usize>,
    /// TCP packets.
    pub packets: u32,
    /// Times of the first and the last of them.
    pub times: Option<(Time, Time)>,
    /// Times of the first and the last record of the file.
    pub watched: (Time, Time),
}

impl SeenCapture {
    /// Tells all times by the clock here.
    pub fn set_clock(&mut self, clock: &ClockFit) {
        let (from, to) = self.watched;
        self.watched = (clock.here(from), clock.here(to));
        let packets = self.connections.iter_mut().flat_map(|c| c.packets.iter_mut().flatten());
        packets.for_each(|p| p.time = clock.here(p.time));
    }

    /// Takes the next packet.
    pub fn packet(&mut self, p: &TcpPacket) {
        let index = self.packets;
        if index >= MOST_PACKETS {
            return;
        }
        self.packets += 1;
        let (first, last) = self.times.unwrap_or((p.time, p.time));
        self.times = Some((first.min(p.time), last.max(p.time)));
        let (ends, side) = table::key(p.src, p.dst);
        let syn = p.flags.has(TcpFlags::SYN);
        let answer = syn && p.flags.has(TcpFlags::ACK);
        let known = self.open.get(&ends).copied().filter(|at| {
            // Another SYN than that one opens another connection.
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

/// A connection that both captures have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionPair {
    /// Its place in each capture.
    pub at: [usize; 2],
    /// The ends stand in the other order there.
    pub turned: bool,
    /// Its addresses or ports differ.
    pub translated: bool,
}

impl ConnectionPair {
    /// The end there that is end `side` here.
    pub fn there(&self, side: usize) -> usize {
        if self.turned { 1 - side } else { side }
    }
}

/// Finds the connections that both have: by their ends and, where those differ, by both SYNs' sequence numbers, which NAT leaves
/// as they are and which are 64 bits that no two connections share but by design (RFC 6528).
pub(super) fn connections(captures: [&SeenCapture; 2]) -> Vec<ConnectionPair> {
    let [here, there] = captures.map(|c| &c.connections);
    let mut by_ends: HashMap<[Endpoint; 2], Vec<usize>> = HashMap::new();
    // The last first: they are taken from behind.
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
                pairs.push(ConnectionPair { at: [i, j], turned: false, translated: false });
            }
            None => left.push(i),
        }
    }
    let handshake = |c: &SeenConnection| {
        let opener = c.opener?;
        Some((c.isn[opener]?, c.isn[1 - opener]?))
    };
    // The place of the only one that has these numbers.
    let only = |list: &[SeenConnection], some: &mut dyn Iterator<Item = usize>| {
        let mut of: HashMap<(u32, u32), Option<usize>> = HashMap::new();
        for i in some {
            if let Some(numbers) = handshake(&list[i]) {
                of.entry(numbers).and_modify(|at| *at = None).or_insert(Some(i));
            }
        }
        of
    };
    let of_here = only(here, &mut left.iter().copied());
    let of_there = only(there, &mut (0..there.len()).filter(|j| !taken[*j]));
    for i in left {
        let numbers = handshake(&here[i]).filter(|n| of_here.get(n) == Some(&Some(i)));
        if let Some(&Some(j)) = numbers.and_then(|n| of_there.get(&n)) {
            let turned = here[i].opener != there[j].opener;
            pairs.push(ConnectionPair { at: [i, j], turned, translated: true });
        }
    }
    pairs.sort_by_key(|p| p.at);
    pairs
}
