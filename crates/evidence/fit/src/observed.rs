//! The observed path: what a capture shows of the flows and of their path, as far as a fit needs it.

use crate::error::FitError;
use crate::figures::TEMPERATURE;
use crate::series::{SeriesInterval, rtt_summary};
use crate::spacing;
use crate::verdict::SummaryVerdict;
use result::diagnosis::{Limiter, LimiterKind};
use result::{Cause, Diagnosis, FlowDiagnosis};
use std::sync::Arc;
use track::{LoggedPacket, PacketFate, Track};
use units::Span;

/// Most packets of a flow that are kept: more are not simulated.
pub const MAX_PACKETS: usize = 1 << 19;

/// Facts of one direction of a connection that its track has and a diagnosis does not keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedFacts {
    /// As [`FlowDiagnosis::id`].
    pub id: u32,
    /// Both ends use timestamps.
    pub timestamps: bool,
    /// Both ends agreed on SACK.
    pub sack: bool,
    /// Both SYNs were captured, so `timestamps` and `sack` are known.
    pub handshake: bool,
    /// The sender ended its stream, or reset it.
    pub ended: bool,
    /// Mean length of a run of losses, packets; 1 where nothing was lost.
    pub loss_run: f64,
    /// This flow's sender opened the connection.
    pub opened: bool,
    /// Number of bursts of the application between its pauses.
    pub app_bursts: u32,
    /// Rate of IP bytes at which the packets of a burst follow each other, bit/s, where they show it.
    pub line_rate: Option<f64>,
    /// The first [`MAX_PACKETS`] packets of the track's log.
    pub packets: Arc<[LoggedPacket]>,
    /// The intervals of a summary, from the flow's start on.
    pub intervals: Arc<[SeriesInterval]>,
    /// The bytes of `intervals` are counted when they arrived, not when they were written.
    pub counts_arrivals: bool,
    /// Buckets that explain the losses of all flows between the hosts; only in the facts of the capture's
    /// first track.
    pub buckets: Vec<ProposedBucket>,
}

/// A bucket that explains losses better than chance: a policer's, or a short queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProposedBucket {
    /// bit/s of IP bytes.
    pub rate: f64,
    /// Half of the log ratio of the greatest and the least rate that explain the losses as well.
    pub rate_open: f64,
    /// Bytes.
    pub bytes: f64,
}

/// The buckets that explain the losses of the first track's path.
fn buckets(tracks: &[Track]) -> Vec<ProposedBucket> {
    let bucket = |b: diagnosis::ProposedLimiter| {
        let (least, most) = b.rates_mbps;
        let rate_open = (most / least).ln() / 2.0;
        ProposedBucket { rate: b.proposal.rate * 8.0, rate_open, bytes: b.burst.unwrap_or(0.0) }
    };
    diagnosis::proposed_buckets(tracks).into_iter().map(bucket).collect()
}

/// Takes the facts from tracks before they are diagnosed.
pub fn facts(tracks: &[Track]) -> Vec<CapturedFacts> {
    let facts_of = |t: &Track| CapturedFacts {
        id: FlowDiagnosis::number(t.connection, t.opened),
        timestamps: t.handshake.timestamps,
        sack: t.handshake.sack,
        handshake: t.handshake.syn && t.handshake.syn_ack,
        ended: t.counts.fin || t.counts.resets > 0,
        loss_run: loss_run(t),
        opened: t.opened,
        app_bursts: app_bursts(t),
        line_rate: spacing::line_rate(t),
        packets: t.log.iter().take(MAX_PACKETS).copied().collect(),
        intervals: Arc::default(),
        counts_arrivals: false,
        buckets: Vec::new(),
    };
    let mut all: Vec<CapturedFacts> = tracks.iter().map(facts_of).collect();
    if let Some(first) = all.first_mut() {
        first.buckets = buckets(tracks);
    }
    all
}

/// Mean length of runs of lost packets in the log; retransmissions between them do not end a run.
fn loss_run(t: &Track) -> f64 {
    let (mut runs, mut lost, mut inside) = (0u64, 0u64, false);
    for p in t.log.iter().filter(|p| !p.again) {
        let is = p.fate != PacketFate::Passed;
        if is {
            lost += u64::from(p.segments);
            runs += u64::from(!inside);
        }
        inside = is;
    }
    if runs == 0 { 1.0 } else { lost as f64 / runs as f64 }
}

/// A gap between packets longer than this many round trips is a pause of the application.
const PAUSE_ROUND_TRIPS: f64 = 2.0;

/// Number of bursts of the application: its pauses plus one. Pauses are counted as the number of equally long
/// ones, (Σg)²/Σg², so that many short gaps hardly count. A gap before a retransmission is not a pause.
fn app_bursts(t: &Track) -> u32 {
    let rtt = t.rtt.quantile(0.5).map_or(0.0, |s| s.as_secs_f64());
    let gap = |w: &[LoggedPacket]| w[1].time.since(w[0].time).as_secs_f64();
    let pauses = t.log.windows(2).filter(|w| !w[1].again).map(gap).filter(|g| *g > PAUSE_ROUND_TRIPS * rtt);
    let (sum, squares) = pauses.fold((0.0, 0.0), |(sum, squares), g| (sum + g, squares + g * g));
    if squares > 0.0 { (sum * sum / squares).round() as u32 + 1 } else { 1 }
}

/// A flow that the fit reproduces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedFlow {
    pub flow: FlowDiagnosis,
    pub facts: CapturedFacts,
    /// The flow's data go in the opposite direction of the flow with most bytes.
    pub backward: bool,
    /// Index of the flow's policer in [`ObservedPath::policers`], where these are not all alike.
    pub policer: Option<usize>,
}

impl ObservedFlow {
    /// Share of the data packets that were sent again, 0 to 1.
    pub fn resent(&self) -> f64 {
        let m = &self.flow.measures;
        if m.data_packets == 0 { 0.0 } else { m.retransmitted_packets as f64 / m.data_packets as f64 }
    }

    /// End of the flow, seconds since the capture began.
    pub fn end_s(&self) -> f64 {
        self.flow.start_s + self.flow.duration_s
    }
}

/// The measurements that a fit reproduces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedPath {
    /// Flows on the path, the one with most bytes first.
    pub flows: Vec<ObservedFlow>,
    /// The limiter that the diagnosis names.
    pub limiter: Option<Limiter>,
    /// First start of a flow, seconds since the capture began.
    pub start_s: f64,
    /// From `start_s` to the last end of a flow, seconds.
    pub span_s: f64,
    /// Number of flows of the capture that are on another path or too short.
    pub left_out: usize,
    /// Only a summary is available, without packets, so no limiter is known.
    pub summary: bool,
    /// Policers where there are several; `limiter` is the first of them.
    pub policers: Vec<Limiter>,
    /// The verdict on a summary's series, before anything is simulated.
    pub verdict: Option<SummaryVerdict>,
}

/// Most flows that the fit reproduces.
const MAX_FLOWS: usize = 32;
/// Least data packets of a flow that is reproduced.
const MIN_PACKETS: u64 = 30;

impl ObservedPath {
    /// The path of the flow with most bytes. `facts` are of the same capture.
    ///
    /// # Errors
    /// Fails if no flow of the capture shows a path.
    pub fn of(d: &Diagnosis, facts: &[CapturedFacts]) -> Result<ObservedPath, FitError> {
        let Some(first) = d.flows.iter().max_by_key(|f| f.measures.bytes) else {
            return Err(FitError::NoFlow);
        };
        check(first)?;
        let limiter = first.limiter.and_then(|i| d.limiters.get(i)).cloned();
        let several = several_policers(d, first);
        let hosts = |f: &FlowDiagnosis| (host(&f.from).to_string(), host(&f.to).to_string());
        let (from, to) = hosts(first);
        let mut flows: Vec<ObservedFlow> = Vec::new();
        let mut left_out = 0;
        for f in &d.flows {
            let policer = f.limiter.and_then(|l| several.iter().position(|s| *s == l));
            let shares = limiter.is_some() && f.limiter == first.limiter || policer.is_some();
            let (a, b) = hosts(f);
            let backward = a == to && b == from;
            let tells = f.measures.data_packets >= MIN_PACKETS && f.duration_s > 0.0;
            if !tells || !(shares || backward || a == from && b == to) || flows.len() >= MAX_FLOWS {
                left_out += 1;
                continue;
            }
            let own = facts.iter().find(|x| x.id == f.id).cloned().unwrap_or_default();
            let backward = backward && !shares;
            flows.push(ObservedFlow { flow: f.clone(), facts: own, backward, policer });
        }
        flows.sort_by_key(|f| std::cmp::Reverse(f.flow.measures.bytes));
        let policers: Vec<Limiter> = several.iter().map(|l| d.limiters[*l].clone()).collect();
        let one_way = flows.iter().all(|f| f.backward || hosts(&f.flow) == (from.clone(), to.clone()));
        if one_way && policers.iter().all(|l| l.flows.len() == 1) && are_alike(&policers) {
            flows.iter_mut().for_each(|f| f.policer = None);
        }
        let start_s = flows.iter().map(|f| f.flow.start_s).fold(f64::INFINITY, f64::min);
        let end = flows.iter().map(ObservedFlow::end_s).fold(0.0, f64::max);
        Ok(ObservedPath {
            flows,
            limiter,
            start_s,
            span_s: (end - start_s).max(0.01),
            left_out,
            summary: false,
            policers,
            verdict: None,
        })
    }

    /// The path with only the flows that run in the first `seconds`, or, if the flow with most bytes starts
    /// later, in the `seconds` from its start on. Their measures stay those of the whole flows. A path
    /// where all flows start in time is returned as it is.
    ///
    /// Measures of a summary become those of its first `seconds`.
    #[must_use]
    pub fn within(&self, seconds: f64) -> ObservedPath {
        if self.summary && self.span_s > seconds && self.flows.iter().all(|f| f.facts.intervals.len() > 1) {
            return self.stretch(seconds);
        }
        let late = |f: &ObservedFlow| f.flow.start_s - self.start_s >= seconds;
        if !self.flows.iter().any(late) {
            return self.clone();
        }
        let Some(first) = self.flows.first() else { return self.clone() };
        let from = if late(first) { first.flow.start_s } else { self.start_s };
        let runs = |f: &&ObservedFlow| f.flow.start_s < from + seconds && f.end_s() > from;
        let mut flows: Vec<ObservedFlow> = self.flows.iter().filter(runs).cloned().collect();
        for f in &mut flows {
            let end = f.end_s();
            if let Some(first) = f.facts.packets.first().filter(|_| f.flow.start_s < from) {
                let cut = first.time + Span::from_secs_f64(from - f.flow.start_s);
                f.facts.packets = f.facts.packets.iter().filter(|p| p.time >= cut).copied().collect();
            }
            f.flow.start_s = f.flow.start_s.max(from);
            f.flow.duration_s = end - f.flow.start_s;
        }
        let left_out = self.left_out + self.flows.len() - flows.len();
        let span_s = flows.iter().map(ObservedFlow::end_s).fold(from, f64::max) - from;
        ObservedPath { left_out, start_s: from, span_s: span_s.max(0.01), flows, ..self.clone() }
    }

    /// Rate at which each sender's application wrote before the bucket was empty, bit/s; `None` if a queue or
    /// losses limited then.
    pub fn host_rate(&self) -> Option<f64> {
        let verdict = self.verdict.as_ref().filter(|v| v.delays == Some(true))?;
        let forward = || self.flows.iter().filter(|f| !f.backward);
        let rtt = &forward().next()?.flow.measures.rtt_ms;
        let lost = forward().any(|f| f.flow.measures.retransmitted_packets > 0);
        // Most packets were sent before the bucket was empty, so the median is that of their round trips.
        let waited = rtt.p50 > rtt.min * QUEUE_THRESHOLD.0 + QUEUE_THRESHOLD.1;
        verdict.fast_bps.filter(|_| !lost && !waited).map(|bps| bps / forward().count().max(1) as f64)
    }

    /// The first `seconds` of a summary, in whole intervals.
    fn stretch(&self, seconds: f64) -> ObservedPath {
        let mut cut = self.clone();
        let mut span = 0.0f64;
        cut.flows.retain_mut(|f| {
            let begin = f.facts.intervals.first().map_or(0.0, |i| i.start_s);
            let until = (seconds - (f.flow.start_s - self.start_s)).max(0.0) + begin + 1e-3;
            let own: Vec<SeriesInterval> =
                f.facts.intervals.iter().take_while(|i| i.end_s <= until).copied().collect();
            let Some((bytes, lasted)) = in_stretch(&own, f.facts.counts_arrivals) else { return false };
            let m = &mut f.flow.measures;
            let resent: Option<f64> = own.iter().filter_map(|i| i.retransmits).reduce(|a, b| a + b);
            m.goodput_mbps = bytes * 8e-6 / lasted;
            m.max_delivery_mbps = m.max_delivery_mbps.max(m.goodput_mbps);
            m.bytes = bytes as u64;
            m.retransmitted_packets = resent.unwrap_or(0.0) as u64;
            m.data_packets = (bytes / f64::from(m.mss_bytes.max(1))).ceil() as u64 + m.retransmitted_packets;
            if let Some(rtts) = rtt_summary(&own) {
                let least = m.rtt_ms.min;
                m.rtt_ms = rtts;
                m.rtt_ms.min = m.rtt_ms.min.min(least);
            }
            f.flow.duration_s = lasted;
            span = span.max(f.flow.start_s - self.start_s + lasted);
            f.facts.intervals = own.into();
            true
        });
        if cut.flows.is_empty() {
            return self.clone();
        }
        cut.span_s = span.max(0.01);
        cut
    }

    /// Cost of an element that the diagnosis does not name, or of a value that differs from a measured one:
    /// the logarithm of the number of data packets in `seconds` (Schwarz 1978, "Estimating the dimension of a
    /// model", Ann. Statist. 6(2)), in units of the misfit.
    pub fn schwarz(&self, seconds: f64) -> f64 {
        let packets: u64 = self.flows.iter().map(|f| f.flow.measures.data_packets).sum();
        TEMPERATURE * (packets as f64 * (seconds / self.span_s).min(1.0)).max(2.0).ln()
    }

    /// Share of the time of all forward flows that a cause took, weighted by bytes, 0 to 1.
    pub fn share(&self, cause: Cause) -> f64 {
        let forward = self.flows.iter().filter(|f| !f.backward);
        let (mut sum, mut all) = (0.0, 0.0);
        for f in forward {
            let weight = f.flow.measures.bytes as f64;
            sum += weight * f.flow.share(cause);
            all += weight;
        }
        if all > 0.0 { sum / all } else { 0.0 }
    }
}

/// A round trip above the least by this factor and these milliseconds shows a queue.
const QUEUE_THRESHOLD: (f64, f64) = (1.15, 2.0);

/// Bytes that arrived in these intervals, and their seconds; `None` if nothing arrived.
fn in_stretch(own: &[SeriesInterval], counts_arrivals: bool) -> Option<(f64, f64)> {
    let (first, last) = (own.first()?, own.last()?);
    let all: f64 = own.iter().map(|i| i.bytes).sum();
    // Bytes written but not arrived are in flight: a congestion window at most.
    let in_flight = if counts_arrivals { 0.0 } else { last.cwnd_bytes.unwrap_or(0.0).min(all / 2.0) };
    (all > 0.0).then_some((all - in_flight, last.end_s - first.start_s))
}

/// Refuses a flow that does not show its path.
fn check(f: &FlowDiagnosis) -> Result<(), FitError> {
    let has = |note: &str| f.notes.iter().any(|n| n == note);
    if f.measures.data_packets < MIN_PACKETS {
        return Err(FitError::TooFew(f.measures.data_packets, MIN_PACKETS));
    }
    if has("one-way") || f.measures.acks == 0 {
        return Err(FitError::OneWay);
    }
    if f.measures.rtt_ms.p50 <= 0.0 {
        return Err(FitError::NoRtt);
    }
    Ok(())
}

/// The policers of the flows from the host that sends most, if there are several: that of the flow with most
/// bytes first, then in the order of flows. Indices into [`Diagnosis::limiters`].
fn several_policers(d: &Diagnosis, first: &FlowDiagnosis) -> Vec<usize> {
    let policer = |f: &FlowDiagnosis| {
        f.limiter.filter(|l| d.limiters.get(*l).is_some_and(|l| l.kind == LimiterKind::Policer))
    };
    let Some(one) = policer(first) else { return Vec::new() };
    let mut all = vec![one];
    for f in d.flows.iter().filter(|f| host(&f.from) == host(&first.from)) {
        if let Some(other) = policer(f).filter(|l| !all.contains(l) && f.measures.data_packets >= MIN_PACKETS)
        {
            all.push(other);
        }
    }
    if all.len() > 1 { all } else { Vec::new() }
}

/// Standard deviations of the logarithms of a limiter's rate and bucket in a diagnosis: nine in ten policers
/// are no further off (docs/measured/diagnosis-accuracy.md).
pub const RATE_STDERR: f64 = 0.005;
pub const BUCKET_STDERR: f64 = 0.1;
/// Two figures differ if their difference is more than this many of its standard deviations: one equal pair
/// in 370 does.
const MIN_DEVIATIONS: f64 = 3.0;

/// Whether policers are alike within the diagnosis' precision.
fn are_alike(all: &[Limiter]) -> bool {
    let near = |a: f64, b: f64, known: f64| (a / b).ln().abs() <= MIN_DEVIATIONS * known * 2.0f64.sqrt();
    let Some(first) = all.first() else { return true };
    all.iter().all(|l| {
        let buckets = first.burst_bytes.zip(l.burst_bytes).filter(|(a, b)| *a > 0.0 && *b > 0.0);
        near(l.rate_mbps, first.rate_mbps, RATE_STDERR)
            && buckets.is_none_or(|(a, b)| near(a, b, BUCKET_STDERR))
    })
}

/// The address of `address:port`.
fn host(end: &str) -> &str {
    end.rsplit_once(':').map_or(end, |(host, _)| host)
}
