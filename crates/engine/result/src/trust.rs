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
    /// Of the packets that the path dropped the share that a bucket or a full queue dropped after the emulator had held them
    /// up and let them go in a bunch, 0 to 1.
    Bunched,
    /// How many components of the run died while it was measured.
    Died,
}

impl TrustKind {
    /// Every kind.
    pub const ALL: [TrustKind; 11] = [
        TrustKind::Late,
        TrustKind::LateTail,
        TrustKind::Unexplained,
        TrustKind::EngineBusy,
        TrustKind::HostsLate,
        TrustKind::BegunLate,
        TrustKind::AcksHeld,
        TrustKind::Steal,
        TrustKind::KernelLoss,
        TrustKind::Bunched,
        TrustKind::Died,
    ];
}

/// A process of the run that ended before its time: a daemon, a relay, a flow's program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeadComponent {
    /// What it is and where: "host gw: charon (IPsec over link access)".
    pub component: String,
    /// How it ended: "killed by signal 9".
    pub how: String,
    /// When it was found dead, ms since the run began.
    pub at_ms: f64,
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
    /// Components of the run that died while it was measured, in the order in which they were found dead. The numbers are
    /// then not those of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub died: Vec<DeadComponent>,
    /// Packets that the kernel's own queues lost while the run was measured: devices, sockets of datagrams, refused
    /// deliveries.
    pub kernel_lost_packets: u64,
    /// Packets that hosts sent into the path or lost before they entered it: what `kernel_lost_packets` is a share of.
    #[serde(default)]
    pub offered_packets: u64,
    /// Packets that a bucket or a full queue dropped after the emulator had held them up for longer than it holds at its rate.
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

/// A part of a whole, 0 to 1; a whole that is smaller than its part was counted too low.
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(part).max(1) as f64
}

impl Trust {
    /// Judges what was measured of a run of `duration_ms`, whose path dropped `dropped` packets; a packet's round trip
    /// crosses the emulator `crossings` times.
    pub fn judge(
        mut self,
        duration_ms: f64,
        dropped: u64,
        rtt: Option<RttsOfRun>,
        crossings: usize,
    ) -> Trust {
        let mut reasons = Vec::new();
        let mut hold = |kind, measured: f64, bound: f64, bad: bool| {
            if bad {
                reasons.push(TrustReason { kind, measured, bound });
            }
        };
        let died = self.died.len() as f64;
        hold(TrustKind::Died, died, 0.0, died > 0.0);
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
        let lost = share(self.kernel_lost_packets, self.offered_packets);
        hold(TrustKind::KernelLoss, lost, LOSS, lost > LOSS);
        let bunched = share(self.bunched_packets, dropped);
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
                died: a.died.into_iter().chain(b.died).collect(),
                engine_cpu: a.engine_cpu.max(b.engine_cpu),
                real_time: a.real_time && b.real_time,
                lateness_ms: own(a.lateness_ms, b.lateness_ms),
                waiting_ms: own(a.waiting_ms, b.waiting_ms),
                acks_held_ms: own(a.acks_held_ms, b.acks_held_ms),
                hosts_wait_ms: either(a.hosts_wait_ms, b.hosts_wait_ms, f64::max),
                begun_late_ms: a.begun_late_ms.max(b.begun_late_ms),
                unexplained_ms: either(a.unexplained_ms, b.unexplained_ms, f64::max),
                kernel_lost_packets: a.kernel_lost_packets + b.kernel_lost_packets,
                offered_packets: a.offered_packets + b.offered_packets,
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

    /// A run of 2 s that dropped 1000 packets.
    fn judged(trust: Trust, rtt: Option<RttsOfRun>, crossings: usize) -> Trust {
        trust.judge(2000.0, 1000, rtt, crossings)
    }

    #[test]
    fn a_punctual_run_is_reliable() {
        let trust = judged(punctual(), rtts(20.0), 2);
        assert!(trust.reliable && trust.reasons.is_empty(), "{trust:?}");
    }

    fn dead() -> DeadComponent {
        DeadComponent {
            component: "host gw: BIRD (BGP)".into(),
            how: "killed by signal 9".into(),
            at_ms: 700.0,
        }
    }

    /// A measurement on a round trip of this many ms with so many crossings: one that the kind is held against, and one
    /// that looks like it and is right.
    fn cases(kind: TrustKind) -> [(Trust, f64, usize); 2] {
        let tail = OwnDelay { p50: 0.01, p99: 4.5, max: 9.0 };
        let on = |trust: Trust| (trust, 20.0, 2);
        match kind {
            TrustKind::Late => [(punctual(), 1.0, 4), (punctual(), 20.0, 4)],
            // An eighth of 60 ms is 7.5.
            TrustKind::LateTail => {
                [30.0, 60.0].map(|rtt| (Trust { lateness_ms: tail, ..punctual() }, rtt, 2))
            }
            TrustKind::AcksHeld => {
                [30.0, 60.0].map(|rtt| (Trust { acks_held_ms: tail, ..punctual() }, rtt, 2))
            }
            TrustKind::Unexplained => {
                [5.0, 3.5].map(|ms| on(Trust { unexplained_ms: Some(ms), ..punctual() }))
            }
            TrustKind::EngineBusy => [0.97, 0.85].map(|busy| on(Trust { engine_cpu: busy, ..punctual() })),
            TrustKind::HostsLate => [0.4, 0.2].map(|ms| on(Trust { hosts_wait_ms: Some(ms), ..punctual() })),
            // 2.5 % of 2 s is little.
            TrustKind::BegunLate => [80.0, 50.0].map(|ms| on(Trust { begun_late_ms: ms, ..punctual() })),
            TrustKind::Steal => [0.2, 0.02].map(|share| on(Trust { steal: Some(share), ..punctual() })),
            TrustKind::KernelLoss => [2, 1]
                .map(|lost| on(Trust { kernel_lost_packets: lost, offered_packets: 100_000, ..punctual() })),
            TrustKind::Bunched => [70, 50].map(|n| on(Trust { bunched_packets: n, ..punctual() })),
            TrustKind::Died => [vec![dead()], vec![]].map(|died| on(Trust { died, ..punctual() })),
        }
    }

    #[test]
    fn each_doubt_is_raised_where_it_must_be_and_nowhere_else() {
        for kind in TrustKind::ALL {
            let [wrong, right] = cases(kind).map(|(trust, rtt, n)| kinds(&judged(trust, rtts(rtt), n)));
            assert_eq!((wrong, right), (vec![kind], vec![]), "{kind:?}");
        }
    }

    #[test]
    fn lateness_counts_against_the_usual_round_trip_of_all_links() {
        let queued = Some(RttsOfRun { shortest_ms: 1.0, usual_ms: 20.0 });
        assert!(judged(punctual(), queued, 4).reliable, "0.08 ms of 20: a queue stands");
        assert_eq!(
            kinds(&judged(punctual(), rtts(20.0), 40)),
            [TrustKind::Late],
            "twenty links there and back"
        );
    }

    #[test]
    fn what_is_a_share_is_at_most_all() {
        let counts = [0, 1, 7, 1000, u64::MAX];
        for [part, whole] in counts.iter().flat_map(|&a| counts.map(|b| [a, b])) {
            let share = share(part, whole);
            assert!((0.0..=1.0).contains(&share), "{part} of {whole}: {share}");
            assert_eq!(share == 0.0, part == 0 || part as f64 / whole as f64 == 0.0);
        }
        let all = Trust { kernel_lost_packets: 1250, offered_packets: 1000, ..punctual() };
        assert_eq!(judged(all, rtts(20.0), 2).reasons[0].measured, 1.0);
    }

    #[test]
    fn of_repeats_the_worst_counts() {
        let judged = |t: Trust| judged(t, rtts(20.0), 2);
        let bad = Trust { engine_cpu: 0.95, hosts_wait_ms: Some(1.0), died: vec![dead()], ..punctual() };
        let all = [judged(punctual()), judged(bad)];
        let worst = Trust::worst(&all).unwrap();
        assert!(!worst.reliable);
        assert_eq!(kinds(&worst), [TrustKind::Died, TrustKind::HostsLate, TrustKind::EngineBusy]);
        assert_eq!(worst.died, [dead()]);
        assert_eq!((worst.engine_cpu, worst.hosts_wait_ms), (0.95, Some(1.0)));
        assert_eq!(Trust::worst([]), None);
    }
}
