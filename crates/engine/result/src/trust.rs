//! Whether a measurement on the kernel can be trusted: how punctual the emulator was, what the machine lost and gave.
//!
//! Packets of a run on the kernel pass this machine's CPUs, and what those add is not the path's. A packet that comes
//! late has a longer round trip; a sender that is limited by losses carries in proportion to 1/RTT (RFC 5348 section
//! 3.1), so lateness of a share s of the round trip moves goodput by about s.

use crate::{FlowKind, FlowResult, RttSummary};
use serde::{Deserialize, Serialize};

/// A delay of the emulator's own, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnDelay {
    /// Median.
    pub p50: f64,
    /// 99 % of the packets waited no longer.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

impl From<RttSummary> for OwnDelay {
    fn from(s: RttSummary) -> OwnDelay {
        OwnDelay { p50: s.p50, p99: s.p99, max: s.max }
    }
}

/// What tells against a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrustKind {
    /// What the emulator's median delay adds to a round trip, ms.
    Late,
    /// The delay of the emulator that one packet in a hundred exceeds, ms.
    LateTail,
    /// What datagrams took longer than through all elements of their way, ms: they waited before they left.
    Unexplained,
    /// The emulator's share of the CPU that it runs on, 0 to 1.
    EngineBusy,
    /// What hosts that wait for a CPU add to a round trip, ms.
    HostsLate,
    /// How long a flow that was due waited until its host's program began it, ms.
    BegunLate,
    /// How long ACKs of data were held back by who reads, of one packet in a hundred, ms.
    AcksHeld,
    /// The share of CPU time that the hypervisor gave to others, 0 to 1.
    Steal,
    /// The share of packets that the kernel's own queues lost, 0 to 1.
    KernelLoss,
    /// Of the packets that the path dropped the share that the emulator had held up and let go in a bunch, 0 to 1.
    Bunched,
}

/// A reason not to trust a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustReason {
    /// What it is.
    pub kind: TrustKind,
    /// What was measured, in the unit of its kind.
    pub measured: f64,
    /// The bound that it is beyond.
    pub bound: f64,
}

/// What is known of a measurement's quality.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trust {
    /// Nothing tells against it.
    pub reliable: bool,
    /// What tells against it.
    pub reasons: Vec<TrustReason>,
    /// CPU time of the emulator over the run's time, 0 to 1.
    pub engine_cpu: f64,
    /// Whether the emulator ran with real-time priority.
    pub real_time: bool,
    /// From when a packet was due at the end of its link until it was delivered.
    pub lateness_ms: OwnDelay,
    /// From when a host sent a packet until the emulator took it: at most so long.
    pub waiting_ms: OwnDelay,
    /// From when a host got TCP data until it next sent a packet, where more came meanwhile than it may take in as one
    /// (64 kB); otherwise 0. Who reads late opens the window late, and the ACKs of a burst come when it is over
    /// (`__tcp_ack_snd_check`).
    #[serde(default)]
    pub acks_held_ms: OwnDelay,
    /// How long a host's program waited for a CPU each time it had something to do, in the mean, of the host that waited
    /// longest; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hosts_wait_ms: Option<f64>,
    /// From when a flow was due until its host's program began it, of the flow that waited longest.
    #[serde(default)]
    pub begun_late_ms: f64,
    /// How much longer datagrams took, in the median, than the slowest took through all elements of their way; absent
    /// without datagrams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unexplained_ms: Option<f64>,
    /// Packets that the kernel's own queues lost: devices, sockets of datagrams, refused deliveries.
    pub kernel_lost_packets: u64,
    /// Packets that the emulator held up for longer than the shallowest bucket or queue of the path holds at its rate: so
    /// many of a bunch find no room. What came before them did.
    #[serde(default)]
    pub bunched_packets: u64,
    /// The share of the machine's CPU time that nobody used, 0 to 1; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle: Option<f64>,
    /// The share of CPU time that the hypervisor gave to others, 0 to 1; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal: Option<f64>,
}

/// Of a round trip: what a repeat's goodput differs by on the kernel itself (± 3 %).
const LATE: f64 = 0.03;
/// CUBIC leaves slow start when the round trip has grown by an eighth, at least 4 ms and at most 16
/// (`HYSTART_DELAY_THRESH` in tcp_cubic.c): a packet later than this can end it.
const HYSTART: (f64, f64, f64) = (1.0 / 8.0, 4.0, 16.0);
/// A server that is busy for this share makes its customers wait for ten times their service in the mean (M/M/1).
const BUSY: f64 = 0.9;
/// What the hypervisor takes is late by as much.
const STEAL: f64 = LATE;
/// A loss rate that holds Reno back nowhere below 200 Mbit/s at 20 ms (1.2 MSS / (RTT sqrt p), RFC 3649 section 1).
const LOSS: f64 = 1e-5;
/// Goodput goes as 1/sqrt(p): so many more losses make it less by half of that.
const BUNCHED: f64 = 2.0 * LATE;

impl Trust {
    /// Judges what was measured of a run of `duration_ms`. `passages` packets passed the emulator, `dropped` its path
    /// dropped; a packet's round trip crosses it `crossings` times.
    pub fn judge(
        mut self,
        duration_ms: f64,
        [passages, dropped]: [u64; 2],
        rtt: Option<RttsOfRun>,
        crossings: usize,
    ) -> Trust {
        let mut reasons = Vec::new();
        let mut hold = |kind, measured: f64, bound: f64, bad: bool| {
            if bad {
                reasons.push(TrustReason { kind, measured, bound });
            }
        };
        if let Some(RttsOfRun { shortest_ms, usual_ms: rtt }) = rtt {
            let late = (self.lateness_ms.p50 + self.waiting_ms.p50) * crossings as f64;
            hold(TrustKind::Late, late, LATE * rtt, late > LATE * rtt);
            let tail = self.lateness_ms.p99.max(self.waiting_ms.p99);
            let bound = (HYSTART.0 * shortest_ms).clamp(HYSTART.1, HYSTART.2);
            hold(TrustKind::LateTail, tail, bound, tail > bound);
            let held = self.acks_held_ms.p99;
            hold(TrustKind::AcksHeld, held, bound, held > bound);
            let extra = self.unexplained_ms.unwrap_or(0.0);
            hold(TrustKind::Unexplained, extra, bound, extra > bound);
            // One end sends, the other answers.
            let wait = 2.0 * self.hosts_wait_ms.unwrap_or(0.0);
            hold(TrustKind::HostsLate, wait, LATE * rtt, wait > LATE * rtt);
        }
        // Of the run's time a flow has so much less.
        let begun = self.begun_late_ms;
        hold(TrustKind::BegunLate, begun, LATE * duration_ms, begun > LATE * duration_ms);
        hold(TrustKind::EngineBusy, self.engine_cpu, BUSY, self.engine_cpu > BUSY);
        if let Some(steal) = self.steal {
            hold(TrustKind::Steal, steal, STEAL, steal > STEAL);
        }
        let lost = self.kernel_lost_packets as f64 / passages.max(1) as f64;
        hold(TrustKind::KernelLoss, lost, LOSS, lost > LOSS);
        let bunched = self.bunched_packets.min(dropped) as f64 / dropped.max(1) as f64;
        hold(TrustKind::Bunched, bunched, BUNCHED, bunched > BUNCHED);
        self.reliable = reasons.is_empty();
        self.reasons = reasons;
        self
    }

    /// Of several runs that stand as one: the worst of each.
    pub fn worst<'a>(all: impl IntoIterator<Item = &'a Trust>) -> Option<Trust> {
        let own = |a: OwnDelay, b: OwnDelay| OwnDelay {
            p50: a.p50.max(b.p50),
            p99: a.p99.max(b.p99),
            max: a.max.max(b.max),
        };
        let either = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (a, b) => a.or(b),
        };
        all.into_iter().cloned().reduce(|a, b| {
            let mut reasons = a.reasons;
            for reason in b.reasons {
                match reasons.iter_mut().find(|r| r.kind == reason.kind) {
                    Some(same) if reason.measured > same.measured => *same = reason,
                    Some(_) => {}
                    None => reasons.push(reason),
                }
            }
            Trust {
                reliable: a.reliable && b.reliable,
                reasons,
                engine_cpu: a.engine_cpu.max(b.engine_cpu),
                real_time: a.real_time && b.real_time,
                lateness_ms: own(a.lateness_ms, b.lateness_ms),
                waiting_ms: own(a.waiting_ms, b.waiting_ms),
                acks_held_ms: own(a.acks_held_ms, b.acks_held_ms),
                hosts_wait_ms: either(a.hosts_wait_ms, b.hosts_wait_ms, f64::max),
                begun_late_ms: a.begun_late_ms.max(b.begun_late_ms),
                unexplained_ms: either(a.unexplained_ms, b.unexplained_ms, f64::max),
                kernel_lost_packets: a.kernel_lost_packets + b.kernel_lost_packets,
                bunched_packets: a.bunched_packets + b.bunched_packets,
                idle: either(a.idle, b.idle, f64::min),
                steal: either(a.steal, b.steal, f64::max),
            }
        })
    }
}

/// Round trips of a run's flows; a datagram's one-way delay counts twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttsOfRun {
    /// The shortest that any flow saw, ms.
    pub shortest_ms: f64,
    /// Of the flows' medians the smallest, ms: what goodput goes with.
    pub usual_ms: f64,
}

impl RttsOfRun {
    /// `None` where no flow has any.
    pub fn of(flows: &[FlowResult]) -> Option<RttsOfRun> {
        let there_and_back = |f: &FlowResult| {
            let delay_ms = f.real_time.map(|r| r.delay_ms).unwrap_or_default();
            match f.kind {
                FlowKind::Tcp => (f.rtt_ms, 1.0),
                FlowKind::Datagrams => (delay_ms, 2.0),
                FlowKind::Probe => (delay_ms, 1.0),
            }
        };
        let seen = flows.iter().map(there_and_back).filter(|(r, _)| !r.is_empty());
        let rtts = seen.map(|(r, times)| (r.min * times, r.p50 * times));
        let (shortest_ms, usual_ms) = rtts.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))?;
        Some(RttsOfRun { shortest_ms, usual_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn punctual() -> Trust {
        let lateness_ms = OwnDelay { p50: 0.01, p99: 0.1, max: 0.5 };
        Trust { engine_cpu: 0.2, lateness_ms, waiting_ms: lateness_ms, idle: Some(0.6), ..Trust::default() }
    }

    fn rtts(ms: f64) -> Option<RttsOfRun> {
        Some(RttsOfRun { shortest_ms: ms, usual_ms: ms })
    }

    fn kinds(trust: &Trust) -> Vec<TrustKind> {
        trust.reasons.iter().map(|r| r.kind).collect()
    }

    #[test]
    fn a_punctual_run_is_reliable() {
        let trust = punctual().judge(2000.0, [100_000, 1000], rtts(20.0), 2);
        assert!(trust.reliable && trust.reasons.is_empty(), "{trust:?}");
    }

    #[test]
    fn each_fault_has_its_reason() {
        let judge = |t: Trust, rtt, crossings| kinds(&t.judge(2000.0, [100_000, 1000], rtts(rtt), crossings));
        assert_eq!(judge(punctual(), 1.0, 4), [TrustKind::Late], "0.08 ms of 1");
        let queued = Some(RttsOfRun { shortest_ms: 1.0, usual_ms: 20.0 });
        assert!(
            punctual().judge(2000.0, [100_000, 1000], queued, 4).reliable,
            "0.08 ms of 20: a queue stands"
        );
        assert_eq!(judge(punctual(), 20.0, 40), [TrustKind::Late], "twenty hops there and back");
        let tail = OwnDelay { p50: 0.01, p99: 4.5, max: 9.0 };
        assert_eq!(judge(Trust { lateness_ms: tail, ..punctual() }, 30.0, 2), [TrustKind::LateTail]);
        assert_eq!(
            judge(Trust { lateness_ms: tail, ..punctual() }, 60.0, 2),
            [],
            "an eighth of 60 ms is 7.5"
        );
        assert_eq!(
            judge(Trust { unexplained_ms: Some(660.0), ..punctual() }, 5.0, 2),
            [TrustKind::Unexplained]
        );
        assert_eq!(judge(Trust { acks_held_ms: tail, ..punctual() }, 30.0, 2), [TrustKind::AcksHeld]);
        assert_eq!(judge(Trust { acks_held_ms: tail, ..punctual() }, 60.0, 2), []);
        assert_eq!(judge(Trust { engine_cpu: 0.97, ..punctual() }, 20.0, 2), [TrustKind::EngineBusy]);
        assert_eq!(judge(Trust { hosts_wait_ms: Some(0.4), ..punctual() }, 20.0, 2), [TrustKind::HostsLate]);
        assert_eq!(judge(Trust { hosts_wait_ms: Some(0.2), ..punctual() }, 20.0, 2), []);
        assert_eq!(judge(Trust { begun_late_ms: 80.0, ..punctual() }, 20.0, 2), [TrustKind::BegunLate]);
        assert_eq!(judge(Trust { begun_late_ms: 50.0, ..punctual() }, 20.0, 2), [], "2.5 % of 2 s");
        assert_eq!(judge(Trust { steal: Some(0.2), ..punctual() }, 20.0, 2), [TrustKind::Steal]);
        assert_eq!(judge(Trust { kernel_lost_packets: 2, ..punctual() }, 20.0, 2), [TrustKind::KernelLoss]);
        assert_eq!(judge(Trust { kernel_lost_packets: 1, ..punctual() }, 20.0, 2), [], "one of 100,000");
        assert_eq!(
            judge(Trust { bunched_packets: 70, ..punctual() }, 20.0, 2),
            [TrustKind::Bunched],
            "of 1000 drops"
        );
        assert_eq!(judge(Trust { bunched_packets: 50, ..punctual() }, 20.0, 2), []);
        let undropped =
            Trust { bunched_packets: 70, ..punctual() }.judge(2000.0, [100_000, 0], rtts(20.0), 2);
        assert!(undropped.reliable, "there was room for all");
    }

    #[test]
    fn of_repeats_the_worst_counts() {
        let judged = |t: Trust| t.judge(2000.0, [1000, 0], rtts(20.0), 2);
        let all =
            [judged(punctual()), judged(Trust { engine_cpu: 0.95, hosts_wait_ms: Some(1.0), ..punctual() })];
        let worst = Trust::worst(&all).unwrap();
        assert!(!worst.reliable);
        assert_eq!(kinds(&worst), [TrustKind::HostsLate, TrustKind::EngineBusy]);
        assert_eq!((worst.engine_cpu, worst.hosts_wait_ms), (0.95, Some(1.0)));
        assert_eq!(Trust::worst([]), None);
    }
}
