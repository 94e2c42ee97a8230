//! UDP between two captures: which datagrams passed both, which of its directions passed which capture first.
//!
//! A datagram has no sequence number that holds for all of UDP. It is told from others by its first bytes ([`DATAGRAM_HEAD`] of
//! them), which nothing on the way changes, and by IP identification where that arrives as it was sent. A direction passes first
//! the capture that, beside the other direction, has its datagrams earlier (as with TCP); where there is no other direction, the
//! one that has datagrams which the other lacks.
//!
//! [`DATAGRAM_HEAD`]: capture::UdpDatagram::head

use super::PairError;
use super::clock::{self, ClockFit, PassedBoth, difference};
use super::fates::passes_here_first;
use capture::{Addr, Endpoint, UdpDatagram};
use std::collections::{BTreeMap, HashMap, HashSet};
use units::{Span, Time, fnv1a};

/// Datagrams of a capture that are paired; what comes later is told of as with one capture alone. At 32 bytes each.
const MOST_DATAGRAMS: u32 = 1 << 23;
/// FNV-1a's offset basis (draft-eastlake-fnv, section 5).
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// The same identification and bytes within this, of the last so many, are one datagram that a mirror port recorded twice: no sender
/// counts through 65536 numbers in it.
const MIRRORED: Span = Span::from_millis(50);
const MIRRORED_BACK: usize = 64;
/// A flow whose addresses were translated is known by so many datagrams that are like no other.
const FEWEST_ALIKE: usize = 3;

/// A datagram, by what nothing between two captures changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeenDatagram {
    pub time: Time,
    /// Of its first bytes (FNV-1a).
    pub print: u64,
    /// Which datagram of the capture it is, from 0.
    pub index: u32,
    pub len: u32,
    /// IP identification; 0 where it has none.
    pub id: u16,
}

/// What one port sent to another, in one capture.
#[derive(Clone, Debug)]
pub(super) struct SeenUdpFlow {
    pub from: Endpoint,
    pub to: Endpoint,
    pub packets: Vec<SeenDatagram>,
}

/// A capture's flows.
#[derive(Debug, Default)]
pub(super) struct SeenDatagrams {
    /// In the order of first datagrams; without records that stand twice.
    pub flows: Vec<SeenUdpFlow>,
    open: HashMap<(Endpoint, Endpoint), usize>,
    /// Datagrams.
    pub count: u32,
}

impl SeenDatagrams {
    /// Takes the next datagram.
    pub fn datagram(&mut self, d: &UdpDatagram) {
        let index = self.count;
        if index >= MOST_DATAGRAMS {
            return;
        }
        self.count += 1;
        let flows = &mut self.flows;
        let at = *self.open.entry((d.src, d.dst)).or_insert_with(|| {
            flows.push(SeenUdpFlow { from: d.src, to: d.dst, packets: Vec::new() });
            flows.len() - 1
        });
        let print = fnv1a(d.head(), BASIS);
        let packets = &mut flows[at].packets;
        let near = packets.iter().rev().take(MIRRORED_BACK).take_while(|p| d.time.since(p.time) < MIRRORED);
        if d.id != 0 && near.into_iter().any(|p| p.id == d.id && p.print == print) {
            return;
        }
        packets.push(SeenDatagram { time: d.time, print, index, len: d.len, id: d.id });
    }

    /// Tells all times by the clock here.
    pub fn set_clock(&mut self, clock: &ClockFit) {
        self.flows.iter_mut().flat_map(|f| &mut f.packets).for_each(|p| p.time = clock.here(p.time));
    }
}

/// A direction of a flow that both captures have.
#[derive(Clone, Debug)]
pub(super) struct UdpPair {
    /// Its place in each capture.
    pub at: [usize; 2],
    /// Its addresses or ports differ.
    pub translated: bool,
    /// Which capture it passes first: 0 here, 1 there.
    pub first: usize,
    /// Whether that is known by the clocks, which takes both directions.
    pub two_way: bool,
    /// Datagrams that surely passed both.
    pub sure: Vec<PassedBoth>,
}

/// What tells a datagram from others.
type DatagramKey = (u64, u16);

/// By its bytes, and by identification where that is looked at.
fn key(p: &SeenDatagram, with_id: bool) -> DatagramKey {
    (p.print, if with_id { p.id } else { 0 })
}

/// The keys that stand once in a list, and where.
fn singles(packets: &[SeenDatagram], with_id: bool) -> HashMap<DatagramKey, usize> {
    let mut places: HashMap<DatagramKey, Option<usize>> = HashMap::with_capacity(packets.len());
    for (i, p) in packets.iter().enumerate().filter(|(_, p)| !with_id || p.id != 0) {
        places.entry(key(p, with_id)).and_modify(|at| *at = None).or_insert(Some(i));
    }
    places.into_iter().filter_map(|(key, at)| Some((key, at?))).collect()
}

/// By their bytes, which no translator changes; where these hardly tell (a capture of headers alone), by identification as well.
fn sure_pairs(here: &[SeenDatagram], there: &[SeenDatagram]) -> Vec<PassedBoth> {
    let by = |with_id: bool| {
        let (a, b) = (singles(here, with_id), singles(there, with_id));
        let both = a.iter().filter_map(|(key, i)| Some((*i, *b.get(key)?)));
        let mut sure: Vec<PassedBoth> =
            both.map(|(i, j)| PassedBoth { here: here[i].time, there: there[j].time }).collect();
        sure.sort_by_key(|p| (p.here, p.there));
        sure
    };
    let (bytes, both) = (by(false), by(true));
    if both.len() > 2 * bytes.len() { both } else { bytes }
}

/// Finds the flows that both captures have: by addresses and ports and, where those differ, by what their datagrams bring.
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
    let mut of_print: HashMap<u64, usize> = HashMap::new();
    for (j, flow) in there.flows.iter().enumerate().filter(|(j, _)| !taken[*j]) {
        of_print.extend(singles(&flow.packets, false).keys().map(|key| (key.0, j)));
    }
    for i in left {
        let own = singles(&here.flows[i].packets, false);
        let mut votes: HashMap<usize, usize> = HashMap::new();
        own.keys().filter_map(|key| of_print.get(&key.0)).for_each(|j| *votes.entry(*j).or_default() += 1);
        let best = votes.into_iter().max_by_key(|(j, n)| (*n, std::cmp::Reverse(*j)));
        if let Some((j, _)) = best.filter(|(j, n)| *n >= FEWEST_ALIKE && !taken[*j]) {
            taken[j] = true;
            let sure = sure_pairs(&here.flows[i].packets, &there.flows[j].packets);
            pairs.push(UdpPair { at: [i, j], translated: true, first: 0, two_way: false, sure });
        }
    }
    pairs.sort_by_key(|p| p.at);
    set_firsts(seen, &mut pairs);
    pairs
}

/// Which capture each direction passes first: what the flows of two hosts show together, be they on other ports each way.
fn set_firsts(seen: [&SeenDatagrams; 2], pairs: &mut [UdpPair]) {
    let mut of_hosts: BTreeMap<(Addr, Addr), Vec<PassedBoth>> = BTreeMap::new();
    let hosts = |p: &UdpPair| {
        let flow = &seen[0].flows[p.at[0]];
        (flow.from.addr, flow.to.addr)
    };
    for pair in pairs.iter() {
        of_hosts.entry(hosts(pair)).or_default().extend(&pair.sure);
    }
    of_hosts.values_mut().for_each(|sure| sure.sort_by_key(|p| (p.here, p.there)));
    for pair in pairs.iter_mut() {
        let (from, to) = hosts(pair);
        let back = of_hosts.get(&(to, from)).filter(|_| from != to);
        let here = back.and_then(|back| passes_here_first(&of_hosts[&(from, to)], back));
        let alone = [0, 1].map(|c| only_in(seen, pair, c));
        pair.two_way = here.is_some();
        pair.first = usize::from(here.map_or(alone[1] > alone[0], |here| !here));
    }
}

/// Of directions without another, those whose way takes longer than the clocks may be off, by the clocks.
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

/// Datagrams that one capture has and the other has not, of the time between the first and the last that both have.
fn only_in(seen: [&SeenDatagrams; 2], pair: &UdpPair, capture: usize) -> usize {
    let of = |c: usize| &seen[c].flows[pair.at[c]].packets;
    let time = |p: &PassedBoth| if capture == 0 { p.here } else { p.there };
    let (Some(first), Some(last)) = (pair.sure.first().map(time), pair.sure.last().map(time)) else {
        return 0;
    };
    let keys = |with_id| of(1 - capture).iter().map(|p| key(p, with_id)).collect::<HashSet<_>>();
    let named = keys(true);
    // Translators may number anew.
    let with_id = of(capture).iter().any(|p| p.id != 0 && named.contains(&key(p, true)));
    let other = if with_id { named } else { keys(false) };
    let inside = of(capture).iter().filter(|p| p.time >= first && p.time <= last);
    inside.filter(|p| !other.contains(&key(p, with_id))).count()
}

/// What passed here first and there first, of directions of which that is known (`two_way`), or of the others.
pub(super) fn sure_datagrams(pairs: &[UdpPair], two_way: bool) -> [Vec<PassedBoth>; 2] {
    [0, 1].map(|first| {
        let all = pairs.iter().filter(|p| p.first == first && p.two_way == two_way);
        all.flat_map(|p| p.sure.iter().copied()).collect()
    })
}

/// The clocks, by the packets of TCP that surely passed both captures and the datagrams of both directions; where there is no
/// connection, by those of one.
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

/// The other capture's datagrams as this one would have them.
pub(super) struct RenamedDatagrams {
    /// Of each datagram there, its pair's place; beyond the list where none is paired.
    of_datagram: Vec<u32>,
    ends: Vec<(Endpoint, Endpoint)>,
}

impl RenamedDatagrams {
    pub fn of(seen: [&SeenDatagrams; 2], pairs: &[UdpPair]) -> RenamedDatagrams {
        let mut of_datagram = vec![u32::MAX; seen[1].count as usize];
        let mut ends = Vec::with_capacity(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            for p in &seen[1].flows[pair.at[1]].packets {
                of_datagram[p.index as usize] = i as u32;
            }
            let here = &seen[0].flows[pair.at[0]];
            ends.push((here.from, here.to));
        }
        RenamedDatagrams { of_datagram, ends }
    }

    /// The datagram with this number, at `time` by the clock here; `None` where its flow is not paired.
    pub fn datagram(&self, index: usize, time: Time, mut d: UdpDatagram) -> Option<UdpDatagram> {
        (d.src, d.dst) = *self.ends.get(*self.of_datagram.get(index)? as usize)?;
        d.time = time;
        Some(d)
    }
}
