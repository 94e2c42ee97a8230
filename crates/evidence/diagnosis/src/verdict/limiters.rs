//! The limiters of flows between the same two hosts, which may share one or have one each.

use super::outages::AckSilence;
use super::vantage::{receiver_side, sender_side, waits_before_capture};
use super::{HostTraffic, gaps, host_traffic, number, outages, proof, rtt_summary, silences, silent};
use crate::limiter::posterior::LimiterSource;
use crate::limiter::{
    self, AckLoad, FoundLimiter, LimiterPackets, LimiterSearch, PathFacts, ProposedLimiter, same_rate,
};
use result::FlowDiagnosis;
use result::diagnosis::{Aqm, Limiter, LimiterKind, RejectedLimiter};
use std::collections::BTreeMap;
use std::rc::Rc;
use track::{Addr, Track};

/// A link is full if it carries at least this share of its rate.
pub(crate) const FULL_SHARE: f64 = 0.95;

/// Greatest number of a group's flows that are searched separately, so that the work grows with the packets
/// only.
pub(super) const MAX_SEARCHED: usize = 32;

/// Spans of time: start and end, seconds since 1970.
pub(super) type TimeSpans = Rc<[(f64, f64)]>;

/// The limiter of a flow.
#[derive(Clone, Debug)]
pub(super) struct FlowLimiter {
    pub index: usize,
    pub found: FoundLimiter,
    /// This flow's share of the limiter's bytes.
    pub share: f64,
    /// Packets of this flow that the limiter dropped according to its backlog, by their place in the log.
    pub dropped: Vec<u32>,
    /// Spans in which its whole rate was used.
    pub full: TimeSpans,
}

/// Returns the spans in which the limiter's flows, with the ACKs that share the link, used its whole rate.
pub(super) fn full<'a>(
    found: &FoundLimiter,
    members: impl Iterator<Item = &'a Track> + Clone,
    ack_load: &[AckLoad],
) -> Vec<(f64, f64)> {
    let bin = members.clone().map(|t| t.bin.as_secs_f64()).fold(0.0, f64::max);
    let packet = members.clone().map(full_packet).fold(0.0, f64::max);
    let width = full_window(bin, packet / found.rate);
    // Whole intervals of a shaper that is refilled at intervals.
    let width = found.interval.map_or(width, |i| (width / i).ceil() * i);
    let mut bytes: BTreeMap<i64, f64> = BTreeMap::new();
    let mut add = |at: f64, n: f64| *bytes.entry((at / width) as i64).or_default() += n;
    ack_load.iter().for_each(|a| add(a.at, a.bytes as f64));
    for t in members {
        let ip_per_payload = 1.0 + t.header as f64 / t.mss.unwrap_or(1) as f64;
        let (first, bin) = (limiter::seconds(t.first), t.bin.as_secs_f64());
        t.bins
            .iter()
            .for_each(|b| add(first + (b.index as f64 + 0.5) * bin, b.acked as f64 * ip_per_payload));
    }
    let full = bytes.into_iter().filter(|b| b.1 > FULL_SHARE * found.rate * width);
    full.map(|(i, _)| (i as f64 * width, (i + 1) as f64 * width)).collect()
}

/// Returns the bytes of a full packet.
pub(super) fn full_packet(t: &Track) -> f64 {
    f64::from(t.mss.unwrap_or(0) + t.header)
}

/// Returns the seconds over which to measure a link's rate, so that a bin and a packet more or less at either
/// end stay within what a full link may lack of its rate.
pub(crate) fn full_window(bin: f64, packet: f64) -> f64 {
    2.0 * (bin + packet) / (1.0 - FULL_SHARE)
}

/// Groups the flows between the same two hosts in the same direction.
pub(super) fn groups(tracks: &[Track]) -> Vec<Vec<usize>> {
    let mut by_hosts: BTreeMap<(Addr, Addr), Vec<usize>> = BTreeMap::new();
    let can_be_searched = |t: &Track| !t.log.is_empty() && !gaps::has_too_many(t);
    for (i, t) in tracks.iter().enumerate().filter(|(_, t)| can_be_searched(t)) {
        by_hosts.entry((t.sender.addr, t.receiver.addr)).or_default().push(i);
    }
    by_hosts.into_values().collect()
}

/// Returns the ACKs that pass with a group's data.
pub(super) fn ack_load(
    tracks: &[Track],
    group: &[usize],
    traffic: &BTreeMap<(Addr, Addr), HostTraffic>,
) -> Vec<AckLoad> {
    let t = &tracks[group[0]];
    let back = traffic.get(&(t.receiver.addr, t.sender.addr)).map_or(&[][..], |w| &w.tracks);
    let size = t.header as f64;
    let full = full_packet(t);
    let mut out = Vec::new();
    for t in back.iter().map(|i| &tracks[*i]) {
        let (first, width) = (limiter::seconds(t.first), t.bin.as_secs_f64());
        for b in t.bins.iter().filter(|b| b.acks > 0) {
            // Spread over the bin, each at most a packet.
            let bytes = b.acks as f64 * size;
            let parts = (bytes / full).ceil().max(1.0);
            out.extend((0..parts as usize).map(|i| AckLoad {
                at: first + (b.index as f64 + (i as f64 + 0.5) / parts) * width,
                bytes: (bytes / parts) as f32,
            }));
        }
    }
    out.sort_by(|a, b| a.at.total_cmp(&b.at));
    out
}

/// Returns the facts about the path that the tracks share; `None` where no track has an RTT sample.
fn path(tracks: &[&Track], behind: bool) -> Option<PathFacts> {
    let with = || tracks.iter().filter(|t| t.rtt.samples() > 0);
    let base = tracks.iter().filter_map(|t| t.rtt.min()).min()?.as_secs_f64();
    let samples: f64 = with().map(|t| t.rtt.samples() as f64).sum();
    let rtt = with().filter_map(|t| Some(t.rtt.mean()?.as_secs_f64() * t.rtt.samples() as f64)).sum::<f64>()
        / samples;
    let merged = tracks.iter().any(|t| t.merged > units::Span::ZERO);
    let sender = tracks.iter().all(|t| sender_side(t));
    Some(PathFacts { base, rtt, behind, merged, sender })
}

/// A limiter, and the packets that it dropped.
#[derive(Clone, Debug)]
pub(super) struct LimiterAnswer {
    pub found: FoundLimiter,
    /// Index of the flow among those searched, and place in its log.
    pub dropped: Vec<(u16, u32)>,
}

/// Tracks that are searched for a limiter.
struct SearchedTracks<'a> {
    tracks: Vec<&'a Track>,
    /// Outages of each track's path, seconds since its connection's first packet.
    gone: Vec<Vec<(f64, f64)>>,
}

impl<'a> SearchedTracks<'a> {
    fn new(tracks: &'a [Track], members: &[usize], silences: &[AckSilence]) -> Self {
        let (tracks, gone) = members.iter().map(|m| (&tracks[*m], gone(&tracks[*m], silences))).unzip();
        Self { tracks, gone }
    }

    fn packets(&'a self, ack_load: &'a [AckLoad]) -> LimiterPackets<'a> {
        LimiterPackets { tracks: &self.tracks, gone: &self.gone, ack_load }
    }
}

/// Searches for a limiter of these tracks together. Where none is found, the most probable one is noted in
/// `rejected`, which has a place for each track.
fn search(
    tracks: &[Track],
    members: &[usize],
    silences: &[AckSilence],
    ack_load: &[AckLoad],
    rejected: &mut [Option<FoundLimiter>],
) -> Option<LimiterAnswer> {
    let searched = SearchedTracks::new(tracks, members, silences);
    let packets = searched.packets(ack_load);
    let mut kept = None;
    for behind in sides(&searched.tracks) {
        let Some(path) = path(&searched.tracks, behind) else { continue };
        match limiter::find(&packets, path, &mut kept) {
            LimiterSearch::Found(found, dropped) => return Some(LimiterAnswer { found, dropped }),
            LimiterSearch::Unlikely(found) => {
                for m in members {
                    let known = rejected[*m].map_or(0.0, |known| known.confidence);
                    if found.confidence > known {
                        rejected[*m] = Some(found);
                    }
                }
            }
            LimiterSearch::Nothing => {}
        }
    }
    None
}

/// Returns the order in which the sides of the capture are searched: behind it (`true`) and before it.
fn sides(members: &[&Track]) -> [bool; 2] {
    let lost = |f: fn(&Track) -> u64| members.iter().map(|t| f(t)).sum::<u64>();
    let (up, down) = (lost(|t| t.counts.lost_up), lost(|t| t.counts.lost_down));
    // Waits between sender and capture show in the sender's part of the RTT.
    let waits_up = |t: &&Track| receiver_side(t) || waits_before_capture(t);
    let up_first = up > down || up == down && members.iter().any(waits_up);
    [!up_first, up_first]
}

/// The limiters that may limit some of the tracks, for learning where the truth is known.
pub struct ProposedLimiters {
    /// Indices of the tracks.
    pub members: Vec<usize>,
    /// The proposals for either side of the capture.
    pub sides: Vec<Vec<ProposedLimiter>>,
}

/// Returns the limiters that may limit these tracks: those between two hosts together, and each alone.
pub fn proposed_limiters(tracks: &[Track]) -> Vec<ProposedLimiters> {
    let silences = silences(tracks);
    let traffic = host_traffic(tracks);
    let groups = groups(tracks);
    let alone = groups.iter().filter(|g| g.len() > 1).flat_map(|g| g.iter().map(|m| vec![*m]));
    let searched = groups.iter().cloned().chain(alone);
    let propose = |members: Vec<usize>| {
        let load = if groups.contains(&members) { ack_load(tracks, &members, &traffic) } else { Vec::new() };
        let sides = proposed_of(tracks, &members, &silences, &load);
        ProposedLimiters { members, sides }
    };
    searched.map(propose).collect()
}

/// Returns the policers whose buckets explain the losses of the first track's group better than chance:
/// candidates where the verdict names no limiter.
pub fn proposed_buckets(tracks: &[Track]) -> Vec<ProposedLimiter> {
    let first = groups(tracks).into_iter().find(|members| members.contains(&0));
    let propose = |members: Vec<usize>| proposed_of(tracks, &members, &silences(tracks), &[]);
    let proposed = first.map_or_else(Vec::new, |members| propose(members).concat());
    let policer = |p: &ProposedLimiter| {
        p.proposal.source == LimiterSource::Losses && p.proposal.kind == LimiterKind::Policer
    };
    proposed.into_iter().filter(policer).collect()
}

/// Returns the proposals for either side of the capture, in the order in which the sides are searched.
fn proposed_of(
    tracks: &[Track],
    members: &[usize],
    silences: &BTreeMap<(Addr, Addr), Vec<AckSilence>>,
    ack_load: &[AckLoad],
) -> Vec<Vec<ProposedLimiter>> {
    let searched = SearchedTracks::new(tracks, members, silent(silences, &tracks[members[0]]));
    let packets = searched.packets(ack_load);
    let sides = sides(&searched.tracks).into_iter().filter_map(|behind| path(&searched.tracks, behind));
    sides.map(|path| limiter::proposed(&packets, path)).collect()
}

/// Returns the spans in which a track's packets were lost to outages, seconds since its connection's first
/// packet.
pub(super) fn gone(t: &Track, silences: &[AckSilence]) -> Vec<(f64, f64)> {
    let rtt = outages::rtt(t);
    let outages = outages::outages(t, rtt, silences).into_iter();
    outages.map(|o| outages::reach(o, rtt)).collect()
}

/// Returns the limiters of a group: one for all flows, or one for each. `rejected` is as in [`search`].
pub(super) fn limiters_of(
    tracks: &[Track],
    group: &[usize],
    silences: &[AckSilence],
    ack_load: &[AckLoad],
    rejected: &mut [Option<FoundLimiter>],
) -> Vec<(LimiterAnswer, Vec<usize>)> {
    let joint = search(tracks, group, silences, ack_load, rejected);
    if group.len() == 1 {
        return joint.map(|f| (f, group.to_vec())).into_iter().collect();
    }
    let lost = |m: usize| tracks[m].counts.lost_up + tracks[m].counts.lost_down;
    let mut each: Vec<usize> = match &joint {
        // A bucket for each flow explains the joint losses badly, or looks like the queue before it.
        Some(_) => group.iter().copied().filter(|m| lost(*m) > 0).collect(),
        None => group.to_vec(),
    };
    each.sort_by_key(|m| std::cmp::Reverse(tracks[*m].counts.ip_bytes));
    each.truncate(MAX_SEARCHED);
    let mut search_alone = |m: usize| Some((search(tracks, &[m], silences, &[], rejected)?, vec![m]));
    let Some(joint) = joint else {
        return shared(tracks, group, ack_load, each.into_iter().filter_map(search_alone).collect());
    };
    // Whether policers of single flows predict the losses better than the joint limiter.
    let (mut alone, mut unpoliced) = (Vec::new(), 0);
    for m in &each {
        let answer = search_alone(*m);
        unpoliced += usize::from(answer.as_ref().is_none_or(|a| a.0.found.kind != LimiterKind::Policer));
        alone.extend(answer);
        // Policers can no longer be the majority.
        if unpoliced * 2 >= each.len() {
            return vec![(joint, group.to_vec())];
        }
    }
    let policed = || alone.iter().map(|a| &a.0.found).filter(|f| f.kind == LimiterKind::Policer);
    let (count, gain, episodes) =
        policed().fold((0, 0.0, 0.0), |s, f| (s.0 + 1, s.1 + f.loss_gain, s.2 + f.episodes));
    // Losses of several flows at once are one joint episode and one episode of each flow, so compare the mean
    // gain of an episode.
    let by_each = gain / episodes.max(1.0) * count as f64 / each.len().max(1) as f64;
    let predict = count * 2 > each.len() && by_each > joint.found.loss_gain / joint.found.episodes.max(1.0);
    // Policers of one rate, found independently, where the joint link is mostly idle.
    let alike = policed().map(|f| policed().filter(|g| same_rate(f.rate, g.rate)).count()).max();
    let mostly_idle = || {
        joint.found.kind != LimiterKind::Policer
            && full_s(tracks, &joint.found, group, ack_load) < 0.5 * spans(tracks, group)
    };
    if !predict && (alike.unwrap_or(0) * 2 <= each.len() || !mostly_idle()) {
        return vec![(joint, group.to_vec())];
    }
    shared(tracks, group, ack_load, alone)
}

/// Returns the seconds for which these flows, with the ACKs that share the limiter, used its whole rate.
fn full_s(tracks: &[Track], found: &FoundLimiter, members: &[usize], ack_load: &[AckLoad]) -> f64 {
    let spans = full(found, members.iter().map(|m| &tracks[*m]), ack_load);
    spans.iter().map(|s| s.1 - s.0).sum()
}

/// Returns the limiters of flows that were searched alone, or one link for all of them. With a queue for each
/// flow, the delays of only one flow may show the link. The link is shared if the group uses its whole rate
/// for most of the time, and that flow alone for less than half of that time.
fn shared(
    tracks: &[Track],
    group: &[usize],
    ack_load: &[AckLoad],
    found: Vec<(LimiterAnswer, Vec<usize>)>,
) -> Vec<(LimiterAnswer, Vec<usize>)> {
    let seconds = |answer: &LimiterAnswer, members| full_s(tracks, &answer.found, members, ack_load);
    let links = found.iter().filter(|a| a.0.found.kind != LimiterKind::Policer);
    let by_all = links.map(|a| (seconds(&a.0, group), a)).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((all, best)) = by_all else { return found };
    let duration = spans(tracks, group);
    let carried: f64 = group.iter().map(|m| tracks[*m].counts.acked_bytes as f64).sum();
    let fits = carried < best.0.found.rate * duration;
    if fits && all > 0.5 * duration && seconds(&best.0, &best.1) < 0.5 * all {
        return vec![(best.0.clone(), group.to_vec())];
    }
    found
}

/// Returns the seconds from the first data of these tracks to the last.
fn spans(tracks: &[Track], group: &[usize]) -> f64 {
    let first = group.iter().filter_map(|m| tracks[*m].first_data).map(limiter::seconds);
    let last = group.iter().filter_map(|m| tracks[*m].last_data).map(limiter::seconds);
    last.fold(f64::NEG_INFINITY, f64::max) - first.fold(f64::INFINITY, f64::min)
}

/// Returns the limiter of these flows as the diagnosis reports it.
pub(super) fn as_reported<'a>(found: &FoundLimiter, members: impl Iterator<Item = &'a Track>) -> Limiter {
    let queued = found.kind != LimiterKind::Policer;
    let members: Vec<&Track> = members.collect();
    // Where the queue delayed packets, it is at least as long as nearly all of their delay.
    let delays = members.iter().map(|t| rtt_summary(&t.rtt)).map(|rtt| (rtt.p95 - rtt.min) * 1e-3);
    let max_delay = delays.fold(0.0, f64::max);
    let delay = if found.delay_fit.is_some() { found.delay.max(max_delay) } else { found.delay };
    let queue = if delay > found.delay { found.rate * delay } else { found.queue };
    Limiter {
        kind: found.kind,
        rate_mbps: found.rate * 8e-6,
        rate_range_mbps: found.rate_range_mbps(),
        burst_bytes: found.burst,
        queue_bytes: queued.then_some(queue),
        queue_ms: queued.then_some(delay * 1e3),
        before_capture: !found.behind,
        lost_share: found.lost,
        confidence: found.confidence,
        flows: members.iter().map(|t| number(t)).collect(),
        fair_queue: found.fair,
        aqm: found.aqm.then_some(Aqm::CoDel),
        shares_by_cc: Vec::new(),
    }
}

/// Returns a limiter that is less probable than none as the diagnosis reports it.
pub(super) fn as_rejected(found: FoundLimiter) -> RejectedLimiter {
    RejectedLimiter { kind: found.kind, rate_mbps: found.rate * 8e-6, probability: found.confidence }
}

/// Removes the limiters that limit none of their flows, and returns the new index of each.
pub(super) fn keep_those_that_limit(
    limiters: &mut Vec<Limiter>,
    flows: &[FlowDiagnosis],
) -> Vec<Option<usize>> {
    let limits =
        |i: usize| flows.iter().any(|f| f.limiter == Some(i) && by_limiter(f) >= proof::MIN_PROVED_SHARE);
    let kept: Vec<bool> = (0..limiters.len()).map(limits).collect();
    let mut next = 0;
    let refer = kept
        .iter()
        .map(|k| {
            next += usize::from(*k);
            k.then(|| next - 1)
        })
        .collect();
    let mut each = kept.iter();
    limiters.retain(|_| *each.next().unwrap_or(&false));
    refer
}

/// Returns the share of the flow's time that its limiter explains.
fn by_limiter(f: &FlowDiagnosis) -> f64 {
    f.causes.iter().filter(|c| c.cause.is_of_limiter()).map(|c| c.share).sum()
}
