//! The sending kernel's counters of a connection, which take precedence over what packets let infer.
//!
//! A capture shows a full window only as bytes in flight near the advertised window, and does not show a full
//! send buffer. The kernel counts both to the microsecond (`tcp_chrono_start` and `tcp_chrono_stop`,
//! net/ipv4/tcp_output.c): the time in which data is outstanding (busy), and the parts of it in which the
//! receive window stops the sender or the application waits for room in the send buffer. Counters are assumed
//! to grow evenly between samples.
//!
//! The send buffer's time is a lower bound: it begins only with a packet that leaves while the application
//! waits (`tcp_cwnd_validate`). So the buffer's filling is sampled too: a full buffer whose data is all sent
//! means the same.
//!
//! Packets alone show what the kernel does not know: where packets were lost, where a queue stands, and which
//! limiter it is.

use super::few_packets::{self, INITIAL_WINDOW};
use super::{MeasuredRound, RoundTripSpan, gaps};
use crate::cause::RoundPart;
use crate::confidence::confidence;
use crate::limiter::seconds;
use result::RttSummary;
use result::diagnosis::{
    CaptureInfo, CaptureNeed, Cause, CauseShare, DIAGNOSIS_SCHEMA, Diagnosis, FlowDiagnosis, Guess, Measures,
    SenderTime, SocketAccount, SocketSample,
};
use std::collections::BTreeMap;
use track::{Endpoint, Track};

/// Least share of a round trip for which a limit counts as holding it.
const HOLDING_SHARE: f64 = 0.5;
/// Least counted share of a round trip for which a full send buffer counts as holding it. It is less than
/// [`HOLDING_SHARE`], because the counter is a lower bound.
const BUFFER_HOLDING_SHARE: f64 = 0.25;
/// Greatest share of a flow's busy time at which a limit counts as absent: the time of a few ACKs.
const ABSENT_SHARE: f64 = 0.02;
/// Samples that are needed to rule out a cause.
const MIN_SAMPLES: usize = 5;
/// Share of a flow's time that samples must cover to rule out a cause.
const MIN_COVERED_SHARE: f64 = 0.8;
/// A state that holds in at least this share of the samples counts as permanent.
const ALWAYS_SHARE: f64 = 0.95;
/// Greatest distance, seconds, of a sample that counts for a round trip: twice the usual interval.
const MAX_SAMPLE_DISTANCE_S: f64 = 0.2;

/// Code in the notes of a flow that is known only from its socket's counters.
pub const NO_PACKETS: &str = "no-packets";

/// A socket of the sender. `None` means that its kernel does not report the value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SocketFacts {
    pub local: Endpoint,
    pub remote: Endpoint,
    /// Samples, in order.
    pub samples: Vec<SocketSample>,
    /// Name of the congestion control.
    pub control: Option<String>,
    /// Payload of a full segment, bytes.
    pub mss: Option<u32>,
    /// Least RTT, µs.
    pub min_rtt_us: Option<u32>,
    /// Data segments sent.
    pub segments: Option<u64>,
    /// Data segments retransmitted.
    pub retransmitted: Option<u64>,
    /// Payload bytes received.
    pub received: u64,
    /// Congestion window at the end, segments.
    pub cwnd: Option<u64>,
    /// Bytes a second at which the kernel paced at the end.
    pub pacing_rate: Option<u64>,
    /// The greatest of the kernel's rate samples, bytes a second.
    pub delivery_rate: Option<u64>,
    /// The receiver's window at the end, bytes.
    pub window: Option<u64>,
    /// Bytes that the send buffer may hold.
    pub send_buffer: Option<u64>,
    /// Its program is known to have had data all along, and to have waited for the socket to take it.
    pub always_writes: bool,
}

/// The sockets that were watched, by their ends.
#[derive(Clone, Debug, Default)]
pub struct WatchedSockets(BTreeMap<(Endpoint, Endpoint), Vec<SocketFacts>>);

impl FromIterator<SocketFacts> for WatchedSockets {
    fn from_iter<I: IntoIterator<Item = SocketFacts>>(sockets: I) -> WatchedSockets {
        let mut watched = WatchedSockets::default();
        sockets.into_iter().for_each(|s| watched.0.entry((s.local, s.remote)).or_default().push(s));
        watched
    }
}

impl WatchedSockets {
    /// Returns the socket that sent a track's data. Of several sockets in a row with the same ends, it is the
    /// one with the longest overlap.
    pub fn of(&self, t: &Track) -> Option<&SocketFacts> {
        let meets = |s: &&SocketFacts| {
            let (from, to) = s.span().unwrap_or_default();
            let (first, last) = (seconds(t.first), seconds(t.last));
            (to.min(last) - from.max(first)).max(-1.0)
        };
        let candidates = self.0.get(&(t.sender, t.receiver))?.iter().filter(|s| !s.samples.is_empty());
        candidates.max_by(|a, b| meets(a).total_cmp(&meets(b))).filter(|s| meets(s) > -1.0)
    }
}

/// An index into [`SocketSample::times_us`].
#[derive(Clone, Copy)]
enum Counted {
    Busy = 0,
    Window = 1,
    Buffer = 2,
}

impl SocketFacts {
    /// Returns the times of the first and the last sample, seconds since 1970.
    fn span(&self) -> Option<(f64, f64)> {
        Some((seconds(self.samples.first()?.at), seconds(self.samples.last()?.at)))
    }

    /// Returns the seconds that were counted from the first sample to the last.
    fn counted(&self, what: Counted) -> Option<f64> {
        let at = |s: &SocketSample| s.times_us.map(|t| t[what as usize] as f64 * 1e-6);
        Some(at(self.samples.last()?)? - at(self.samples.first()?)?)
    }

    /// Returns the seconds that were counted up to a moment (seconds since 1970); `None` outside of the
    /// samples. `begin`: time of the first packet where the SYN was captured, at which all counters are
    /// 0.
    fn counted_until(&self, what: Counted, begin: Option<f64>, moment: f64) -> Option<f64> {
        let value = |s: &SocketSample| Some((seconds(s.at), s.times_us?[what as usize] as f64 * 1e-6));
        let next = self.samples.partition_point(|s| seconds(s.at) < moment);
        let before = match next.checked_sub(1) {
            Some(i) => value(&self.samples[i])?,
            None => (begin.filter(|begin| *begin <= moment)?, 0.0),
        };
        let after = value(self.samples.get(next)?)?;
        let part = (moment - before.0) / (after.0 - before.0).max(1e-9);
        Some(before.1 + part.clamp(0.0, 1.0) * (after.1 - before.1))
    }

    /// Returns the counted share of a span of time; `None` where the samples do not cover it.
    fn share(&self, what: Counted, begin: Option<f64>, from: f64, to: f64) -> Option<f64> {
        let until = |moment| self.counted_until(what, begin, moment);
        let seconds = until(to)? - until(from)?;
        (to > from).then(|| (seconds / (to - from)).clamp(0.0, 1.0))
    }

    /// Returns the share of samples near a span of time for which `holds` is true; `None` where there are
    /// none, or `holds` is unknown for one.
    fn share_near(&self, holds: fn(&SocketSample) -> Option<bool>, from: f64, to: f64) -> Option<f64> {
        let begin = self.samples.partition_point(|s| seconds(s.at) < from - MAX_SAMPLE_DISTANCE_S);
        let near = self.samples[begin..].iter().take_while(|s| seconds(s.at) <= to + MAX_SAMPLE_DISTANCE_S);
        let (mut all, mut those) = (0, 0);
        for s in near {
            all += 1;
            those += u32::from(holds(s)?);
        }
        (all > 0).then(|| f64::from(those) / f64::from(all))
    }

    /// Replaces what was inferred about each round trip by what the kernel counted. Returns the causes that
    /// the counters rule out for the whole flow.
    pub(crate) fn correct(
        &self,
        t: &Track,
        rounds: &[RoundTripSpan],
        measured: &mut [MeasuredRound],
    ) -> Vec<Cause> {
        let first = seconds(t.first);
        let begin = (t.opened && t.handshake.syn || t.handshake.syn_ack).then_some(first);
        let mut known = 0.0;
        for (r, m) in rounds.iter().zip(measured.iter_mut()) {
            let (from, to) = (first + r.from, first + r.from + r.width);
            let share = |what| self.share(what, begin, from, to);
            let Some((window, buffer)) = share(Counted::Window).zip(share(Counted::Buffer)) else { continue };
            known += r.width;
            let [full, moving] = [RoundPart::WindowFull, RoundPart::Moving].map(|part| part as usize);
            let total = m.seconds[full] + m.seconds[moving];
            m.seconds[full] = (window * r.width).min(total);
            m.seconds[moving] = total - m.seconds[full];
            let near = |holds| self.share_near(holds, from, to);
            let waits_for_room =
                near(SocketSample::waits_for_room).is_some_and(|share| share >= HOLDING_SHARE);
            let e = &mut m.evidence;
            e.writes_little |= near(SocketSample::writes_little).is_some_and(|share| share >= ALWAYS_SHARE);
            let seems_slow = e.writes_little || e.small_writes || e.paused;
            e.window_full = window >= HOLDING_SHARE;
            e.send_buffer_full =
                waits_for_room || buffer >= BUFFER_HOLDING_SHARE || self.always_writes && seems_slow;
            // A program that waits for room writes as soon as there is some, and little at a time.
            if e.window_full || e.send_buffer_full {
                (e.writes_little, e.small_writes, e.paused) = (false, false, false);
            }
        }
        let total: f64 = rounds.iter().map(|r| r.width).sum();
        let is_covered = known >= MIN_COVERED_SHARE * total && self.samples.len() >= MIN_SAMPLES;
        let mut wrong = if is_covered { self.ruled_out() } else { Vec::new() };
        if self.always_writes {
            wrong.push(Cause::Application);
        }
        wrong
    }

    /// Returns the causes that never held the flow, by the counters of its whole life.
    fn ruled_out(&self) -> Vec<Cause> {
        let mut wrong = Vec::new();
        let busy = self.counted(Counted::Busy).filter(|busy| *busy > 0.0);
        let never = |what| busy.zip(self.counted(what)).is_some_and(|(busy, s)| s <= ABSENT_SHARE * busy);
        if never(Counted::Window) {
            wrong.push(Cause::ReceiveWindow);
        }
        if !self.always_writes
            && never(Counted::Buffer)
            && self.share_of(SocketSample::waits_for_room).is_some_and(|share| share <= ABSENT_SHARE)
        {
            wrong.push(Cause::SendBuffer);
        }
        if self.share_of(SocketSample::all_is_sent).is_some_and(|share| share <= 1.0 - ALWAYS_SHARE) {
            wrong.push(Cause::Application);
        }
        wrong
    }

    /// Returns the share of all samples for which `holds` is true; `None` where it is unknown for one.
    fn share_of(&self, holds: fn(&SocketSample) -> Option<bool>) -> Option<f64> {
        self.share_near(holds, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// Returns the congestion control, which the kernel knows for certain.
    pub(crate) fn control(&self) -> Option<Guess> {
        let name = self.control.clone().filter(|name| !name.is_empty())?;
        Some(Guess { name, confidence: 1.0 })
    }

    /// Returns the counters as a diagnosis reports them.
    pub(crate) fn account(&self) -> SocketAccount {
        let (from, to) = self.span().unwrap_or_default();
        let app: Vec<bool> = self.samples.iter().filter_map(|s| s.app_limited).collect();
        let limited = app.iter().filter(|limited| **limited).count() as f64;
        let mbps = |rate: u64| rate as f64 * 8e-6;
        SocketAccount {
            observed_s: to - from,
            samples: self.samples.len() as u64,
            busy_s: self.counted(Counted::Busy),
            window_limited_s: self.counted(Counted::Window),
            buffer_limited_s: self.counted(Counted::Buffer),
            app_limited_share: (!app.is_empty()).then(|| limited / app.len() as f64),
            min_rtt_ms: self.min_rtt_us.map(|us| f64::from(us) / 1e3),
            retransmitted_packets: self.retransmitted,
            cwnd_packets: self.cwnd,
            pacing_rate_mbps: self.pacing_rate.map(mbps),
            delivery_rate_mbps: self.delivery_rate.map(mbps),
            send_buffer_bytes: self.send_buffer,
        }
    }

    /// Returns the payload bytes that were acknowledged from the first sample to the last.
    fn acked(&self) -> u64 {
        let ends = self.samples.first().zip(self.samples.last());
        ends.map_or(0, |(first, last)| last.acked.saturating_sub(if young(first) { 0 } else { first.acked }))
    }

    /// Diagnoses the flow that the socket sends, by its counters alone; `None` where it sent nothing.
    fn flow_alone(&self, connection: u32, start_s: f64) -> Option<FlowDiagnosis> {
        let (from, to) = self.span()?;
        let bytes = self.acked();
        let duration = to - from;
        if bytes <= 1 || duration <= 0.0 {
            return None;
        }
        let part = |cause, seconds: f64| CauseShare { cause, share: seconds / duration, seconds };
        let counted = [Counted::Busy, Counted::Window, Counted::Buffer].map(|what| self.counted(what));
        let counted = match counted {
            [Some(busy), Some(window), Some(buffer)] => Some([busy, window, buffer]),
            _ => None,
        };
        let [waiting, little] =
            [SocketSample::waits_for_room, SocketSample::writes_little].map(|holds| self.share_of(holds));
        let time = SenderTime::divide(duration, counted, waiting, little);
        let mut causes = vec![
            part(Cause::ReceiveWindow, time.receive_window),
            part(Cause::SendBuffer, time.send_buffer),
            part(Cause::Application, time.application),
            // The counters cannot tell what in the network limits.
            part(Cause::Unknown, time.network + time.unknown),
        ];
        causes.retain(|c| c.seconds > 0.0);
        causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let goodput = bytes as f64 * 8e-6 / duration;
        let measures = Measures {
            goodput_mbps: goodput,
            max_delivery_mbps: self.delivery_rate.map_or(goodput, |rate| goodput.max(rate as f64 * 8e-6)),
            bytes,
            data_packets: self.segments.unwrap_or(0),
            mss_bytes: self.mss.unwrap_or(0),
            rtt_ms: self.rtts(),
            max_window_bytes: self.window,
            retransmitted_packets: self.retransmitted.unwrap_or(0),
            ..Measures::default()
        };
        let mut flow = FlowDiagnosis {
            id: FlowDiagnosis::number(connection, true),
            connection,
            from: self.local.to_string(),
            to: self.remote.to_string(),
            start_s: from - start_s,
            duration_s: duration,
            cause: causes.first()?.cause,
            causes,
            cc: self.control().unwrap_or_default(),
            measures,
            socket: Some(self.account()),
            notes: vec![NO_PACKETS.into()],
            ..FlowDiagnosis::default()
        };
        flow.confidence = confidence(&flow, &[]);
        flow.needs = (flow.confidence < result::diagnosis::SURE).then_some(CaptureNeed::Packets);
        // A request of a few packets shows nothing about the path.
        if self.segments.is_some_and(|n| n <= INITIAL_WINDOW) {
            flow = gaps::cannot_tell(flow);
            flow.notes.push(few_packets::NOTE.into());
            flow.needs = None;
        }
        Some(flow)
    }

    /// Describes the flow that the socket receives, without a cause: only the other end's kernel knows what
    /// limited it.
    fn received_alone(&self, connection: u32, start_s: f64) -> Option<FlowDiagnosis> {
        let (from, to) = self.span()?;
        let duration = to - from;
        // A FIN counts as one byte.
        if self.received <= 1 || duration <= 0.0 {
            return None;
        }
        let goodput = self.received as f64 * 8e-6 / duration;
        Some(FlowDiagnosis {
            id: FlowDiagnosis::number(connection, false),
            connection,
            from: self.remote.to_string(),
            to: self.local.to_string(),
            start_s: from - start_s,
            duration_s: duration,
            cause: Cause::Unknown,
            causes: vec![CauseShare { cause: Cause::Unknown, share: 1.0, seconds: duration }],
            needs: Some(CaptureNeed::Packets),
            measures: Measures {
                goodput_mbps: goodput,
                max_delivery_mbps: goodput,
                bytes: self.received,
                ..Measures::default()
            },
            notes: vec![NO_PACKETS.into()],
            ..FlowDiagnosis::default()
        })
    }

    /// Summarises the smoothed RTTs of the samples; the least is the kernel's own.
    fn rtts(&self) -> RttSummary {
        let mut rtts: Vec<f64> =
            self.samples.iter().filter_map(|s| s.rtt_us).map(|us| f64::from(us) / 1e3).collect();
        rtts.sort_by(f64::total_cmp);
        let (Some(low), Some(high)) = (rtts.first(), rtts.last()) else { return RttSummary::default() };
        let least = self.min_rtt_us.map_or(*low, |us| low.min(f64::from(us) / 1e3));
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        RttSummary::with((least, *high), mean, |q| rtts[(q * (rtts.len() - 1) as f64).round() as usize])
    }
}

/// Whether the connection had just begun at its first sample, so that all its data belongs to the watched
/// time.
fn young(first: &SocketSample) -> bool {
    first.times_us.is_some_and(|t| t[Counted::Busy as usize] < 200_000)
}

/// Diagnoses by the counters of sockets alone, where no packets could be captured.
pub fn diagnose_sockets_alone(sockets: &[SocketFacts], info: CaptureInfo) -> Diagnosis {
    let start = info.start_s;
    let flow = |(i, s): (usize, &SocketFacts)| {
        [s.flow_alone(i as u32, start), s.received_alone(i as u32, start)].into_iter().flatten()
    };
    let mut flows: Vec<FlowDiagnosis> = sockets.iter().enumerate().flat_map(flow).collect();
    flows.sort_by(|a, b| b.measures.bytes.cmp(&a.measures.bytes).then(a.id.cmp(&b.id)));
    let schema = DIAGNOSIS_SCHEMA.into();
    let mut d = Diagnosis { schema, capture: info, flows, ..Diagnosis::default() };
    let remedies: Vec<_> = d.flows.iter().map(|f| crate::cause::remedies_of(&d, f)).collect();
    d.flows.iter_mut().zip(remedies).for_each(|(f, r)| f.remedies = r);
    d
}
