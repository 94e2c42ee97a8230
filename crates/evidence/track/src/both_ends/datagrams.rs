//! Pairs UDP datagrams and flows between two captures, and finds which capture each direction passes first.
//!
//! UDP has no sequence number. A datagram is identified by its first bytes ([`DATAGRAM_HEAD`] of them), which
//! nothing on the path changes, and by its IP identification where that arrives unchanged. A direction passes
//! first the capture that sees its datagrams earlier relative to the opposite direction (as for TCP). Without
//! an opposite direction, it is the capture that contains datagrams which the other lacks.
//!
//! [`DATAGRAM_HEAD`]: capture::UdpDatagram::head

use super::PairError;
use super::clock::{self, ClockFit, PassedBoth, difference};
use super::fates::passes_here_first;
use capture::{Addr, Endpoint, UdpDatagram};
use std::collections::{BTreeMap, HashMap, HashSet};
use units::{Span, Time, fnv1a};

/// Maximum number of datagrams of a capture that are paired, at 32 bytes each. Later ones are treated as in a
/// single capture.
const MAX_DATAGRAMS: u32 = 1 << 23;
/// FNV-1a's offset basis (draft-eastlake-fnv, section 5).
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// Among this many previous datagrams, one with the same identification and bytes within this time is a
/// duplicate made by a mirror port: no sender uses 65536 identifications in so short a time.
const MIRROR_DELAY: Span = Span::from_millis(50);
const MIRROR_LOOKBACK: usize = 64;
/// A flow whose addresses were translated is recognised by at least this many unique datagrams.
const MIN_COMMON: usize = 3;

/// A datagram, reduced to the fields that do not change between two captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeenDatagram {
    pub time: Time,
    /// FNV-1a hash of its first bytes.
    pub hash: u64,
    /// Index in the capture, from 0.
    pub index: u32,
    pub len: u32,
    /// IP identification; 0 if it has none.
    pub id: u16,
}

/// The datagrams from one port to another in one capture.
#[derive(Clone, Debug)]
pub(super) struct SeenUdpFlow {
    pub from: Endpoint,
    pub to: Endpoint,
    pub packets: Vec<SeenDatagram>,
}

/// The UDP flows of a capture.
#[derive(Debug, Default)]
pub(super) struct SeenDatagrams {
    /// Flows in order of their first datagrams, without duplicate records.
    pub flows: Vec<SeenUdpFlow>,
    open: HashMap<(Endpoint, Endpoint), usize>,
    /// Number of datagrams.
    pub count: u32,
}

impl SeenDatagrams {
    /// Adds the next datagram.
    pub fn datagram(&mut self, d: &UdpDatagram) {
        let index = self.count;
        if index >= MAX_DATAGRAMS {
            return;
        }
        self.count += 1;
        let flows = &mut self.flows;
        let at = *self.open.entry((d.src, d.dst)).or_insert_with(|| {
            flows.push(SeenUdpFlow { from: d.src, to: d.dst, packets: Vec::new() });
            flows.len() - 1
        });
        let hash = fnv1a(d.head(), FNV_BASIS);
        let packets = &mut flows[at].packets;
        let near =
            packets.iter().rev().take(MIRROR_LOOKBACK).take_while(|p| d.time.since(p.time) < MIRROR_DELAY);
        if d.id != 0 && near.into_iter().any(|p| p.id == d.id && p.hash == hash) {
            return;
        }
        packets.push(SeenDatagram { time: d.time, hash, index, len: d.len, id: d.id });
    }

    /// Converts all times to the clock here.
    pub fn set_clock(&mut self, clock: &ClockFit) {
        self.flows.iter_mut().flat_map(|f| &mut f.packets).for_each(|p| p.time = clock.here(p.time));
    }
}

/// A direction of a flow that is in both captures.
#[derive(Clone, Debug)]
pub(super) struct UdpPair {
    /// Index of the direction in each capture.
    pub at: [usize; 2],
    /// The addresses or ports differ between the captures.
    pub translated: bool,
    /// The capture that it passes first: 0 here, 1 there.
    pub first: usize,
    /// Whether `first` is known by the clocks, which requires both directions.
    pub two_way: bool,
    /// Datagrams that certainly passed both captures.
    pub sure: Vec<PassedBoth>,
}

/// The identity of a datagram: its hash, and its IP identification if that is compared.
type DatagramKey = (u64, u16);

/// Returns the key of a datagram, with its IP identification if `with_id`.
fn key(p: &SeenDatagram, with_id: bool) -> DatagramKey {
    (p.hash, if with_id { p.id } else { 0 })
}

/// Keys that occur once in a list, with their index.
fn unique(packets: &[SeenDatagram], with_id: bool) -> HashMap<DatagramKey, usize> {
    let mut places: HashMap<DatagramKey, Option<usize>> = HashMap::with_capacity(packets.len());
    for (i, p) in packets.iter().enumerate().filter(|(_, p)| !with_id || p.id != 0) {
        places.entry(key(p, with_id)).and_modify(|at| *at = None).or_insert(Some(i));
    }
    places.into_iter().filter_map(|(key, at)| Some((key, at?))).collect()
}

/// Pairs datagrams by their bytes, which no translator changes; where these hardly differ (a capture of
/// headers only), by identification as well.
fn sure_pairs(here: &[SeenDatagram], there: &[SeenDatagram]) -> Vec<PassedBoth> {
    let by = |with_id: bool| {
        let (a, b) = (unique(here, with_id), unique(there, with_id));
        let both = a.iter().filter_map(|(key, i)| Some((*i, *b.get(key)?)));
        let mut sure: Vec<PassedBoth> =
            both.map(|(i, j)| PassedBoth { here: here[i].time, there: there[j].time }).collect();
        sure.sort_by_key(|p| (p.here, p.there));
        sure
    };
    let (bytes, both) = (by(false), by(true));
    if both.len() > 2 * bytes.len() { both } else { bytes }
}

/// Finds the flows that are in both captures: by addresses and ports or, where those differ, by their
/// datagrams' contents.
pub(super) fn udp_pairs(seen: [&SeenDatagrams; 2]) -> Vec<UdpPair> {
    let [here, there] = seen;
    let mut pairs = Vec::new();
    let mut taken = vec![false; there.flows.len()];
    let mut left = Vec::new();
    for (i, flow) in here.flows.iter().enumerate() {
        let same = there.open.get(&(flow.from, flow.to)).copied();
        let pair = same.map(|j| (j, sure_pairs(&flow.packets, &there.flows[j].packets)));
        match pair.filter(|(_, sure)| !sure.is_empty()) {
            Some((j, sure)) => {
                taken[j] = true;
                pairs.push(UdpPair { at: [i, j], translated: false, first: 0, two_way: false, sure });
            }
            None => left.push(i),
        }
    }
    let mut flow_by_hash: HashMap<u64, usize> = HashMap::new();
    for (j, flow) in there.flows.iter().enumerate().filter(|(j, _)| !taken[*j]) {
        flow_by_hash.extend(unique(&flow.packets, false).keys().map(|key| (key.0, j)));
    }
    for i in left {
        let own = unique(&here.flows[i].packets, false);
        let mut votes: HashMap<usize, usize> = HashMap::new();
        own.keys()
            .filter_map(|key| flow_by_hash.get(&key.0))
            .for_each(|j| *votes.entry(*j).or_default() += 1);
        let best = votes.into_iter().max_by_key(|(j, n)| (*n, std::cmp::Reverse(*j)));
        if let Some((j, _)) = best.filter(|(j, n)| *n >= MIN_COMMON && !taken[*j]) {
            taken[j] = true;
            let sure = sure_pairs(&here.flows[i].packets, &there.flows[j].packets);
            pairs.push(UdpPair { at: [i, j], translated: true, first: 0, two_way: false, sure });
        }
    }
    pairs.sort_by_key(|p| p.at);
    set_firsts(seen, &mut pairs);
    pairs
}

/// Finds which capture each direction passes first, from all flows between two hosts together, even if their
/// ports differ by direction.
fn set_firsts(seen: [&SeenDatagrams; 2], pairs: &mut [UdpPair]) {
    let mut by_hosts: BTreeMap<(Addr, Addr), Vec<PassedBoth>> = BTreeMap::new();
    let hosts = |p: &UdpPair| {
        let flow = &seen[0].flows[p.at[0]];
        (flow.from.addr, flow.to.addr)
    };
    for pair in pairs.iter() {
        by_hosts.entry(hosts(pair)).or_default().extend(&pair.sure);
    }
    by_hosts.values_mut().for_each(|sure| sure.sort_by_key(|p| (p.here, p.there)));
    for pair in pairs.iter_mut() {
        let (from, to) = hosts(pair);
        let back = by_hosts.get(&(to, from)).filter(|_| from != to);
        let here = back.and_then(|back| passes_here_first(&by_hosts[&(from, to)], back));
        let alone = [0, 1].map(|c| only_in(seen, pair, c));
        pair.two_way = here.is_some();
        pair.first = usize::from(here.map_or(alone[1] > alone[0], |here| !here));
    }
}

/// Decides one-way directions by the clocks if their transit time exceeds the clocks' uncertainty.
pub(super) fn set_firsts_by_clock(pairs: &mut [UdpPair], clock: &ClockFit) {
    let off = clock.round_trip.as_nanos() as i64 / 2;
    for pair in pairs.iter_mut().filter(|p| !p.two_way && clock.two_way) {
        let mut took: Vec<i64> = pair.sure.iter().map(|p| difference(clock.here(p.there), p.here)).collect();
        took.sort_unstable();
        let middle = took[took.len() / 2];
        if middle.abs() > off {
            pair.first = usize::from(middle < 0);
        }
    }
}

/// Number of datagrams in one capture but not in the other, between the first and the last that are in both.
fn only_in(seen: [&SeenDatagrams; 2], pair: &UdpPair, capture: usize) -> usize {
    let packets = |c: usize| &seen[c].flows[pair.at[c]].packets;
    let time = |p: &PassedBoth| if capture == 0 { p.here } else { p.there };
    let (Some(first), Some(last)) = (pair.sure.first().map(time), pair.sure.last().map(time)) else {
        return 0;
    };
    let keys = |with_id| packets(1 - capture).iter().map(|p| key(p, with_id)).collect::<HashSet<_>>();
    let named = keys(true);
    // Translators may assign new identifications.
    let with_id = packets(capture).iter().any(|p| p.id != 0 && named.contains(&key(p, true)));
    let other = if with_id { named } else { keys(false) };
    let inside = packets(capture).iter().filter(|p| p.time >= first && p.time <= last);
    inside.filter(|p| !other.contains(&key(p, with_id))).count()
}

/// Datagrams that certainly passed both captures, by the capture passed first. `two_way` selects the
/// directions whose order is known by the clocks, or the others.
pub(super) fn sure_datagrams(pairs: &[UdpPair], two_way: bool) -> [Vec<PassedBoth>; 2] {
    [0, 1].map(|first| {
        let all = pairs.iter().filter(|p| p.first == first && p.two_way == two_way);
        all.flat_map(|p| p.sure.iter().copied()).collect()
    })
}

/// Aligns the clocks by the TCP packets and the two-way datagrams that certainly passed both captures;
/// without TCP, by datagrams of one direction if necessary.
pub(super) fn clock_of(tcp: [Vec<PassedBoth>; 2], udp: &[UdpPair]) -> Result<ClockFit, PairError> {
    let [mut out, mut back] = tcp;
    let is_tcp = !out.is_empty() || !back.is_empty();
    let [more_out, more_back] = sure_datagrams(udp, true);
    out.extend(more_out);
    back.extend(more_back);
    let known = clock::fit(&out, &back);
    let one_way = || {
        let [out, back] = sure_datagrams(udp, false);
        let (packets, is_out) = if out.len() >= back.len() { (out, true) } else { (back, false) };
        clock::fit_one_way(&packets, is_out)
    };
    let may_be_one_way = !is_tcp && (out.is_empty() || back.is_empty());
    let known = known.or_else(|| one_way().filter(|_| may_be_one_way));
    known.ok_or(PairError::Clocks { packets: [out.len(), back.len()] })
}

/// Converts the other capture's datagrams to the addresses and ports used here.
pub(super) struct RenamedDatagrams {
    /// Index of the pair of each datagram there; beyond the list if its flow is not paired.
    pair_of_datagram: Vec<u32>,
    ends: Vec<(Endpoint, Endpoint)>,
}

impl RenamedDatagrams {
    pub fn of(seen: [&SeenDatagrams; 2], pairs: &[UdpPair]) -> RenamedDatagrams {
        let mut pair_of_datagram = vec![u32::MAX; seen[1].count as usize];
        let mut ends = Vec::with_capacity(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            for p in &seen[1].flows[pair.at[1]].packets {
                pair_of_datagram[p.index as usize] = i as u32;
            }
            let here = &seen[0].flows[pair.at[0]];
            ends.push((here.from, here.to));
        }
        RenamedDatagrams { pair_of_datagram, ends }
    }

    /// Returns the datagram with this index, at `time` by the clock here; `None` if its flow is not paired.
    pub fn datagram(&self, index: usize, time: Time, mut d: UdpDatagram) -> Option<UdpDatagram> {
        (d.src, d.dst) = *self.ends.get(*self.pair_of_datagram.get(index)? as usize)?;
        d.time = time;
        Some(d)
    }
}
