//! What became of each datagram between two captures, and how they were spread on the way.
//!
//! - **Lost** is what the other capture does not have although it watched: of datagrams that look alike those are taken for lost
//!   that leave the others the most even delays. Where segmentation offload cut or joined datagrams (UDP GSO and GRO: those of one
//!   beginning have another length there), what has no counterpart is not known, not lost.
//! - **Jitter** is RFC 3550's (section 6.4.1) of times of departure that were measured, not written into packets: D is by how much the
//!   delays of two datagrams differ that arrived one after the other. It hangs on neither clock's offset.
//! - **Late** is the delay above the least (RFC 5481 section 4.2: packet delay variation).

use super::clock::difference;
use super::datagrams::{SeenDatagram, SeenDatagrams, UdpPair};
use crate::between::{DatagramsBetween, LateSpan, PacketBeyond};
use crate::udp::UdpTrack;
use capture::Endpoint;
use std::collections::{HashMap, VecDeque};
use units::{Span, Time};

/// Lost datagrams whose times are told of each direction.
const MOST_LOST: usize = 1_000;
/// Parts of a direction's time.
const PARTS: u64 = 200;
/// As of TCP ([`super::fates`]): one that has not come so long after the slowest is lost.
const LATEST: Span = Span::from_secs(5);
/// Of more that look alike the first ones are taken to have come: which of them did would take their number squared to find.
const MOST_ALIKE: usize = 256;

/// The fate of a datagram sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatagramFate {
    /// It arrived so long after, ns; its delay is not known where it was one of several alike.
    Came(Option<i64>),
    Lost,
    Unknown,
}

/// One direction, put together.
pub(super) struct UdpSpread {
    pub from: Endpoint,
    pub to: Endpoint,
    pub first: usize,
    pub between: DatagramsBetween,
    /// Of each datagram by its index in the capture that it passes first.
    pub told: Vec<(u32, PacketBeyond)>,
    /// Datagrams that came and that the first capture does not have.
    pub unsent: u64,
}

/// What a pair's captures say together; times of both are by the clock here. `watched`: the time in which each capture saw packets.
/// `two_way`: the clocks' offset is known, and with it what the way takes at least.
pub(super) fn spread(
    seen: [&SeenDatagrams; 2],
    pair: &UdpPair,
    watched: [(Time, Time); 2],
    two_way: bool,
) -> UdpSpread {
    let list = |capture: usize| &seen[capture].flows[pair.at[capture]].packets[..];
    let (sent, arrived) = (list(pair.first), list(1 - pair.first));
    let mut board = Board::new(sent, arrived);
    board.judge(watched[1 - pair.first]);
    let here = &seen[0].flows[pair.at[0]];
    let least = board.least();
    UdpSpread {
        from: here.from,
        to: here.to,
        first: pair.first,
        told: board.told(least),
        unsent: board.unsent(),
        between: DatagramsBetween { least_ns: least.filter(|_| two_way), ..board.between(least) },
    }
}

struct Board<'a> {
    sent: &'a [SeenDatagram],
    arrived: &'a [SeenDatagram],
    fates: Vec<DatagramFate>,
    /// Of each that arrived, which one it is of those sent.
    origin: Vec<Option<usize>>,
    doubled: u64,
    /// Offload cut or joined some.
    cut: bool,
}

/// Places of datagrams that look alike.
type AlikeDatagrams = HashMap<(u64, u16), Vec<usize>>;

fn alike(list: &[SeenDatagram], with_id: bool) -> AlikeDatagrams {
    let mut all = AlikeDatagrams::with_capacity(list.len());
    for (i, p) in list.iter().enumerate() {
        all.entry((p.print, if with_id { p.id } else { 0 })).or_default().push(i);
    }
    all
}

impl<'a> Board<'a> {
    fn new(sent: &'a [SeenDatagram], arrived: &'a [SeenDatagram]) -> Board<'a> {
        let fates = vec![DatagramFate::Unknown; sent.len()];
        let origin = vec![None; arrived.len()];
        let mut board = Board { sent, arrived, fates, origin, doubled: 0, cut: false };
        // Translators may number anew: identifications count where any arrives as it was sent.
        let (mut out, mut came) = (alike(sent, true), alike(arrived, true));
        if !out.keys().any(|key| key.1 != 0 && came.contains_key(key)) {
            (out, came) = (alike(sent, false), alike(arrived, false));
        }
        let mut keys: Vec<&(u64, u16)> = out.keys().filter(|key| came.contains_key(key)).collect();
        // Those that are like no other first: they say what the way takes.
        keys.sort_by_key(|key| (out[*key].len(), out[*key][0]));
        let mut usual = None;
        for key in keys {
            board.pair(&out[key], &came[key], &mut usual);
        }
        board
    }

    /// Pairs datagrams that look alike: in order, where all came, or came twice; else so that delays are the most `usual`.
    fn pair(&mut self, out: &[usize], came: &[usize], usual: &mut Option<i64>) {
        let took = |board: &Board, i: usize, j: usize| difference(board.arrived[j].time, board.sent[i].time);
        let mut open: VecDeque<usize> = out.iter().copied().collect();
        let in_order = came.len() >= out.len() || out.len() > MOST_ALIKE;
        for &j in came {
            let by_delay = |i: &usize| usual.map_or(0, |usual| took(self, *i, j).abs_diff(usual));
            let looked_at = if in_order { open.len().min(1) } else { open.len() };
            let best = (0..looked_at).min_by_key(|k| by_delay(&open[*k]));
            let Some(i) = best.and_then(|best| open.remove(best)) else {
                self.doubled += 1;
                continue;
            };
            self.origin[j] = Some(i);
            self.cut |= self.sent[i].len != self.arrived[j].len;
            let known = (out.len() == came.len()).then(|| took(self, i, j));
            self.fates[i] = DatagramFate::Came(known);
            *usual = known.or(*usual);
        }
    }

    /// What did not come was lost, if the other capture would have shown it.
    fn judge(&mut self, watched: (Time, Time)) {
        let delays = || self.fates.iter().filter_map(DatagramFate::delay);
        let (shortest, longest) = (delays().min().unwrap_or(0), delays().max().unwrap_or(0));
        let came = |f: &DatagramFate| matches!(f, DatagramFate::Came(_));
        let lasts = Span::from_nanos(longest.max(0) as u64) + LATEST;
        let last_came = self.fates.iter().rposition(came).map(|i| self.sent[i].time);
        let until =
            last_came.max(Some(Time::from_nanos(watched.1.as_nanos().saturating_sub(lasts.as_nanos()))));
        for (fate, p) in self.fates.iter_mut().zip(self.sent) {
            let begun = difference(p.time, watched.0).saturating_add(shortest) >= 0;
            if *fate == DatagramFate::Unknown && begun && Some(p.time) <= until && !self.cut {
                *fate = DatagramFate::Lost;
            }
        }
    }

    fn least(&self) -> Option<i64> {
        self.fates.iter().filter_map(DatagramFate::delay).min()
    }

    fn told(&self, least: Option<i64>) -> Vec<(u32, PacketBeyond)> {
        let one = |fate: &DatagramFate, len: u32| match fate {
            DatagramFate::Came(took) => PacketBeyond::Sent { late: late(*took, least).into(), lost: 0 },
            DatagramFate::Lost => PacketBeyond::Sent { late: None.into(), lost: len.max(1) },
            DatagramFate::Unknown => PacketBeyond::Unknown,
        };
        self.sent.iter().zip(&self.fates).map(|(p, fate)| (p.index, one(fate, p.len))).collect()
    }

    /// Came, but was not seen to be sent; what was on its way when the first capture began may be such.
    fn unsent(&self) -> u64 {
        let Some(begin) = self.sent.first().map(|p| p.time + LATEST).filter(|_| !self.cut) else { return 0 };
        let all = self.arrived.iter().zip(&self.origin);
        let unsent = all.filter(|(p, origin)| origin.is_none() && p.time > begin).count() as u64;
        unsent.saturating_sub(self.doubled)
    }

    fn between(&self, least: Option<i64>) -> DatagramsBetween {
        let mut out = DatagramsBetween {
            doubled: self.doubled,
            cut: self.cut,
            reordered: self.reordered(),
            ..DatagramsBetween::default()
        };
        (out.jitter, out.max_jitter) = self.jitter();
        let (Some(first), Some(last)) = (self.sent.first(), self.sent.last()) else { return out };
        let part = last.time.since(first.time) / PARTS + Span::from_nanos(1);
        let mut run = 0;
        for (p, fate) in self.sent.iter().zip(&self.fates) {
            let since = p.time.since(first.time).as_nanos() / part.as_nanos();
            let from = first.time + part * since;
            if out.over_time.last().is_none_or(|span| span.from < from) {
                out.over_time.push(LateSpan { from, ..LateSpan::default() });
            }
            let Some(span) = out.over_time.last_mut() else { continue };
            match *fate {
                DatagramFate::Unknown => out.unknown_packets += 1,
                DatagramFate::Came(_) => {
                    out.arrived_packets += 1;
                    span.arrived += 1;
                }
                DatagramFate::Lost => {
                    out.lost_packets += 1;
                    span.lost += 1;
                    out.lost.push(p.time);
                }
            }
            run = if *fate == DatagramFate::Lost { run + 1 } else { 0 };
            out.longest_run = out.longest_run.max(run);
            if let Some(late) = late(fate.delay(), least) {
                out.late.record(late);
                span.sum += late;
                span.most = span.most.max(late);
            }
        }
        out.lost.truncate(MOST_LOST);
        out
    }

    /// Those that came after one that was sent later (RFC 4737 section 3.3).
    fn reordered(&self) -> u64 {
        let mut latest = None;
        let mut count = 0;
        for i in self.origin.iter().flatten() {
            count += u64::from(latest.is_some_and(|l| *i < l));
            latest = latest.max(Some(*i));
        }
        count
    }

    /// The mean of |D|, and the most that RFC 3550's J was.
    fn jitter(&self) -> (Option<Span>, Option<Span>) {
        let delays = self.origin.iter().flatten().filter_map(|i| self.fates[*i].delay());
        let (mut last, mut sum, mut count, mut j, mut most) = (None::<i64>, 0.0, 0u64, 0.0f64, 0.0f64);
        for delay in delays {
            if let Some(last) = last {
                let d = delay.abs_diff(last) as f64;
                sum += d;
                count += 1;
                j += (d - j) / 16.0;
                most = most.max(j);
            }
            last = Some(delay);
        }
        let span = |ns: f64| (count > 0).then(|| Span::from_nanos(ns.round() as u64));
        (span(sum / count.max(1) as f64), span(most))
    }
}

impl DatagramFate {
    fn delay(&self) -> Option<i64> {
        match self {
            DatagramFate::Came(took) => *took,
            _ => None,
        }
    }
}

/// By how much longer than at least.
fn late(took: Option<i64>, least: Option<i64>) -> Option<Span> {
    Some(Span::from_nanos(took?.saturating_sub(least?).max(0) as u64))
}

/// What each capture's follower of UDP is told of each of so many datagrams.
pub(super) fn told_datagrams(spreads: &[UdpSpread], counts: [u32; 2]) -> [Vec<PacketBeyond>; 2] {
    let mut all = counts.map(|n| vec![PacketBeyond::Unasked; n as usize]);
    for spread in spreads {
        spread.told.iter().for_each(|(index, beyond)| all[spread.first][*index as usize] = *beyond);
    }
    all
}

/// Puts what the capture on the sender's side has of a direction in the place of the other's, and beside it what both say.
pub(super) fn join_datagrams(here: &mut [UdpTrack], there: Vec<UdpTrack>, spreads: Vec<UdpSpread>) {
    let place = |tracks: &[UdpTrack]| -> HashMap<(Endpoint, Endpoint), (usize, usize)> {
        let ways = tracks
            .iter()
            .enumerate()
            .flat_map(|(i, t)| [0, 1].map(|side| ((t.ends[side], t.ends[1 - side]), (i, side))));
        ways.collect()
    };
    let (at, other) = (place(here), place(&there));
    for spread in spreads {
        let key = (spread.from, spread.to);
        let Some((i, side)) = at.get(&key).copied() else { continue };
        if let Some((j, s)) = other.get(&key).copied().filter(|_| spread.first == 1) {
            here[i].ways[side] = there[j].ways[s].clone();
        }
        here[i].ways[side].between = Some(Box::new(spread.between));
    }
}
