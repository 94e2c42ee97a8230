//! From tracks to diagnoses.
//!
//! 1. Flows between the same two hosts may share a limiter, so their packets are searched together for one
//!    ([`crate::limiter`]). Where that fails, or may have found the queue before a policer of each flow,
//!    flows are searched alone.
//! 2. Each flow's time is cut into round trips, and each round trip into causes ([`evidence`]).
//! 3. The shares are added up; the greatest is the main cause.

mod alternatives;
mod between;
mod bounds;
mod cc;
mod display_filter;
mod evidence;
mod few_packets;
mod file;
mod flow;
mod full_link;
mod gaps;
mod limiter_shares;
mod limiters;
mod losses;
mod measures;
mod outages;
mod proof;
mod responses;
mod round_trips;
mod setup;
pub mod socket;
mod timeline;
mod too_big;
mod vantage;

pub(crate) use cc::median;

use crate::cause;
use crate::confidence::confidence;
pub use between::both_ends_info;
pub(crate) use between::{late_parts, late_summary};
pub(crate) use evidence::{MeasuredRound, least_queue};
pub use file::capture_info;
use flow::flow;
use limiter_shares::limiter_shares;
pub(crate) use limiters::{FULL_SHARE, full_window};
use limiters::{FlowLimiter, LimiterAnswer, TimeSpans};
pub use limiters::{ProposedLimiters, proposed_buckets, proposed_limiters};
pub(crate) use measures::rtt_summary;
use outages::AckSilence;
use result::Diagnosis;
use result::diagnosis::{CaptureInfo, DIAGNOSIS_SCHEMA, FlowDiagnosis, Limiter, LimiterKind, SURE};
pub(crate) use round_trips::RoundTripSpan;
use socket::{SocketFacts, WatchedSockets};
use std::collections::BTreeMap;
pub(crate) use timeline::MAX_SPANS;
use track::{Addr, Track};

/// The RTT that is assumed where none is known, seconds (RFC 9002 section 6.2.2).
pub(crate) const UNKNOWN_RTT: f64 = 0.333;

/// Diagnoses what limited each track. Flows are in falling order of their bytes.
pub fn diagnose_tracks(tracks: Vec<Track>, info: CaptureInfo) -> Diagnosis {
    diagnose_with_sockets(tracks, info, &WatchedSockets::default())
}

/// Diagnoses as [`diagnose_tracks`] does, with the counters of the senders' kernels, which take precedence
/// over what packets let infer.
pub fn diagnose_with_sockets(tracks: Vec<Track>, info: CaptureInfo, sockets: &WatchedSockets) -> Diagnosis {
    let mut limiters = Vec::new();
    let mut of_flow: Vec<Option<FlowLimiter>> = vec![None; tracks.len()];
    let mut rejected = vec![None; tracks.len()];
    let silences = silences(&tracks);
    let traffic = host_traffic(&tracks);
    for group in limiters::groups(&tracks) {
        let silent = silent(&silences, &tracks[group[0]]);
        let ack_load = limiters::ack_load(&tracks, &group, &traffic);
        for (LimiterAnswer { found, dropped }, members) in
            limiters::limiters_of(&tracks, &group, silent, &ack_load, &mut rejected)
        {
            let index = limiters.len();
            let bytes: f64 = members.iter().map(|m| tracks[*m].counts.acked_bytes as f64).sum();
            let mut each: Vec<Vec<u32>> = vec![Vec::new(); members.len()];
            dropped.iter().for_each(|(i, entry)| each[*i as usize].push(*entry));
            let full: TimeSpans =
                limiters::full(&found, members.iter().map(|m| &tracks[*m]), &ack_load).into();
            for (m, dropped) in members.iter().zip(each) {
                let share = tracks[*m].counts.acked_bytes as f64 / bytes.max(1.0);
                of_flow[*m] = Some(FlowLimiter { index, found, share, dropped, full: full.clone() });
            }
            limiters.push(limiters::as_reported(&found, members.iter().map(|m| &tracks[*m])));
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
    let context = |t: &Track| {
        let (from, to) = (t.sender.addr, t.receiver.addr);
        let bytes = |from, to| traffic.get(&(from, to)).map_or(0.0, |w: &HostTraffic| w.bytes as f64);
        PathContext {
            silences: silent(&silences, t),
            base: traffic.get(&(from, to)).and_then(|w| w.base),
            full: traffic.get(&(from, to)).map(|w| w.full).unwrap_or_default(),
            bidirectional_data: bytes(to, from)
                > traffic.get(&(from, to)).map_or(0.0, |w| w.ack_bytes as f64),
            reverse_full: full_of.get(&(to, from)).cloned(),
            tracks: &tracks,
            same_direction: traffic.get(&(from, to)).map_or(&[][..], |w| &w.tracks),
            socket: sockets.of(t),
        }
    };
    let mut flows: Vec<FlowDiagnosis> =
        tracks.iter().zip(&of_flow).map(|(t, l)| flow(t, l.as_ref(), &context(t), &info)).collect();
    let refer = limiters::keep_those_that_limit(&mut limiters, &flows);
    for (f, rejected) in flows.iter_mut().zip(rejected) {
        f.limiter = f.limiter.and_then(|l| refer[l]);
        f.rejected_limiter = rejected.filter(|_| f.limiter.is_none()).map(limiters::as_rejected);
        judge_certainty(f, &limiters, 1.0);
    }
    limiters.iter_mut().enumerate().for_each(|(i, l)| l.shares_by_cc = limiter_shares(&flows, i));
    flows.sort_by(|a, b| b.measures.bytes.cmp(&a.measures.bytes).then(a.id.cmp(&b.id)));
    let schema = DIAGNOSIS_SCHEMA.into();
    let mut diagnosis = Diagnosis { schema, capture: info, limiters, flows, udp_flows: Vec::new() };
    let remedies: Vec<_> = diagnosis.flows.iter().map(|f| cause::remedies_of(&diagnosis, f)).collect();
    diagnosis.flows.iter_mut().zip(remedies).for_each(|(f, r)| f.remedies = r);
    diagnosis
}

/// Sets the confidence of a flow's cause (at most `most`), and where that is low, the other causes that fit
/// and the capture that would decide.
fn judge_certainty(f: &mut FlowDiagnosis, limiters: &[Limiter], most: f64) {
    f.confidence = confidence(f, limiters).min(most);
    let doubtful = f.confidence < SURE;
    f.alternatives = if doubtful { alternatives::other_causes(f) } else { Vec::new() };
    f.needs = if doubtful { alternatives::needs(f) } else { None };
}

/// Sets the confidence of flow `i` again after its notes changed, at most to `most` (0 to 1).
pub fn revise_certainty(diagnosis: &mut Diagnosis, i: usize, most: f64) {
    judge_certainty(&mut diagnosis.flows[i], &diagnosis.limiters, most);
    diagnosis.flows[i].remedies = cause::remedies_of(diagnosis, &diagnosis.flows[i]);
}

/// Returns the times without ACKs between each two hosts.
fn silences(tracks: &[Track]) -> BTreeMap<(Addr, Addr), Vec<AckSilence>> {
    let mut by_hosts: BTreeMap<(Addr, Addr), Vec<&Track>> = BTreeMap::new();
    for t in tracks {
        by_hosts.entry(pair(t)).or_default().push(t);
    }
    by_hosts.into_iter().map(|(hosts, group)| (hosts, outages::silences(&group))).collect()
}

/// Returns the times without ACKs between a track's hosts.
fn silent<'a>(silences: &'a BTreeMap<(Addr, Addr), Vec<AckSilence>>, t: &Track) -> &'a [AckSilence] {
    silences.get(&pair(t)).map_or(&[][..], |s| s)
}

/// The traffic from one host to another.
#[derive(Clone, Debug, Default)]
struct HostTraffic {
    /// Payload bytes.
    bytes: u64,
    /// Bytes of the packets that only acknowledge it.
    ack_bytes: u64,
    /// Least RTT of all flows, seconds. A single flow may never have found the path empty.
    base: Option<f64>,
    /// Delays at the losses of all flows.
    full: losses::QueueLossSigns,
    /// Indices of the tracks.
    tracks: Vec<usize>,
}

fn host_traffic(tracks: &[Track]) -> BTreeMap<(Addr, Addr), HostTraffic> {
    let mut by_hosts: BTreeMap<(Addr, Addr), Vec<usize>> = BTreeMap::new();
    for (i, t) in tracks.iter().enumerate() {
        by_hosts.entry((t.sender.addr, t.receiver.addr)).or_default().push(i);
    }
    let traffic = |numbers: Vec<usize>| {
        let tracks: Vec<&Track> = numbers.iter().map(|i| &tracks[*i]).collect();
        let min_rtt = tracks.iter().filter_map(|t| t.rtt.min()).min().map(|rtt| rtt.as_secs_f64());
        let empty = tracks.iter().filter_map(|t| handshake_base(t)).min_by(f64::total_cmp);
        let base = min_rtt.into_iter().chain(empty.filter(|_| min_rtt.is_some())).min_by(f64::total_cmp);
        HostTraffic {
            bytes: tracks.iter().fold(0, |sum, t| t.counts.payload_bytes.saturating_add(sum)),
            ack_bytes: tracks.iter().map(|t| t.counts.acks * u64::from(t.header)).sum(),
            base,
            full: losses::full(&tracks, base.unwrap_or(0.0)),
            tracks: numbers,
        }
    };
    by_hosts.into_iter().map(|(ends, numbers)| (ends, traffic(numbers))).collect()
}

/// Returns the RTT of a full packet on the empty path, seconds, from the handshake. Its packets are small, so
/// the transmission time of a full packet is added, at the greatest rate of acknowledgements. Data packets
/// may never find the path empty.
fn handshake_base(t: &Track) -> Option<f64> {
    let rtt = t.handshake.rtt?.as_secs_f64();
    let carried =
        t.bins.windows(2).map(|b| f64::from(b[0].acked) + f64::from(b[1].acked)).fold(0.0, f64::max);
    let rate = carried / (2.0 * t.bin.as_secs_f64()).max(rtt);
    (rate > 0.0).then(|| rtt + limiters::full_packet(t) / rate)
}

/// The evidence of the other flows between the same hosts about a flow's path.
struct PathContext<'a> {
    silences: &'a [AckSilence],
    base: Option<f64>,
    bidirectional_data: bool,
    /// Spans in which a link of the other direction was full.
    reverse_full: Option<TimeSpans>,
    full: losses::QueueLossSigns,
    tracks: &'a [Track],
    /// Indices of the tracks from this flow's sender to its receiver.
    same_direction: &'a [usize],
    /// The counters of the sender's kernel.
    socket: Option<&'a SocketFacts>,
}

/// Returns a track's hosts in an order that does not depend on the direction.
fn pair(t: &Track) -> (Addr, Addr) {
    let (a, b) = (t.sender.addr, t.receiver.addr);
    (a.min(b), a.max(b))
}

fn number(t: &Track) -> u32 {
    FlowDiagnosis::number(t.connection, t.opened)
}
