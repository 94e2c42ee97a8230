//! Finds the fate of each datagram between two captures, and their delays and jitter.
//!
//! - **Lost** are datagrams that the other capture lacks although it was recording. Among equal datagrams,
//!   those are taken for lost that leave the others the most even delays. Where segmentation offload split or
//!   merged datagrams (UDP GSO and GRO: equal first bytes, other length), the fate of a datagram without a
//!   counterpart is unknown, not lost.
//! - **Jitter** is RFC 3550's (section 6.4.1), with measured departure times instead of those in the packets:
//!   D is the difference between the delays of two datagrams that arrived in succession. It does not depend
//!   on the clocks' offset.
//! - **Late** is the delay above the minimum (RFC 5481 section 4.2: packet delay variation).

use super::clock::difference;
use super::datagrams::{SeenDatagram, SeenDatagrams, UdpPair};
use crate::between::{DatagramsBetween, DelaySlice, ExternalFate};
use crate::udp::UdpTrack;
use capture::Endpoint;
use std::collections::{HashMap, VecDeque};
use units::{Span, Time};

/// Maximum number of lost datagrams of a direction whose times are kept.
const MAX_LOST: usize = 1_000;
/// Number of slices of a direction's time.
const SLICES: u64 = 200;
/// A datagram that has not arrived this long after the slowest one is lost, as for TCP ([`super::fates`]).
const MAX_LATENESS: Span = Span::from_secs(5);
/// If more datagrams are equal, the first ones are assumed to have arrived: finding which did takes quadratic
/// time.
const MAX_EQUAL: usize = 256;

/// The fate of a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatagramFate {
    /// The datagram arrived after this transit time, ns; `None` if it was one of several equal datagrams.
    Arrived(Option<i64>),
    Lost,
    Unknown,
}

/// One direction of a UDP flow, matched between both captures.
pub(super) struct UdpMatch {
    pub from: Endpoint,
    pub to: Endpoint,
    pub first: usize,
    pub between: DatagramsBetween,
    /// Fate of each datagram, by its index in the capture that it passes first.
    pub external_fates: Vec<(u32, ExternalFate)>,
    /// Datagrams that arrived although the first capture lacks them.
    pub unsent: u64,
}

/// Matches the datagrams of a direction. Times of both captures are by the clock here. `watched`: the time
/// range of each capture. `two_way`: the clocks' offset is known, and with it the minimum transit time.
pub(super) fn match_datagrams(
    seen: [&SeenDatagrams; 2],
    pair: &UdpPair,
    watched: [(Time, Time); 2],
    two_way: bool,
) -> UdpMatch {
    let list = |capture: usize| &seen[capture].flows[pair.at[capture]].packets[..];
    let (sent, arrived) = (list(pair.first), list(1 - pair.first));
    let mut matches = DatagramMatch::new(sent, arrived);
    matches.judge(watched[1 - pair.first]);
    let here = &seen[0].flows[pair.at[0]];
    let least = matches.least();
    UdpMatch {
        from: here.from,
        to: here.to,
        first: pair.first,
        external_fates: matches.external_fates(least),
        unsent: matches.unsent(),
        between: DatagramsBetween { least_ns: least.filter(|_| two_way), ..matches.between(least) },
    }
}

struct DatagramMatch<'a> {
    sent: &'a [SeenDatagram],
    arrived: &'a [SeenDatagram],
    fates: Vec<DatagramFate>,
    /// Index of the sent datagram that each arrived one is.
    origin: Vec<Option<usize>>,
    doubled: u64,
    /// Offload split or merged some datagrams.
    cut: bool,
}

/// Indices of datagrams that are equal.
type EqualDatagrams = HashMap<(u64, u16), Vec<usize>>;

fn group_equal(list: &[SeenDatagram], with_id: bool) -> EqualDatagrams {
    let mut all = EqualDatagrams::with_capacity(list.len());
    for (i, p) in list.iter().enumerate() {
        all.entry((p.hash, if with_id { p.id } else { 0 })).or_default().push(i);
    }
    all
}

impl<'a> DatagramMatch<'a> {
    fn new(sent: &'a [SeenDatagram], arrived: &'a [SeenDatagram]) -> DatagramMatch<'a> {
        let fates = vec![DatagramFate::Unknown; sent.len()];
        let origin = vec![None; arrived.len()];
        let mut matches = DatagramMatch { sent, arrived, fates, origin, doubled: 0, cut: false };
        // Translators may assign new identifications: they are compared only if any arrives unchanged.
        let (mut out, mut came) = (group_equal(sent, true), group_equal(arrived, true));
        if !out.keys().any(|key| key.1 != 0 && came.contains_key(key)) {
            (out, came) = (group_equal(sent, false), group_equal(arrived, false));
        }
        let mut keys: Vec<&(u64, u16)> = out.keys().filter(|key| came.contains_key(key)).collect();
        // Unique datagrams first: they show the usual transit time.
        keys.sort_by_key(|key| (out[*key].len(), out[*key][0]));
        let mut usual = None;
        for key in keys {
            matches.pair(&out[key], &came[key], &mut usual);
        }
        matches
    }

    /// Pairs equal datagrams: in order if all of them arrived, or arrived twice; otherwise so that their
    /// delays are closest to the `usual` one.
    fn pair(&mut self, out: &[usize], came: &[usize], usual: &mut Option<i64>) {
        let took = |matches: &DatagramMatch, i: usize, j: usize| {
            difference(matches.arrived[j].time, matches.sent[i].time)
        };
        let mut open: VecDeque<usize> = out.iter().copied().collect();
        let in_order = came.len() >= out.len() || out.len() > MAX_EQUAL;
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
            self.fates[i] = DatagramFate::Arrived(known);
            *usual = known.or(*usual);
        }
    }

    /// Marks datagrams that did not arrive as lost, if the other capture would have shown them.
    fn judge(&mut self, watched: (Time, Time)) {
        let delays = || self.fates.iter().filter_map(DatagramFate::delay);
        let (shortest, longest) = (delays().min().unwrap_or(0), delays().max().unwrap_or(0));
        let came = |f: &DatagramFate| matches!(f, DatagramFate::Arrived(_));
        let lasts = Span::from_nanos(longest.max(0) as u64) + MAX_LATENESS;
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

    fn external_fates(&self, least: Option<i64>) -> Vec<(u32, ExternalFate)> {
        let one = |fate: &DatagramFate, len: u32| match fate {
            DatagramFate::Arrived(took) => ExternalFate::Sent { late: late(*took, least).into(), lost: 0 },
            DatagramFate::Lost => ExternalFate::Sent { late: None.into(), lost: len.max(1) },
            DatagramFate::Unknown => ExternalFate::Unknown,
        };
        self.sent.iter().zip(&self.fates).map(|(p, fate)| (p.index, one(fate, p.len))).collect()
    }

    /// Number of datagrams that arrived but were not seen to be sent, except those that may have been in
    /// flight when the first capture began.
    fn unsent(&self) -> u64 {
        let Some(begin) = self.sent.first().map(|p| p.time + MAX_LATENESS).filter(|_| !self.cut) else {
            return 0;
        };
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
        let part = last.time.since(first.time) / SLICES + Span::from_nanos(1);
        let mut run = 0;
        for (p, fate) in self.sent.iter().zip(&self.fates) {
            let since = p.time.since(first.time).as_nanos() / part.as_nanos();
            let from = first.time + part * since;
            if out.over_time.last().is_none_or(|span| span.from < from) {
                out.over_time.push(DelaySlice { from, ..DelaySlice::default() });
            }
            let Some(span) = out.over_time.last_mut() else { continue };
            match *fate {
                DatagramFate::Unknown => out.unknown_packets += 1,
                DatagramFate::Arrived(_) => {
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
        out.lost.truncate(MAX_LOST);
        out
    }

    /// Number of datagrams that arrived after one that was sent later (RFC 4737 section 3.3).
    fn reordered(&self) -> u64 {
        let mut latest = None;
        let mut count = 0;
        for i in self.origin.iter().flatten() {
            count += u64::from(latest.is_some_and(|l| *i < l));
            latest = latest.max(Some(*i));
        }
        count
    }

    /// The mean of |D| and the maximum of RFC 3550's J.
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
            DatagramFate::Arrived(took) => *took,
            _ => None,
        }
    }
}

/// Delay above the minimum.
fn late(took: Option<i64>, least: Option<i64>) -> Option<Span> {
    Some(Span::from_nanos(took?.saturating_sub(least?).max(0) as u64))
}

/// The external fates of each datagram for the UDP tracker of each capture.
pub(super) fn external_datagram_fates(udp_matches: &[UdpMatch], counts: [u32; 2]) -> [Vec<ExternalFate>; 2] {
    let mut all = counts.map(|n| vec![ExternalFate::Absent; n as usize]);
    for udp_match in udp_matches {
        udp_match
            .external_fates
            .iter()
            .for_each(|(index, fate)| all[udp_match.first][*index as usize] = *fate);
    }
    all
}

/// Replaces each direction's data by that of the capture on the sender's side, and adds what both captures
/// show together.
pub(super) fn join_datagrams(here: &mut [UdpTrack], there: Vec<UdpTrack>, udp_matches: Vec<UdpMatch>) {
    let place = |tracks: &[UdpTrack]| -> HashMap<(Endpoint, Endpoint), (usize, usize)> {
        let ways = tracks
            .iter()
            .enumerate()
            .flat_map(|(i, t)| [0, 1].map(|side| ((t.ends[side], t.ends[1 - side]), (i, side))));
        ways.collect()
    };
    let (at, other) = (place(here), place(&there));
    for udp_match in udp_matches {
        let key = (udp_match.from, udp_match.to);
        let Some((i, side)) = at.get(&key).copied() else { continue };
        if let Some((j, s)) = other.get(&key).copied().filter(|_| udp_match.first == 1) {
            here[i].ways[side] = there[j].ways[s].clone();
        }
        here[i].ways[side].between = Some(Box::new(udp_match.between));
    }
}
