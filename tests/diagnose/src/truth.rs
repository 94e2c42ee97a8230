//! The truth about what limited a flow, from what the simulator or the kernel knows, never from the intended
//! cause.
//!
//! The rule. At each sample (7.3 ms) between a flow's first and its last data packet (or its last packet in
//! the capture, where that is earlier: packets that were sent into an outage do not show behind it) the
//! sender reports what keeps it from sending (`transport::Limit`; `kernel.rs` for the kernel). The sample
//! counts for the first of these that holds:
//!
//! | holds | counts for |
//! |---|---|
//! | nothing passes (outage stage), or nothing was acknowledged since | outage |
//! | all written data was sent | application |
//! | the receive window has no room, and more is unread than it has room for | receiver-stalled |
//! | the receive window has no room | receive-window |
//! | the send buffer has none | send-buffer |
//! | congestion control; the flow's last loss was at a policer | policed |
//! | congestion control; a link or shaper of the data's direction is full (97 % of its rate) | bottleneck, shaped |
//! | congestion control; a link of the ACKs' direction is full | ack-path |
//! | congestion control; exponential growth, no loss yet | slow-start |
//! | congestion control; the last loss was at a loss stage, a queue, an outage | random-loss, congestion, outage |
//! | anything else (grows without loss on an empty path) | nothing |
//!
//! "Full" is measured in bins of 100 ms or forty packets, whichever is longer. Where a stage is between 85
//! and 97 % full, or a window is the limit while a stage is full, the sample counts for both. A cause is
//! right if its share is within a tenth of the greatest and at least 0.3. Where the greatest is below 0.4 the
//! truth is undecided and the flow is not scored. A shaper with a bucket of less than ten full packets
//! behaves as a link, so bottleneck is right too. A queue that is full before it delays by a millisecond and
//! a fiftieth of the RTT shows in no capture, so random-loss is right too after losses there.

use crate::Case;
use crate::observations::{Direction, Moment, Observations, ObservedStage};
use crate::play::first_variant;
use result::Cause;
use scenario::Variant;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use transport::Limit;
use units::Time;

/// Least number of data packets of a scored flow.
const MIN_PACKETS: u64 = 15;
/// Smallest bucket of a shaper, bytes, that a capture shows; below it the shaper counts as a link.
pub(crate) const MIN_BUCKET: f64 = 15_000.0;
const FULL_SHARE: f64 = 0.97;
const BUSY_SHARE: f64 = 0.85;
/// A flow with at least this many drops at a policer counts as policed, whatever limited it most.
pub(crate) const POLICED_DROPS: u64 = 5;

/// The name of a cause or a kind in scenarios and tables.
pub type Name = Cow<'static, str>;

/// The truth of a case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Truth {
    /// Number of the case.
    pub number: u64,
    /// Seed of its run.
    pub seed: u64,
    /// The intended cause.
    pub intended: String,
    /// `sender`, `middle` or `receiver`.
    pub vantage: String,
    /// The capture has super-packets.
    pub offload: bool,
    /// Rate of the intended limiter, Mbit/s.
    pub rate_mbps: f64,
    pub flows: Vec<FlowTruth>,
}

impl Truth {
    /// Writes `scenario.toml` and `truth.json` into a case's folder, and creates the folder if necessary.
    ///
    /// # Errors
    /// Fails as the file system does, and names the folder.
    pub fn keep(&self, case: &Case, folder: &Path) -> Result<(), String> {
        let text = |e: std::io::Error| format!("{}: {e}", folder.display());
        let json = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        fs::create_dir_all(folder).map_err(text)?;
        fs::write(folder.join("scenario.toml"), &case.text).map_err(text)?;
        fs::write(folder.join("truth.json"), json).map_err(text)
    }

    /// Reads the truth and the scenario that [`Truth::keep`] wrote.
    ///
    /// # Errors
    /// Names the folder if a file is missing or malformed.
    pub fn kept(folder: &Path) -> Result<(Truth, Variant), String> {
        let text = |e: &dyn std::fmt::Display| format!("{}: {e}", folder.display());
        let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| text(&e));
        let truth = serde_json::from_str(&read("truth.json")?).map_err(|e| text(&e))?;
        let variant = first_variant(&read("scenario.toml")?).map_err(|e| text(&e))?;
        Ok((truth, variant))
    }
}

/// The truth of a flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FlowTruth {
    /// Sender, `address:port`.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Shares of its time, the greatest first. Time that counts for two causes is in both.
    pub shares: Vec<(Name, f64)>,
    /// Right causes; empty where the truth is undecided.
    pub right: Vec<Name>,
    /// Share of `policed`.
    pub policed_share: f64,
    /// Data packets sent.
    pub packets: u64,
    /// Lost packets, by kind of stage.
    pub lost: BTreeMap<Name, u64>,
    /// The limiter of its rate.
    pub limiter: Option<LimiterTruth>,
    /// The samples of its time.
    #[serde(skip)]
    pub samples: Vec<TruthSample>,
    /// Pairs of causes: the first holds, and the second looks the same in a capture.
    #[serde(skip)]
    pub alike: Vec<[Cause; 2]>,
    /// First and last data, seconds.
    pub from_s: f64,
    /// Last.
    pub to_s: f64,
}

impl FlowTruth {
    /// Returns the right causes of a part of its time, seconds; empty where the truth is undecided.
    pub fn right_between(&self, from_s: f64, to_s: f64) -> Vec<Name> {
        let within = self.samples.iter().filter(|s| (from_s..=to_s).contains(&s.at_s));
        let samples: Vec<TruthSample> = within.copied().collect();
        right(&shares(&samples), &self.alike).iter().map(|c| c.name().into()).collect()
    }
}

/// Returns the shares of causes, the greatest first. A sample that counts for two causes is in both.
fn shares(samples: &[TruthSample]) -> Vec<(Cause, f64)> {
    let mut counts = BTreeMap::<Cause, f64>::new();
    for cause in samples.iter().flat_map(|s| s.causes).flatten() {
        *counts.entry(cause).or_default() += 1.0;
    }
    let count = samples.len() as f64;
    let mut shares: Vec<(Cause, f64)> = counts.into_iter().map(|(c, n)| (c, n / count)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// Returns the right causes, and those that look the same in a capture.
fn right(shares: &[(Cause, f64)], alike: &[[Cause; 2]]) -> Vec<Cause> {
    let largest = shares.first().map_or(0.0, |s| s.1);
    let is_right = |s: &&(Cause, f64)| largest >= 0.4 && s.1 >= (largest - 0.1).max(0.3);
    let mut right: Vec<Cause> = shares.iter().filter(is_right).map(|s| s.0).collect();
    for [actual, lookalike] in alike {
        if right.contains(actual) && !right.contains(lookalike) {
            right.push(*lookalike);
        }
    }
    right
}

/// The causes at a sample.
#[derive(Clone, Copy, Debug)]
pub struct TruthSample {
    /// Seconds.
    pub at_s: f64,
    /// The cause that it counts for, and another that held too.
    pub causes: [Option<Cause>; 2],
}

/// A limiter as the scenario has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LimiterTruth {
    /// `policer`, `shaper` or `bottleneck`.
    pub kind: Name,
    /// IP bytes, Mbit/s.
    pub rate_mbps: f64,
    /// Bucket, if it went from full to empty: it is full when the run begins, and it dropped or delayed
    /// packets.
    pub burst_bytes: Option<f64>,
    /// Each flow has a bucket of its own.
    pub per_flow: bool,
    /// The law by which its queue drops: `codel`.
    pub aqm: Option<Name>,
}

/// Returns the used share of a stage's rate around `at`, 0 to 1; 0 where it has no rate.
fn fullness(s: &ObservedStage, at: Time) -> f64 {
    let Some(rate) = s.rate.filter(|_| matches!(s.kind, "link" | "shaper")) else { return 0.0 };
    let bin = (at.as_secs_f64() / s.bin) as usize;
    s.passed.get(bin).map_or(0.0, |&n| n as f64 * 8.0 / (rate * s.bin))
}

/// Returns the cause of a stage that is full, or that loses packets at its queue.
fn full_cause(s: &ObservedStage) -> Cause {
    if s.kind == "shaper" { Cause::Shaped } else { Cause::Bottleneck }
}

struct Judge<'a> {
    case: &'a Case,
    observed: &'a Observations,
    direction: &'a Direction,
    /// The flow's data goes from `a` to `b`.
    forward: bool,
    /// The connection's last packet in the capture.
    shown: Time,
}

impl Judge<'_> {
    /// Returns the fullest stage of the data's direction, or of the ACKs'.
    fn fullest(&self, at: Time, data: bool) -> Option<(&ObservedStage, f64)> {
        let on_path = |s: &&ObservedStage| (s.forward == self.forward) == data && self.is_passed(s);
        let all = self.observed.stages.iter().filter(on_path).map(|s| (s, fullness(s, at)));
        all.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|s| s.1 >= BUSY_SHARE)
    }

    /// Returns the stage of the last loss before `at`.
    fn last_loss(&self, at: Time) -> Option<&ObservedStage> {
        let losses = &self.direction.losses;
        let before = losses.partition_point(|l| l.0 <= at);
        before.checked_sub(1).map(|i| &self.observed.stages[losses[i].1])
    }

    /// Whether the queues where the flow lost packets never delayed a packet by more than noise.
    fn is_hidden(&self) -> bool {
        let losses = self.direction.losses.iter();
        let queues =
            losses.map(|l| &self.observed.stages[l.1]).filter(|s| matches!(s.kind, "link" | "shaper"));
        let longest = queues.map(|s| s.longest.as_secs_f64()).fold(0.0, f64::max);
        longest < 0.001 && longest < self.case.rtt / 50.0
    }

    /// Whether nothing passed, and nothing was acknowledged since.
    fn is_out(&self, m: &Moment, una_at: &dyn Fn(f64) -> u64) -> bool {
        let t = m.at.as_secs_f64();
        let last = self.case.outages.iter().rfind(|o| o.0 <= t);
        last.is_some_and(|&(begin, end)| t < end || m.una <= una_at(end) && m.una > 0 && una_at(begin) > 0)
    }

    /// Whether the receiver has left most of its buffer unread.
    fn is_unread(&self, at: Time) -> bool {
        let samples = &self.direction.unread;
        samples.partition_point(|s| s.0 <= at).checked_sub(1).is_some_and(|i| samples[i].1)
    }

    /// Whether the flow's packets, or its ACKs', pass a stage.
    fn is_passed(&self, s: &ObservedStage) -> bool {
        self.direction.hosts.is_none_or(|(from, to)| (from.min(to)..from.max(to)).contains(&s.link))
    }

    /// Returns the cause of a sample, and another that held too.
    fn causes(&self, m: &Moment, una_at: &dyn Fn(f64) -> u64) -> (Option<Cause>, Option<Cause>) {
        let full = self.fullest(m.at, true);
        let acks = self.fullest(m.at, false).filter(|s| s.1 >= FULL_SHARE);
        let also = full.map(|(s, _)| full_cause(s)).or(acks.map(|_| Cause::AckPath));
        if self.is_out(m, una_at) {
            return (Some(Cause::Outage), None);
        }
        match m.limit {
            Limit::Application => return (Some(Cause::Application), None),
            Limit::ReceiveWindow if self.is_unread(m.at) => return (Some(Cause::ReceiverStalled), None),
            Limit::ReceiveWindow => return (Some(Cause::ReceiveWindow), also),
            Limit::SendBuffer => return (Some(Cause::SendBuffer), also),
            Limit::Congestion => {}
        }
        let lost = self.last_loss(m.at);
        if lost.is_some_and(|s| s.kind == "policer") {
            return (Some(Cause::Policed), None);
        }
        let growing = (m.slow_start && lost.is_none()).then_some(Cause::SlowStart);
        let by_loss = match lost.map(|s| s.kind) {
            Some("loss") => Some(Cause::RandomLoss),
            Some("outage" | "handover") => Some(Cause::Outage),
            Some(_) => Some(Cause::Congestion),
            None => growing,
        };
        match (full, acks) {
            (Some((s, n)), _) if n >= FULL_SHARE => (Some(full_cause(s)), growing),
            (_, Some(_)) => (Some(Cause::AckPath), by_loss),
            (Some((s, _)), None) => (by_loss, Some(full_cause(s))),
            (None, None) => (by_loss, None),
        }
    }

    /// Returns pairs of causes: the first holds, and the second looks the same in a capture.
    fn alike(&self) -> Vec<[Cause; 2]> {
        let small = |s: &ObservedStage| s.kind == "shaper" && s.burst.is_some_and(|b| b < MIN_BUCKET);
        let shaped = self.observed.stages.iter().any(small).then_some([Cause::Shaped, Cause::Bottleneck]);
        let lost = self.is_hidden().then_some([Cause::Congestion, Cause::RandomLoss]);
        shaped.into_iter().chain(lost).collect()
    }

    fn truth(&self) -> Option<FlowTruth> {
        let moments = &self.direction.moments;
        let (first, last, packets) = self.direction.data;
        if packets < MIN_PACKETS {
            return None;
        }
        // The wait for the last ACK has no cause, and the time after the capture's last packet is not in it.
        let end = last.min(self.shown);
        let una_at = |s: f64| {
            moments.partition_point(|m| m.at.as_secs_f64() < s).checked_sub(1).map_or(0, |i| moments[i].una)
        };
        let sample = |m: &Moment| {
            let (first, second) = self.causes(m, &una_at);
            let causes = [first, second.filter(|_| first != second)];
            TruthSample { at_s: m.at.as_secs_f64(), causes }
        };
        let within = moments.iter().filter(|m| m.at >= first && m.at <= end);
        let samples: Vec<TruthSample> = within.map(sample).collect();
        let shares = shares(&samples);
        let alike = self.alike();
        let right = right(&shares, &alike);
        let share = |cause| shares.iter().find(|s| s.0 == cause).map_or(0.0, |s| s.1);
        let mut lost = BTreeMap::new();
        for (_, stage) in &self.direction.losses {
            *lost.entry(self.observed.stages[*stage].kind.into()).or_default() += 1;
        }
        Some(FlowTruth {
            from: self.direction.ends.0.clone(),
            to: self.direction.ends.1.clone(),
            limiter: self.limiter(&right, &lost, first, end),
            policed_share: share(Cause::Policed),
            shares: shares.iter().map(|s| (s.0.name().into(), (s.1 * 1000.0).round() / 1000.0)).collect(),
            right: right.iter().map(|c| c.name().into()).collect(),
            packets,
            lost,
            samples,
            alike,
            from_s: first.as_secs_f64(),
            to_s: end.as_secs_f64(),
        })
    }

    /// Returns the policer that dropped packets, or the shaper or link that was full.
    fn limiter(
        &self,
        right: &[Cause],
        lost: &BTreeMap<Name, u64>,
        first: Time,
        end: Time,
    ) -> Option<LimiterTruth> {
        let stages =
            || self.observed.stages.iter().filter(|s| s.forward == self.forward && self.is_passed(s));
        let limiter = |kind: &'static str, s: &ObservedStage| LimiterTruth {
            kind: kind.into(),
            rate_mbps: s.rate.unwrap_or(0.0) / 1e6,
            burst_bytes: s.burst,
            per_flow: s.kind == "policer" && self.case.text.contains("per_flow = true"),
            aqm: (s.kind != "policer" && self.case.text.contains("codel\"")).then_some("codel".into()),
        };
        if lost.get("policer").is_some_and(|&n| n >= POLICED_DROPS) {
            return stages().find(|s| s.kind == "policer").map(|s| limiter("policer", s));
        }
        let busy = |s: &ObservedStage| {
            let bins = (first.as_secs_f64() / s.bin) as usize..=(end.as_secs_f64() / s.bin) as usize;
            s.passed.get(*bins.start()..s.passed.len().min(bins.end() + 1)).map_or(0, |b| {
                let full = s.rate.unwrap_or(f64::INFINITY) * s.bin / 8.0 * FULL_SHARE;
                b.iter().filter(|&&n| n as f64 >= full).count()
            })
        };
        let kind = if right.contains(&Cause::Shaped) { "shaper" } else { "link" };
        if !right.contains(&Cause::Shaped) && !right.contains(&Cause::Bottleneck) {
            return None;
        }
        let fullest = stages().filter(|s| s.kind == kind && s.rate.is_some()).max_by_key(|s| busy(s));
        fullest.map(|s| limiter(if kind == "link" { "bottleneck" } else { "shaper" }, s))
    }
}

/// Returns the truth of all flows with data.
pub fn truth(case: &Case, observed: &Observations) -> Truth {
    let mut flows = Vec::new();
    for (number, direction) in observed.directions.iter().enumerate() {
        // Score the direction of a connection that carries more.
        let (other, back) =
            observed.directions.get(number ^ 1).map_or((0, Time::ZERO), |w| (w.data.2, w.shown));
        let Some((from, to)) = direction.hosts.filter(|_| direction.data.2 > other) else { continue };
        // A relay's other connection may not pass the place of the capture.
        let (low, high) = (from.min(to), from.max(to));
        if !(low..=high).contains(&case.vantage.host()) {
            continue;
        }
        flows.extend(
            Judge { case, observed, direction, forward: from < to, shown: direction.shown.max(back) }.truth(),
        );
    }
    Truth {
        number: case.number,
        seed: case.seed,
        intended: case.intended.name().into(),
        vantage: case.vantage.name().into(),
        offload: case.offload,
        rate_mbps: case.rate / 1e6,
        flows,
    }
}
