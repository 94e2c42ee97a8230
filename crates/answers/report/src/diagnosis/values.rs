//! The numbers that sentences about a group of flows may name: `{placeholders}` of the causes' texts. All of them are of the
//! largest flow, but for those of a limiter, which are of all flows that it holds: so no sentence mixes the numbers of several
//! flows.
//!
//! Of a cause, the first text is printed whose placeholders are all known; so a value that makes no sense for these flows is
//! not in the list, rather than odd.

use super::group::FlowGroup;
use super::words::seconds;
use crate::number::{bytes, count, millis, percent, short};
use crate::strings::SentenceValues;
use crate::width::printable;
use result::diagnosis::{Aqm, ConnectionEnd, Limiter, Measures, SetupEnd};
use result::{Cause, FlowDiagnosis};

/// A buffer that would carry so many times what was ever delivered in an RTT is not kept full: it is filled in bursts.
const IN_BURSTS: f64 = 1.3;
/// An RTT within this share of the least one waited at no queue: what a managed queue lets stand (RFC 8289 section 3.2).
const NO_QUEUE: f64 = 0.1;
/// Mathis et al. 1997: rate = MSS / RTT * C / sqrt(p), C = sqrt(3/2) where each packet is acknowledged.
const MATHIS: f64 = 1.2247;

/// Each fragment but the first has one more (RFC 791 section 3.1), bytes.
const IPV4_HEADER: f64 = 20.0;

/// What was measured of the group.
pub(super) fn of_group(g: &FlowGroup) -> SentenceValues {
    let all = [always(g), limiter(g), windows(g), counts(g), setup(g), no_data(g)];
    all.into_iter().flatten().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// Names and values, those that are known.
type Named = Vec<(&'static str, Option<String>)>;

/// What every group has.
fn always(g: &FlowGroup) -> Named {
    let rtt = g.lead().measures.rtt_ms;
    vec![
        // Payload that came through (at a limiter, of all flows that it holds), Mbit/s; share of the packets lost, per cent.
        ("got", Some(short(if g.limiter.is_some() { g.carried() } else { g.lead().measures.goodput_mbps }))),
        ("lost", Some(percent(lost(g)))),
        // Packets of the largest flow, where the capture has one direction only.
        ("data_seen", is_one_way(g).then(|| count(g.lead().measures.data_packets))),
        ("acks_seen", is_one_way(g).then(|| count(g.lead().measures.acks))),
        // Share of the largest flow's payload that is not in the capture, per cent.
        ("missing", g.lead().measures.missing_share.map(percent)),
        // Data packets of the largest flow, where they are too few for a verdict, and how long it lasted, seconds.
        ("few", g.lead().has_few_packets().then(|| count(sent_once(&g.lead().measures)))),
        ("lasted", Some(seconds(g.lead().duration_s))),
        // RTT of the largest flow, ms.
        ("min", shows(rtt.min).then(|| millis(rtt.min))),
        ("p50", shows(rtt.min).then(|| millis(rtt.p50))),
        // The median, where no queue stood in half of the samples.
        ("p50_empty", (shows(rtt.min) && rtt.p50 <= rtt.min + NO_QUEUE * rtt.min).then(|| millis(rtt.p50))),
        ("p95", shows(rtt.min).then(|| millis(rtt.p95))),
        // The same, where a queue shows in it.
        ("p95_queue", (shows(rtt.min) && g.lead().measures.shows_queue()).then(|| millis(rtt.p95))),
        // Seconds that the cause held the largest flow; its greatest delivery rate, Mbit/s.
        ("held", Some(seconds(held(g.lead(), g.cause)))),
        ("fastest", Some(short(g.lead().measures.max_delivery_mbps))),
    ]
}

/// Data packets, those that were sent again once.
fn sent_once(m: &Measures) -> u64 {
    m.data_packets.saturating_sub(m.retransmitted_packets)
}

/// Whether the capture has only one direction of the largest flow.
fn is_one_way(g: &FlowGroup) -> bool {
    g.lead().reset.is_none() && g.lead().has_note("one-way")
}

/// Whether an RTT is more than nothing, as it is told, ms: a capture at the receiver, without timestamps, shows none.
pub(super) fn shows(rtt: f64) -> bool {
    rtt >= 0.05
}

/// A limiter's rate, Mbit/s; least and greatest where the losses do not tell it closer.
pub(super) fn rate(limiter: &Limiter) -> String {
    let range = limiter.rate_range_mbps;
    range
        .map_or_else(|| short(limiter.rate_mbps), |[least, most]| format!("{}–{}", short(least), short(most)))
}

/// The limiter's rate, Mbit/s, and bucket; its queue in bytes and ms.
fn limiter(g: &FlowGroup) -> Named {
    vec![
        ("rate", g.limiter.filter(|l| l.rate_mbps > 0.0).map(rate)),
        ("burst", g.limiter.and_then(|l| l.burst_bytes).map(bytes)),
        ("queue", g.limiter.and_then(|l| l.queue_bytes).map(bytes)),
        ("queue_ms", g.affected().queue_ms().map(millis)),
        ("aqm", g.limiter.and_then(|l| l.aqm).map(|Aqm::CoDel| "CoDel".into())),
        // Flows that have a queue each.
        ("queues", g.limiter.filter(|l| l.fair_queue).map(|l| count(l.flows.len() as u64))),
    ]
}

/// Windows of the largest flow, and what they carry a round trip, Mbit/s.
fn windows(g: &FlowGroup) -> Named {
    let (m, carries) = (&g.lead().measures, |bytes| g.affected().window_rate_mbps(bytes));
    let flight_rate = carries(m.max_inflight_bytes).unwrap_or(m.goodput_mbps);
    let flight = bytes(m.max_inflight_bytes as f64);
    let in_bursts = flight_rate > IN_BURSTS * m.max_delivery_mbps;
    vec![
        ("window", m.max_window_bytes.map(|w| bytes(w as f64))),
        ("window_rate", m.max_window_bytes.filter(|_| shows(m.rtt_ms.min)).and_then(carries).map(short)),
        // The most in flight, if a buffer is filled in bursts; and anyway.
        ("burst_flight", in_bursts.then(|| flight.clone())),
        ("flight", Some(flight)),
        ("flight_rate", Some(short(flight_rate))),
        // What CUBIC and Reno carry at this loss.
        ("mathis", mathis(m, lost_of(g.lead())).map(short)),
    ]
}

fn counts(g: &FlowGroup) -> Named {
    let (lead, m) = (g.lead(), &g.lead().measures);
    let rounds = lead.round_trips().filter(|_| shows(m.rtt_ms.min));
    let cut = m.fragmented_packets as f64;
    let more = m.fragments.saturating_sub(m.fragmented_packets) as f64 * IPV4_HEADER;
    vec![
        // Seconds in which nothing passed.
        ("silent", (m.silence_s > 0.0).then(|| seconds(m.silence_s))),
        // Windows of zero.
        ("zero_windows", (m.zero_windows > 0).then(|| m.zero_windows.to_string())),
        // Small segments that waited for a delayed ACK, and ms each.
        ("held_segments", (m.held_segments > 0).then(|| count(m.held_segments))),
        ("held_each", (m.held_segments > 0).then(|| millis(m.held_s * 1e3 / m.held_segments as f64))),
        // Bytes of the largest flow, and its round trips.
        ("bytes", Some(bytes(m.bytes as f64))),
        ("rounds", rounds.map(|n| format!("{:.0}", n.ceil()))),
        ("mean", rounds.map(|_| millis(m.rtt_ms.mean))),
        // The path's MTU, payload of a full segment and what it was before it fell, bytes; timeouts.
        ("mtu", m.path_mtu_bytes.map(|n| n.to_string())),
        ("mss", (m.mss_bytes > 0).then(|| m.mss_bytes.to_string())),
        ("mss_before", m.mss_before_bytes.map(|n| n.to_string())),
        ("timeouts", (m.timeouts > 0).then(|| m.timeouts.to_string())),
        // Share of the packets that came in fragments, per cent; fragments of each; bytes that those have more for IP
        // headers, per cent; packets of which some never came.
        ("fragmented", (m.fragmented_packets > 0).then(|| percent(cut / m.data_packets.max(1) as f64))),
        ("pieces", (m.fragmented_packets > 0).then(|| short(m.fragments as f64 / cut))),
        ("more_headers", (m.fragmented_packets > 0).then(|| percent(more / (m.bytes as f64).max(1.0)))),
        ("torn", (m.torn_packets > 0).then(|| m.torn_packets.to_string())),
        // Data packets to each ACK; the largest burst back to back.
        ("data_per_ack", Some(short(m.data_packets as f64 / (m.acks as f64).max(1.0)))),
        ("largest_burst", Some(bytes(m.largest_burst_bytes as f64))),
    ]
}

/// How setting up the largest flow's connection failed: SYNs and seconds, SYN/ACKs, ms until it was refused, what ICMP said.
fn setup(g: &FlowGroup) -> Named {
    let Some(s) = &g.lead().setup else { return Vec::new() };
    let ended = |end| s.failed == Some(end);
    vec![
        ("syns", ended(SetupEnd::Unanswered).then(|| s.syns.to_string())),
        ("setup_s", ended(SetupEnd::Unanswered).then(|| seconds(s.retried_s))),
        ("syn_acks", ended(SetupEnd::Unfinished).then(|| s.syn_acks.to_string())),
        ("refused_after", s.refused_after_ms.map(millis)),
        ("unreachable", s.unreachable.as_deref().map(printable)),
    ]
}

/// If the group's largest flow carried no data: its data packets, and the seconds until the client or the server reset it.
fn no_data(g: &FlowGroup) -> Named {
    let lead = g.lead();
    if lead.measures.bytes > 0 || lead.measures.data_packets > 0 {
        return Vec::new();
    }
    let by =
        |end| lead.reset.as_ref().filter(|r| r.by == end).map(|r| seconds((r.at_s - lead.start_s).max(0.0)));
    vec![
        ("client_reset", by(ConnectionEnd::Client)),
        ("server_reset", by(ConnectionEnd::Server)),
        ("no_data", lead.reset.is_none().then(|| count(0))),
    ]
}

/// The share of the packets that the limiter dropped; of the largest flow's packets that were lost where there is none.
fn lost(g: &FlowGroup) -> f64 {
    g.limiter.map(|l| l.lost_share).filter(|&s| s > 0.0).unwrap_or_else(|| lost_of(g.lead()))
}

/// The share of its data packets lost on either side of the capture.
fn lost_of(f: &FlowDiagnosis) -> f64 {
    let (m, lost) = (&f.measures, f.measures.lost_up + f.measures.lost_down);
    if m.data_packets > 0 { lost as f64 / m.data_packets as f64 } else { 0.0 }
}

/// What a loss-based congestion control carries at that loss, Mbit/s.
fn mathis(m: &Measures, lost: f64) -> Option<f64> {
    let rtt = m.rtt_ms.p50;
    (rtt > 0.0 && lost > 0.0 && m.mss_bytes > 0)
        .then(|| m.mss_bytes as f64 * 8e-3 / rtt * MATHIS / lost.sqrt())
}

/// Seconds that the cause held a flow.
fn held(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.seconds)
}
