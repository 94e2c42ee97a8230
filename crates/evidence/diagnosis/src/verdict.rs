//! From what was kept of the flows to what is said of them.
//!
//! 1. Flows between the same two hosts may share a limiter: their packets are put together and asked for one
//!    ([`crate::limiter`]); where that makes no sense, or may be the queue before a policer of each, they are asked alone.
//! 2. Each flow's time is cut into round trips, each round trip into causes ([`evidence`]).
//! 3. The shares are added up; the greatest is the main cause.

mod alternatives;
mod between;
mod bounds;
mod cc;
mod display_filter;
mod evidence;
mod few_packets;
mod file;
mod full_link;
mod gaps;
mod losses;
mod measures;
mod outages;
mod proof;
mod responses;
mod round_trips;
mod setup;
mod takers;
mod timeline;
mod too_big;

use crate::cause::{self, RoundPart};
use crate::confidence::confidence;
use crate::limiter::posterior::LimiterSource;
use crate::limiter::{self, AckLoad, FoundLimiter, LimiterPackets, PathFacts, ProposedLimiter};
pub use between::both_ends_info;
pub(crate) use between::{late_parts, late_summary};
use evidence::FlowFacts;
pub(crate) use evidence::least_queue;
pub use file::capture_info;
use full_link::LinkFills;
pub(crate) use measures::rtt_summary;
use outages::AckSilence;
use result::Diagnosis;
use result::diagnosis::{
    Aqm, CaptureInfo, CapturePlace, Cause, DIAGNOSIS_SCHEMA, FlowDiagnosis, Limiter, LimiterKind, Measures,
    PacketProof, SURE, Vantage,
};
use round_trips::rounds;
use std::collections::BTreeMap;
use std::rc::Rc;
use takers::takers;
pub(crate) use timeline::MOST_SPANS;
use too_big::SizeStall;
use track::{Addr, Track};

/// Once or twice a small write may follow a delayed ACK by chance; so often in a row as makes three duplicate ACKs of one loss
/// (RFC 5681 section 3.2) it does not.
const HELD_AGAIN: u64 = 3;

/// A link is full where it carries this share of its rate.
pub(crate) const FULL_SHARE: f64 = 0.95;

/// The capture is at an end to which it is less than this share of the round trip.
const AT_END: f64 = 0.1;

/// Flows of a group that are asked each for itself, at most: so that the time it takes grows with the packets only.
const MOST_ASKED: usize = 32;

/// The round trip of a path of which none is known, seconds: what RFC 9002 section 6.2.2 takes then.
pub(crate) const UNKNOWN_RTT: f64 = 0.333;

/// Says what limited each track; flows come by bytes, the most first.
pub fn diagnose_tracks(tracks: Vec<Track>, info: CaptureInfo) -> Diagnosis {
    let mut limiters = Vec::new();
    let mut of_flow: Vec<Option<FlowLimiter>> = vec![None; tracks.len()];
    let silences = silences(&tracks);
    let ways = ways(&tracks);
    for group in groups(&tracks) {
        let silent = silent(&silences, &tracks[group[0]]);
        let ack_load = ack_load(&tracks, &group, &ways);
        for (LimiterAnswer { found, dropped }, members) in limiters_of(&tracks, &group, silent, &ack_load) {
            let index = limiters.len();
            let bytes: f64 = members.iter().map(|m| tracks[*m].counts.acked_bytes as f64).sum();
            let mut each: Vec<Vec<u32>> = vec![Vec::new(); members.len()];
            dropped.iter().for_each(|(i, entry)| each[*i as usize].push(*entry));
            let full: TimeSpans = full(&found, members.iter().map(|m| &tracks[*m]), &ack_load).into();
            for (m, dropped) in members.iter().zip(each) {
                let share = tracks[*m].counts.acked_bytes as f64 / bytes.max(1.0);
                of_flow[*m] = Some(FlowLimiter { index, found, share, dropped, full: full.clone() });
            }
            limiters.push(limiter(&found, members.iter().map(|m| &tracks[*m])));
        }
    }
    let mut full_of: BTreeMap<(Addr, Addr), TimeSpans> = BTreeMap::new();
    for (t, through) in tracks.iter().zip(&of_flow) {
        let Some(l) = through.as_ref().filter(|l| l.found.kind != LimiterKind::Policer) else { continue };
        let full = full_of.entry((t.sender.addr, t.receiver.addr)).or_insert_with(|| l.full.clone());
        if l.full.len() > full.len() {
            *full = l.full.clone();
        }
    }
    let beside = |t: &Track| {
        let (from, to) = (t.sender.addr, t.receiver.addr);
        let bytes = |from, to| ways.get(&(from, to)).map_or(0.0, |w: &HostTraffic| w.bytes as f64);
        PathContext {
            silences: silent(&silences, t),
            base: ways.get(&(from, to)).and_then(|w| w.base),
            full: ways.get(&(from, to)).map(|w| w.full).unwrap_or_default(),
            both_ways: bytes(to, from) > ways.get(&(from, to)).map_or(0.0, |w| w.ack_bytes as f64),
            reverse_full: full_of.get(&(to, from)).cloned(),
            tracks: &tracks,
            same_way: ways.get(&(from, to)).map_or(&[][..], |w| &w.tracks),
        }
    };
    let mut flows: Vec<FlowDiagnosis> =
        tracks.iter().zip(&of_flow).map(|(t, l)| flow(t, l.as_ref(), &beside(t), &info)).collect();
    let refer = keep_those_that_limit(&mut limiters, &flows);
    for f in &mut flows {
        f.limiter = f.limiter.and_then(|l| refer[l]);
        judge_certainty(f, &limiters, 1.0);
    }
    limiters.iter_mut().enumerate().for_each(|(i, l)| l.takers = takers(&flows, i));
    flows.sort_by(|a, b| b.measures.bytes.cmp(&a.measures.bytes).then(a.id.cmp(&b.id)));
    let schema = DIAGNOSIS_SCHEMA.into();
    let mut diagnosis = Diagnosis { schema, capture: info, limiters, flows, udp_flows: Vec::new() };
    let remedies: Vec<_> = diagnosis.flows.iter().map(|f| cause::remedies_of(&diagnosis, f)).collect();
    diagnosis.flows.iter_mut().zip(remedies).for_each(|(f, r)| f.remedies = r);
    diagnosis
}

/// How sure the cause of a flow is (at most `most`), and where that is not very, what fits too and what would decide.
fn judge_certainty(f: &mut FlowDiagnosis, limiters: &[Limiter], most: f64) {
    f.confidence = confidence(f, limiters).min(most);
    let doubtful = f.confidence < SURE;
    f.alternatives = if doubtful { alternatives::of(f) } else { Vec::new() };
    f.needs = if doubtful { alternatives::needs(f) } else { None };
}

/// Judges anew how sure the cause of flow `i` is, after its notes changed: at most `most`, 0 to 1.
pub fn revise_certainty(diagnosis: &mut Diagnosis, i: usize, most: f64) {
    judge_certainty(&mut diagnosis.flows[i], &diagnosis.limiters, most);
    diagnosis.flows[i].remedies = cause::remedies_of(diagnosis, &diagnosis.flows[i]);
}

/// Begins and ends, seconds since 1970.
type TimeSpans = Rc<[(f64, f64)]>;

/// The limiter a flow goes through.
#[derive(Clone, Debug)]
struct FlowLimiter {
    index: usize,
    found: FoundLimiter,
    /// Of its bytes, this flow's.
    share: f64,
    /// Which packets of this flow it dropped, as far as its backlog says, by their place in the log.
    dropped: Vec<u32>,
    /// When all of its rate was used.
    full: TimeSpans,
}

/// When the limiter's flows, and the ACKs beside them, took all of its rate.
fn full<'a>(
    found: &FoundLimiter,
    members: impl Iterator<Item = &'a Track> + Clone,
    ack_load: &[AckLoad],
) -> Vec<(f64, f64)> {
    let bin = members.clone().map(|t| t.bin.as_secs_f64()).fold(0.0, f64::max);
    let packet = members.clone().map(full_packet).fold(0.0, f64::max);
    let width = full_window(bin, packet / found.rate);
    // Whole intervals of one that is refilled at once.
    let width = found.interval.map_or(width, |i| (width / i).ceil() * i);
    let mut bytes: BTreeMap<i64, f64> = BTreeMap::new();
    let mut add = |at: f64, n: f64| *bytes.entry((at / width) as i64).or_default() += n;
    ack_load.iter().for_each(|a| add(a.at, a.bytes as f64));
    for t in members {
        let whole = 1.0 + t.header as f64 / t.mss.unwrap_or(1) as f64;
        let (first, bin) = (limiter::seconds(t.first), t.bin.as_secs_f64());
        t.bins.iter().for_each(|b| add(first + (b.index as f64 + 0.5) * bin, b.acked as f64 * whole));
    }
    let full = bytes.into_iter().filter(|b| b.1 > FULL_SHARE * found.rate * width);
    full.map(|(i, _)| (i as f64 * width, (i + 1) as f64 * width)).collect()
}

/// Bytes of a full packet.
fn full_packet(t: &Track) -> f64 {
    f64::from(t.mss.unwrap_or(0) + t.header)
}

/// Over how many seconds a link's rate is measured: so many that a bin and a packet more or less at either end are no more than
/// what a full link may lack of its rate.
pub(crate) fn full_window(bin: f64, packet: f64) -> f64 {
    2.0 * (bin + packet) / (1.0 - FULL_SHARE)
}

/// Flows of the same two hosts in the same direction.
fn groups(tracks: &[Track]) -> Vec<Vec<usize>> {
    let mut of: BTreeMap<(Addr, Addr), Vec<usize>> = BTreeMap::new();
    let can_be_asked = |t: &Track| !t.log.is_empty() && !gaps::has_too_many(t);
    for (i, t) in tracks.iter().enumerate().filter(|(_, t)| can_be_asked(t)) {
        of.entry((t.sender.addr, t.receiver.addr)).or_default().push(i);
    }
    of.into_values().collect()
}

/// Whether the application waits for room in the send buffer: when all written data was sent, the next follows an ACK at
/// once, mostly, and always before all of it is acknowledged.
fn is_send_buffer_full(t: &Track, rounds: &[round_trips::RoundTripSpan]) -> bool {
    let idle: f64 = rounds.iter().map(|r| r.idle).sum();
    let ended = t.counts.app_limited.as_nanos() as f64 * 1e-9;
    t.counts.app_limited_until_ack.as_nanos() as f64 * 1e-9 > 0.5 * ended && idle <= 0.0
}

/// When no ACK passed between each two hosts.
fn silences(tracks: &[Track]) -> BTreeMap<(Addr, Addr), Vec<AckSilence>> {
    let mut of: BTreeMap<(Addr, Addr), Vec<&Track>> = BTreeMap::new();
    for t in tracks {
        of.entry(pair(t)).or_default().push(t);
    }
    of.into_iter().map(|(hosts, group)| (hosts, outages::silences(&group))).collect()
}

/// Those between a track's hosts.
fn silent<'a>(silences: &'a BTreeMap<(Addr, Addr), Vec<AckSilence>>, t: &Track) -> &'a [AckSilence] {
    silences.get(&pair(t)).map_or(&[][..], |s| s)
}

/// What went from one host to another.
#[derive(Clone, Debug, Default)]
struct HostTraffic {
    /// Payload.
    bytes: u64,
    /// Of the packets that only acknowledge it.
    ack_bytes: u64,
    /// Least RTT of all flows, seconds: that of one may never have seen the path empty.
    base: Option<f64>,
    /// What losses of any flow said of queues.
    full: losses::QueueLossSigns,
    /// The tracks.
    tracks: Vec<usize>,
}

fn ways(tracks: &[Track]) -> BTreeMap<(Addr, Addr), HostTraffic> {
    let mut of: BTreeMap<(Addr, Addr), Vec<usize>> = BTreeMap::new();
    for (i, t) in tracks.iter().enumerate() {
        of.entry((t.sender.addr, t.receiver.addr)).or_default().push(i);
    }
    let way = |numbers: Vec<usize>| {
        let tracks: Vec<&Track> = numbers.iter().map(|i| &tracks[*i]).collect();
        let least = tracks.iter().filter_map(|t| t.rtt.min()).min().map(|rtt| rtt.as_secs_f64());
        let empty = tracks.iter().filter_map(|t| handshake_base(t)).min_by(f64::total_cmp);
        let base = least.into_iter().chain(empty.filter(|_| least.is_some())).min_by(f64::total_cmp);
        HostTraffic {
            bytes: tracks.iter().fold(0, |sum, t| t.counts.payload_bytes.saturating_add(sum)),
            ack_bytes: tracks.iter().map(|t| t.counts.acks * u64::from(t.header)).sum(),
            base,
            full: losses::full(&tracks, base.unwrap_or(0.0)),
            tracks: numbers,
        }
    };
    of.into_iter().map(|(ends, numbers)| (ends, way(numbers))).collect()
}

/// The RTT of a full packet on the path as the handshake found it, seconds: its packets are small, so what a full one takes on
/// the slowest link is added, as far as the rate at which it was acknowledged tells. Data may never see the path empty.
fn handshake_base(t: &Track) -> Option<f64> {
    let rtt = t.handshake.rtt?.as_secs_f64();
    let carried =
        t.bins.windows(2).map(|b| f64::from(b[0].acked) + f64::from(b[1].acked)).fold(0.0, f64::max);
    let rate = carried / (2.0 * t.bin.as_secs_f64()).max(rtt);
    (rate > 0.0).then(|| rtt + full_packet(t) / rate)
}

/// ACKs that pass with a group's data.
fn ack_load(tracks: &[Track], group: &[usize], ways: &BTreeMap<(Addr, Addr), HostTraffic>) -> Vec<AckLoad> {
    let t = &tracks[group[0]];
    let back = ways.get(&(t.receiver.addr, t.sender.addr)).map_or(&[][..], |w| &w.tracks);
    let size = t.header as f64;
    let full = full_packet(t);
    let mut out = Vec::new();
    for t in back.iter().map(|i| &tracks[*i]) {
        let (first, width) = (limiter::seconds(t.first), t.bin.as_secs_f64());
        for b in t.bins.iter().filter(|b| b.acks > 0) {
            // Spread over the bin, none more than a packet.
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

/// What the other flows between its hosts say of a flow's path.
struct PathContext<'a> {
    silences: &'a [AckSilence],
    base: Option<f64>,
    both_ways: bool,
    /// When a link of the other way was full.
    reverse_full: Option<TimeSpans>,
    full: losses::QueueLossSigns,
    tracks: &'a [Track],
    /// Which of them go from this flow's sender to its receiver.
    same_way: &'a [usize],
}

/// Its hosts, whoever sends.
fn pair(t: &Track) -> (Addr, Addr) {
    let (a, b) = (t.sender.addr, t.receiver.addr);
    (a.min(b), a.max(b))
}

/// What the hosts' packets say of the path; the delays, which need samples, of those that have them.
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

/// A limiter, and when which of the flows asked lost a packet to it.
#[derive(Clone, Debug)]
struct LimiterAnswer {
    found: FoundLimiter,
    /// Index among those asked, place in its log.
    dropped: Vec<(u16, u32)>,
}

/// Those of the tracks that are asked for a limiter.
struct Asked<'a> {
    tracks: Vec<&'a Track>,
    /// When the path of each was gone, seconds.
    gone: Vec<Vec<(f64, f64)>>,
}

impl<'a> Asked<'a> {
    fn new(tracks: &'a [Track], members: &[usize], silences: &[AckSilence]) -> Self {
        let (tracks, gone) = members.iter().map(|m| (&tracks[*m], gone(&tracks[*m], silences))).unzip();
        Self { tracks, gone }
    }

    fn packets(&'a self, ack_load: &'a [AckLoad]) -> LimiterPackets<'a> {
        LimiterPackets { tracks: &self.tracks, gone: &self.gone, ack_load }
    }
}

/// The limiter of these tracks together.
fn ask(
    tracks: &[Track],
    members: &[usize],
    silences: &[AckSilence],
    ack_load: &[AckLoad],
) -> Option<LimiterAnswer> {
    let asked = Asked::new(tracks, members, silences);
    let (members, packets) = (&asked.tracks, asked.packets(ack_load));
    let mut kept = None;
    sides(members).into_iter().find_map(|behind| {
        let path = path(members, behind)?;
        let (found, dropped) = limiter::find(&packets, path, &mut kept)?;
        Some(LimiterAnswer { found, dropped })
    })
}

/// Which side of the capture is asked first, and which then: behind it (`true`), or before.
fn sides(members: &[&Track]) -> [bool; 2] {
    let lost = |f: fn(&Track) -> u64| members.iter().map(|t| f(t)).sum::<u64>();
    let (up, down) = (lost(|t| t.counts.lost_up), lost(|t| t.counts.lost_down));
    // Delays between sender and capture show in what the sender adds to the RTT.
    let waits_up = |t: &&Track| receiver_side(t) || waits_before_capture(t);
    let up_first = up > down || up == down && members.iter().any(waits_up);
    [!up_first, up_first]
}

/// What may limit some of the tracks, on either side of the capture: to learn from where it is known what does.
pub struct ProposedLimiters {
    /// Which tracks.
    pub members: Vec<usize>,
    /// Of each side what was proposed.
    pub sides: Vec<Vec<ProposedLimiter>>,
}

/// What may limit these tracks, those between two hosts together and each alone.
pub fn proposed_limiters(tracks: &[Track]) -> Vec<ProposedLimiters> {
    let silences = silences(tracks);
    let ways = ways(tracks);
    let groups = groups(tracks);
    let alone = groups.iter().filter(|g| g.len() > 1).flat_map(|g| g.iter().map(|m| vec![*m]));
    let asked = groups.iter().cloned().chain(alone);
    let of = |members: Vec<usize>| {
        let load = if groups.contains(&members) { ack_load(tracks, &members, &ways) } else { Vec::new() };
        let sides = proposed_of(tracks, &members, &silences, &load);
        ProposedLimiters { members, sides }
    };
    asked.map(of).collect()
}

/// The buckets that explain losses of the flows between the hosts of the first track together better than chance, as policers: what may
/// limit them where no verdict says what does.
pub fn proposed_buckets(tracks: &[Track]) -> Vec<ProposedLimiter> {
    let first = groups(tracks).into_iter().find(|members| members.contains(&0));
    let of = |members: Vec<usize>| proposed_of(tracks, &members, &silences(tracks), &[]);
    let all = first.map_or_else(Vec::new, |members| of(members).concat());
    all.into_iter().filter(|p| p.source == LimiterSource::PolicerByLosses).collect()
}

/// On either side of the capture, in the order in which they are asked.
fn proposed_of(
    tracks: &[Track],
    members: &[usize],
    silences: &BTreeMap<(Addr, Addr), Vec<AckSilence>>,
    ack_load: &[AckLoad],
) -> Vec<Vec<ProposedLimiter>> {
    let asked = Asked::new(tracks, members, silent(silences, &tracks[members[0]]));
    let packets = asked.packets(ack_load);
    let sides = sides(&asked.tracks).into_iter().filter_map(|behind| path(&asked.tracks, behind));
    sides.map(|path| limiter::proposed(&packets, path)).collect()
}

/// Times in which nothing of the track passed, and what was sent just before was lost.
fn gone(t: &Track, silences: &[AckSilence]) -> Vec<(f64, f64)> {
    let rtt = outages::rtt(t);
    let outages = outages::outages(t, rtt, silences).into_iter();
    outages.map(|o| outages::reach(o, rtt)).collect()
}

fn receiver_side(t: &Track) -> bool {
    vantage(t).place == CapturePlace::Receiver
}

fn sender_side(t: &Track) -> bool {
    vantage(t).place == CapturePlace::Sender
}

/// What round trips take too long, they take mostly between sender and capture.
fn waits_before_capture(t: &Track) -> bool {
    let over = |h: &track::SpanHistogram| {
        let known = h.mean().zip(h.min());
        known.map_or(units::Span::ZERO, |(mean, least)| mean.saturating_sub(least))
    };
    over(&t.rtt_up) > over(&t.rtt_down) * 2
}

/// The limiters of a group: one for all, or one each.
fn limiters_of(
    tracks: &[Track],
    group: &[usize],
    silences: &[AckSilence],
    ack_load: &[AckLoad],
) -> Vec<(LimiterAnswer, Vec<usize>)> {
    let joint = ask(tracks, group, silences, ack_load);
    if group.len() == 1 {
        return joint.map(|f| (f, group.to_vec())).into_iter().collect();
    }
    let lost = |m: usize| tracks[m].counts.lost_up + tracks[m].counts.lost_down;
    let mut each: Vec<usize> = match &joint {
        // A bucket for each would make no sense of all together, or look like the queue before it.
        Some(_) => group.iter().copied().filter(|m| lost(*m) > 0).collect(),
        None => group.to_vec(),
    };
    each.sort_by_key(|m| std::cmp::Reverse(tracks[*m].counts.ip_bytes));
    each.truncate(MOST_ASKED);
    let ask_alone = |m: usize| Some((ask(tracks, &[m], silences, &[])?, vec![m]));
    let Some(joint) = joint else {
        return shared(tracks, group, ack_load, each.into_iter().filter_map(ask_alone).collect());
    };
    // Whether a policer of each foretells the losses of some flows better than what is there for all.
    let (mut alone, mut unpoliced) = (Vec::new(), 0);
    for m in &each {
        let answer = ask_alone(*m);
        unpoliced += usize::from(answer.as_ref().is_none_or(|a| a.0.found.kind != LimiterKind::Policer));
        alone.extend(answer);
        // Policers are no majority any more, whatever the others are.
        if unpoliced * 2 >= each.len() {
            return vec![(joint, group.to_vec())];
        }
    }
    let policed = alone.iter().map(|a| &a.0.found).filter(|f| f.kind == LimiterKind::Policer);
    let (count, gain, episodes) =
        policed.fold((0, 0.0, 0.0), |s, f| (s.0 + 1, s.1 + f.loss_gain, s.2 + f.episodes));
    // Losses of several flows at once are one episode of all and one of each: what an episode gains in the mean.
    let by_each = gain / episodes.max(1.0) * count as f64 / each.len().max(1) as f64;
    if count * 2 <= each.len() || by_each <= joint.found.loss_gain / joint.found.episodes.max(1.0) {
        return vec![(joint, group.to_vec())];
    }
    shared(tracks, group, ack_load, alone)
}

/// Limiters of flows that were asked alone; or one link for all of them. With a queue for each flow only one flow's delays
/// may show the link. If the group together takes all of its rate for most of the time, and that flow alone for less than half
/// of that, it is everybody's.
fn shared(
    tracks: &[Track],
    group: &[usize],
    ack_load: &[AckLoad],
    found: Vec<(LimiterAnswer, Vec<usize>)>,
) -> Vec<(LimiterAnswer, Vec<usize>)> {
    let seconds = |asked: &LimiterAnswer, members: &[usize]| -> f64 {
        let spans = full(&asked.found, members.iter().map(|m| &tracks[*m]), ack_load);
        spans.iter().map(|s| s.1 - s.0).sum()
    };
    let links = found.iter().filter(|a| a.0.found.kind != LimiterKind::Policer);
    let by_all = links.map(|a| (seconds(&a.0, group), a)).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((all, best)) = by_all else { return found };
    let whole = spans(tracks, group);
    let carried: f64 = group.iter().map(|m| tracks[*m].counts.acked_bytes as f64).sum();
    let fits = carried < best.0.found.rate * whole;
    if fits && all > 0.5 * whole && seconds(&best.0, &best.1) < 0.5 * all {
        return vec![(best.0.clone(), group.to_vec())];
    }
    found
}

/// Seconds from the first data of these tracks to the last.
fn spans(tracks: &[Track], group: &[usize]) -> f64 {
    let first = group.iter().filter_map(|m| tracks[*m].first_data).map(limiter::seconds);
    let last = group.iter().filter_map(|m| tracks[*m].last_data).map(limiter::seconds);
    last.fold(f64::NEG_INFINITY, f64::max) - first.fold(f64::INFINITY, f64::min)
}

fn number(t: &Track) -> u32 {
    FlowDiagnosis::number(t.connection, t.opened)
}

fn limiter<'a>(found: &FoundLimiter, members: impl Iterator<Item = &'a Track>) -> Limiter {
    let queued = found.kind != LimiterKind::Policer;
    let members: Vec<&Track> = members.collect();
    // A queue is no shorter than nearly all of the delay that packets had, where it was the queue that delayed them.
    let seen = members.iter().map(|t| rtt_summary(&t.rtt)).map(|rtt| (rtt.p95 - rtt.min) * 1e-3);
    let seen = seen.fold(0.0, f64::max);
    let delay = if found.delay_fit.is_some() { found.delay.max(seen) } else { found.delay };
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
        takers: Vec::new(),
    }
}

/// Drops limiters that hold back none of their flows; the new number of each.
fn keep_those_that_limit(limiters: &mut Vec<Limiter>, flows: &[FlowDiagnosis]) -> Vec<Option<usize>> {
    let limits = |i: usize| flows.iter().any(|f| f.limiter == Some(i) && by_limiter(f) >= proof::SHOWN_FROM);
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

/// Share of the flow's time that its limiter explains.
fn by_limiter(f: &FlowDiagnosis) -> f64 {
    f.causes.iter().filter(|c| c.cause.is_of_limiter()).map(|c| c.share).sum()
}

/// A flow's round trips and what is known of it as a whole.
struct FlowView {
    rounds: Vec<round_trips::RoundTripSpan>,
    facts: FlowFacts,
    /// Median RTT, seconds.
    median: f64,
}

impl FlowView {
    fn new(t: &Track, through: Option<&FlowLimiter>, beside: &PathContext) -> FlowView {
        let base = beside.base.or(t.handshake.rtt.map(|r| r.as_secs_f64())).unwrap_or(UNKNOWN_RTT);
        let mean = t.rtt.mean().map_or(base, |rtt| rtt.as_secs_f64());
        let rtt = mean.max(base);
        let rounds = rounds(t, rtt);
        // Nothing is before the capture where that is the sender.
        let limiter = through.map(|l| l.found);
        let limiter =
            limiter.filter(|l| l.behind || l.delay_fit.is_some() || l.bucket.is_some() || !sender_side(t));
        let others: Vec<&Track> = match t.too_big.is_empty() {
            true => Vec::new(),
            false => {
                beside.same_way.iter().map(|i| &beside.tracks[*i]).filter(|o| !std::ptr::eq(*o, t)).collect()
            }
        };
        let stalls = SizeStall::all(t, &others);
        let mut outages = outages::outages(t, rtt, beside.silences);
        // The path was there for smaller packets.
        outages.retain(|o| !stalls.iter().any(|s| s.meets(*o)));
        let policer = limiter.is_some_and(|l| l.kind == LimiterKind::Policer);
        let by = if policer { Cause::Policed } else { Cause::Congestion };
        let dropped = (through.map_or(&[][..], |l| &l.dropped), by);
        let losses = losses::losses(t, base, rtt, dropped, (&outages, &stalls), beside.full);
        let since = |f: &(f64, f64)| (f.0 - limiter::seconds(t.first), f.1 - limiter::seconds(t.first));
        let facts = FlowFacts {
            full: through.iter().flat_map(|l| l.full.iter()).map(since).collect(),
            reverse_full: beside.reverse_full.iter().flat_map(|f| f.iter()).map(since).collect(),
            base,
            least: t.rtt.min().map_or(base, |rtt| rtt.as_secs_f64()),
            mss: t.mss.unwrap_or(1) as f64,
            limiter,
            share: through.map_or(1.0, |l| l.share),
            fills: LinkFills::of(&round_trips::rounds(t, base)),
            losses,
            stalls,
            outages,
            quiet: beside.silences.iter().map(|s| s.since(limiter::seconds(t.first))).collect(),
            bursts: outages::bursts(t, rtt).iter().map(|b| b - limiter::seconds(t.first)).collect(),
            near_receiver: receiver_side(t),
            waits_before_capture: waits_before_capture(t),
            inflight_unknown: t.rtt_up.samples() == 0 && !sender_side(t),
            one_way: measures::is_one_way(t) && !outages::is_unanswered(t),
            begun_late: !t.handshake.syn && !t.handshake.syn_ack,
            both_ways: beside.both_ways,
            send_buffer_full: is_send_buffer_full(t, &rounds),
            held_again: t.held.total() >= HELD_AGAIN,
            unanswered: cc::are_losses_unanswered(&rounds, t.mss.unwrap_or(1) as f64),
        };
        let median = t.rtt.quantile(0.5).map_or(base, |rtt| rtt.as_secs_f64());
        FlowView { rounds, facts, median }
    }

    /// The causes of each round's parts, without those that what was measured refutes.
    fn splits(&self) -> Vec<evidence::RoundSplit> {
        let measured = evidence::measured(&self.rounds, &self.facts);
        bounds::consistent_split(&self.rounds, &measured, &self.facts, self.median)
    }
}

/// The diagnosis of one flow.
fn flow(t: &Track, through: Option<&FlowLimiter>, beside: &PathContext, info: &CaptureInfo) -> FlowDiagnosis {
    let view = FlowView::new(t, through, beside);
    let splits = view.splits();
    let FlowView { rounds, facts, .. } = view;
    let causes = timeline::shares(&splits);
    let silent = |split: &evidence::RoundSplit| split[RoundPart::Silence as usize].1;
    let measures = Measures { silence_s: splits.iter().map(silent).sum(), ..measures::measures(t, &rounds) };
    let start = t.first.as_nanos() as f64 * 1e-9 - info.start_s;
    let mut proofs = proof::of_causes(t, &causes, (&rounds, &splits), &facts.losses);
    proofs.extend(proofs_of_what_happened(t));
    let duration: f64 = rounds.iter().map(|r| r.width).sum();
    let cause = causes.first().map_or(Cause::Unknown, |c| c.cause);
    let f = FlowDiagnosis {
        id: number(t),
        connection: t.connection,
        from: t.sender.to_string(),
        to: t.receiver.to_string(),
        start_s: start,
        duration_s: duration,
        vantage: vantage(t),
        cause,
        confidence: 0.0,
        alternatives: Vec::new(),
        needs: None,
        timeline: timeline::timeline(&rounds, &splits, start),
        remedies: Vec::new(),
        limiter: through.map(|l| l.index),
        cc: cc::guess(t, &rounds, &facts, cause),
        responses: responses::responses(t, duration),
        setup: setup::setup(t),
        reset: setup::reset(t, info),
        proofs,
        notes: measures::notes(t),
        between_ends: between::between_ends(t, info.start_s),
        qlog: None,
        measures,
        causes,
    };
    match setup::failed(t) {
        Some(_) => setup::never_set_up(f, t),
        None if gaps::has_too_many(t) => gaps::cannot_tell(f),
        None if few_packets::are_too_few(t, f.cause, f.duration_s) => {
            let mut f = gaps::cannot_tell(f);
            f.proofs = proofs_of_what_happened(t);
            f.notes.push(few_packets::NOTE.into());
            f
        }
        None => f,
    }
}

/// The packets of its setup, its resets and its longest response, which show no cause.
fn proofs_of_what_happened(t: &Track) -> Vec<PacketProof> {
    setup::proofs(t).into_iter().chain(responses::proof(t)).collect()
}

fn vantage(t: &Track) -> Vantage {
    let least = |h: &track::SpanHistogram| h.min().map(|rtt| rtt.as_millis_f64());
    let to_sender_ms = least(&t.rtt_up).or(t.handshake.up.map(|s| s.as_millis_f64()));
    let to_receiver_ms = least(&t.rtt_down).or(t.handshake.down.map(|s| s.as_millis_f64()));
    let place = match (to_sender_ms, to_receiver_ms) {
        (Some(up), Some(down)) if up < AT_END * (up + down) => CapturePlace::Sender,
        (Some(up), Some(down)) if down < AT_END * (up + down) => CapturePlace::Receiver,
        (Some(_), Some(_)) => CapturePlace::Middle,
        _ => CapturePlace::Unknown,
    };
    Vantage { place, to_sender_ms, to_receiver_ms }
}
