//! The values of the `{placeholders}` in the causes' texts. They are the largest flow's, except those of a
//! limiter, which are of all flows that it limits: so no sentence mixes the numbers of several flows.
//!
//! The first text of a cause is printed whose placeholders are all known. So a value that makes no sense for
//! these flows is left out of the list.

use super::group::FlowGroup;
use super::words::seconds;
use crate::number::{bytes, count, millis, percent, short};
use crate::strings::SentenceValues;
use crate::width::printable;
use result::diagnosis::{Aqm, ConnectionEnd, Limiter, Measures, PacketProof, ProofKind, SetupEnd};
use result::{Cause, FlowDiagnosis};

/// If the data in flight would carry this many times the delivery rate that was ever reached, the buffer is
/// not kept full but filled in bursts.
const BURST_RATE_FACTOR: f64 = 1.3;
/// An RTT above the minimum by at most this share shows no queue: CoDel's target queueing delay (RFC 8289
/// section 3.2).
const MAX_EMPTY_EXCESS: f64 = 0.1;
/// Constant C of Mathis et al. 1997: rate = MSS / RTT * C / sqrt(p), with C = sqrt(3/2) if each packet is
/// acknowledged.
const MATHIS_C: f64 = 1.2247;

/// The rate by Mathis et al. is not printed if the goodput exceeds it by more than this factor.
const MAX_MATHIS_EXCESS: f64 = 1.5;
/// Bytes of the IPv4 header that each further fragment adds (RFC 791 section 3.1).
const IPV4_HEADER: f64 = 20.0;
/// A recovery is reported if it took at least this share of the silence before it.
const MIN_RECOVERY: f64 = 0.1;

/// All known values of the group.
pub(super) fn of_group(g: &FlowGroup) -> SentenceValues {
    let all = [always(g), limiter(g), windows(g), counts(g), setup(g), no_data(g)];
    all.into_iter().flatten().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// Names with their values, `None` if unknown.
type Named = Vec<(&'static str, Option<String>)>;

/// Values that any group may have.
fn always(g: &FlowGroup) -> Named {
    let rtt = g.lead().measures.rtt_ms;
    vec![
        // Goodput (at a limiter: of all flows that it limits), Mbit/s; share of the packets lost, per cent.
        (
            "got",
            Some(short(if g.limiter.is_some() { g.goodput_mbps() } else { g.lead().measures.goodput_mbps })),
        ),
        ("lost", Some(percent(lost(g)))),
        // Packets of the largest flow, if the capture has one direction only.
        ("data_seen", is_one_way(g).then(|| count(g.lead().measures.data_packets))),
        ("acks_seen", is_one_way(g).then(|| count(g.lead().measures.acks))),
        // Share of the largest flow's payload that is missing from the capture, per cent.
        ("missing", g.lead().measures.missing_share.map(percent)),
        // Data packets of the largest flow, if too few for a verdict, without retransmissions; its duration,
        // seconds.
        ("few", g.lead().has_few_packets().then(|| count(sent_once(&g.lead().measures)))),
        ("lasted", Some(seconds(g.lead().duration_s))),
        // RTT of the largest flow, ms.
        ("min", is_measurable(rtt.min).then(|| millis(rtt.min))),
        ("p50", is_measurable(rtt.min).then(|| millis(rtt.p50))),
        // The median, if at least half of the samples show no queue.
        (
            "p50_empty",
            (is_measurable(rtt.min) && rtt.p50 <= rtt.min + MAX_EMPTY_EXCESS * rtt.min)
                .then(|| millis(rtt.p50)),
        ),
        ("p95", is_measurable(rtt.min).then(|| millis(rtt.p95))),
        // The 95th percentile, if it shows a queue.
        ("p95_queue", (is_measurable(rtt.min) && g.lead().measures.shows_queue()).then(|| millis(rtt.p95))),
        // Seconds for which the cause limited the largest flow; its maximum delivery rate, Mbit/s.
        ("held", Some(seconds(held(g.lead(), g.cause)))),
        ("fastest", Some(short(g.lead().measures.max_delivery_mbps))),
    ]
}

/// Data packets without retransmissions.
fn sent_once(m: &Measures) -> u64 {
    m.data_packets.saturating_sub(m.retransmitted_packets)
}

/// Whether the capture has only one direction of the largest flow.
fn is_one_way(g: &FlowGroup) -> bool {
    g.lead().reset.is_none() && g.lead().has_note("one-way")
}

/// Whether an RTT, ms, prints as more than zero. A capture at the receiver without TCP timestamps shows no
/// RTT.
pub(super) fn is_measurable(rtt: f64) -> bool {
    rtt >= 0.05
}

/// A limiter's rate, Mbit/s; as a range if the losses do not determine it more closely.
pub(super) fn rate(limiter: &Limiter) -> String {
    let range = limiter.rate_range_mbps;
    range
        .map_or_else(|| short(limiter.rate_mbps), |[least, most]| format!("{}–{}", short(least), short(most)))
}

/// The limiter's rate, Mbit/s, its bucket, and its queue in bytes and ms.
fn limiter(g: &FlowGroup) -> Named {
    vec![
        ("rate", g.limiter.filter(|l| l.rate_mbps > 0.0).map(rate)),
        ("burst", g.limiter.and_then(|l| l.burst_bytes).map(bytes)),
        ("queue", g.limiter.and_then(|l| l.queue_bytes).map(bytes)),
        ("queue_ms", g.affected().queue_ms().map(millis)),
        ("aqm", g.limiter.and_then(|l| l.aqm).map(|Aqm::CoDel| "CoDel".into())),
        // Flows that have a queue of their own.
        ("queues", g.limiter.filter(|l| l.fair_queue).map(|l| count(l.flows.len() as u64))),
    ]
}

/// Windows of the largest flow, and the rates that they allow at its RTT, Mbit/s.
fn windows(g: &FlowGroup) -> Named {
    let (m, carries) = (&g.lead().measures, |bytes| g.affected().window_rate_mbps(bytes));
    let flight_rate = carries(m.max_inflight_bytes).unwrap_or(m.goodput_mbps);
    let flight = bytes(m.max_inflight_bytes as f64);
    let in_bursts = flight_rate > BURST_RATE_FACTOR * m.max_delivery_mbps;
    vec![
        ("window", m.max_window_bytes.map(|w| bytes(w as f64))),
        (
            "window_rate",
            m.max_window_bytes.filter(|_| is_measurable(m.rtt_ms.min)).and_then(carries).map(short),
        ),
        // The most data in flight, if it leaves in bursts; and in any case.
        ("burst_flight", in_bursts.then(|| flight.clone())),
        ("flight", Some(flight)),
        ("flight_rate", Some(short(flight_rate))),
        // The rate of CUBIC and Reno at this loss.
        ("mathis", mathis(g).map(short)),
        // Round trips in which packets were lost to the cause.
        ("loss_episodes", losses(g).and_then(|p| p.episodes).map(count)),
    ]
}

fn counts(g: &FlowGroup) -> Named {
    let (lead, m) = (g.lead(), &g.lead().measures);
    let rounds = lead.round_trips().filter(|_| is_measurable(m.rtt_ms.min));
    let cut = m.fragmented_packets as f64;
    let more = m.fragments.saturating_sub(m.fragmented_packets) as f64 * IPV4_HEADER;
    let after_silence = held(lead, g.cause) - m.silence_s;
    vec![
        // Seconds without any packet, and those in which the sender recovered from them, if it took long.
        ("silent", (m.silence_s > 0.0).then(|| seconds(m.silence_s))),
        ("recovery", (after_silence > MIN_RECOVERY * m.silence_s).then(|| seconds(after_silence))),
        // Zero windows.
        ("zero_windows", (m.zero_windows > 0).then(|| m.zero_windows.to_string())),
        // Small segments that waited for a delayed ACK, and their mean wait, ms.
        ("held_segments", (m.held_segments > 0).then(|| count(m.held_segments))),
        ("held_each", (m.held_segments > 0).then(|| millis(m.held_s * 1e3 / m.held_segments as f64))),
        // Bytes of the largest flow, and its round trips.
        ("bytes", Some(bytes(m.bytes as f64))),
        ("rounds", rounds.map(|n| format!("{:.0}", n.ceil()))),
        ("mean", rounds.map(|_| millis(m.rtt_ms.mean))),
        // The path MTU, the payload of a full segment and its former value, bytes; timeouts.
        ("mtu", m.path_mtu_bytes.map(|n| n.to_string())),
        ("mss", (m.mss_bytes > 0).then(|| m.mss_bytes.to_string())),
        ("mss_before", m.mss_before_bytes.map(|n| n.to_string())),
        ("timeouts", (m.timeouts > 0).then(|| m.timeouts.to_string())),
        // Share of the packets that came in fragments, per cent; fragments per packet; additional bytes for
        // IP headers, per cent; packets of which a fragment never came.
        ("fragmented", (m.fragmented_packets > 0).then(|| percent(cut / m.data_packets.max(1) as f64))),
        ("pieces", (m.fragmented_packets > 0).then(|| short(m.fragments as f64 / cut))),
        ("more_headers", (m.fragmented_packets > 0).then(|| percent(more / (m.bytes as f64).max(1.0)))),
        ("torn", (m.incomplete_packets > 0).then(|| m.incomplete_packets.to_string())),
        // Data packets per ACK; the largest back-to-back burst.
        ("data_per_ack", Some(short(m.data_packets as f64 / (m.acks as f64).max(1.0)))),
        ("largest_burst", Some(bytes(m.largest_burst_bytes as f64))),
    ]
}

/// How the setup of the largest flow's connection failed: SYNs and seconds, SYN/ACKs, ms until the refusal,
/// ICMP's reason.
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

/// If the largest flow carried no data: the seconds until the client or the server reset it, or 0 data
/// packets.
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

/// The largest flow's losses that have the group's cause.
fn losses<'a>(g: &FlowGroup<'a>) -> Option<&'a PacketProof> {
    g.lead().proofs.iter().find(|p| p.cause == Some(g.cause) && p.kind == ProofKind::Lost)
}

/// The share of packets that the limiter dropped; without a limiter, the share of the largest flow's packets
/// that were lost to the cause, or at all where the cause loses none.
fn lost(g: &FlowGroup) -> f64 {
    let of_cause = || losses(g).map_or_else(|| lost_of(g.lead()), |p| share(p.total, g.lead()));
    g.limiter.map(|l| l.lost_share).filter(|&s| s > 0.0).unwrap_or_else(of_cause)
}

/// Packets as a share of a flow's data packets.
fn share(packets: u64, f: &FlowDiagnosis) -> f64 {
    if f.measures.data_packets > 0 { packets as f64 / f.measures.data_packets as f64 } else { 0.0 }
}

/// The share of a flow's data packets that were lost before or after the capture point.
fn lost_of(f: &FlowDiagnosis) -> f64 {
    share(f.measures.lost_up + f.measures.lost_down, f)
}

/// The rate of Reno at the losses of the cause, Mbit/s, and of CUBIC on all but long paths. Losses within a
/// round trip count once, as in the paper's p. `None` where the flow's goodput refutes it.
fn mathis(g: &FlowGroup) -> Option<f64> {
    let (m, rtt) = (&g.lead().measures, g.lead().measures.rtt_ms.p50);
    let p = share(losses(g)?.episodes?, g.lead());
    let rate = m.mss_bytes as f64 * 8e-3 / rtt * MATHIS_C / p.sqrt();
    (rtt > 0.0 && p > 0.0 && rate > 0.0 && m.goodput_mbps < MAX_MATHIS_EXCESS * rate).then_some(rate)
}

/// Seconds for which the cause limited a flow.
fn held(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.seconds)
}
