//! Whether a measurement on the kernel can be trusted: how punctual the emulator was, and what the machine
//! lost or could not provide.
//!
//! Packets of a run on the kernel pass this machine's CPUs, which add delay that is not the path's. Late
//! packets lengthen the RTT; the goodput of a loss-limited sender is proportional to 1/RTT (RFC 5348 section
//! 3.1), so lateness of a share s of the RTT changes goodput by about s.

use crate::{FlowKind, FlowResult, RttSummary};
use serde::{Deserialize, Serialize};

/// Distribution of a delay that the emulator itself adds, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnDelay {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl From<RttSummary> for OwnDelay {
    fn from(s: RttSummary) -> OwnDelay {
        OwnDelay { p50: s.p50, p99: s.p99, max: s.max }
    }
}

/// Kind of reason to distrust a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrustKind {
    /// The emulator's median delay, added up over a round trip, ms.
    Late,
    /// The emulator's 99th percentile of delay per packet, ms.
    LateTail,
    /// Delay of datagrams beyond that of all elements on their path, ms: time spent waiting in the sending
    /// host.
    Unexplained,
    /// Load of the emulator's CPU, 0 to 1.
    EngineBusy,
    /// Delay that hosts waiting for a CPU add to a round trip, ms.
    HostsLate,
    /// Delay between a flow's scheduled start and its start by the host's program, ms.
    BegunLate,
    /// 99th percentile of the time that ACKs were held back because the receiving program read late, ms.
    AcksHeld,
    /// Share of CPU time that the hypervisor gave to other guests, 0 to 1.
    Steal,
    /// Share of packets that the kernel's own queues lost, 0 to 1.
    KernelLoss,
    /// Share of the path's drops that occurred at a token bucket or full queue after the emulator had delayed
    /// packets and released them in a burst, 0 to 1.
    Bunched,
    /// Number of components of the run that died during the measurement.
    Died,
}

impl TrustKind {
    /// All kinds, in the order of the declaration.
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

/// A process of the run that died early: a daemon, a relay or a flow's program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeadComponent {
    /// Component and its place: "host gw: charon (IPsec over link access)".
    pub component: String,
    /// How it died: "killed by signal 9".
    pub how: String,
    /// Time at which it was found dead, ms since the start of the run.
    pub at_ms: f64,
}

/// A reason to distrust a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustReason {
    /// Kind of reason.
    pub kind: TrustKind,
    /// Measured value, in the unit of its kind.
    pub measured: f64,
    /// Bound that the measured value exceeds, in the same unit.
    pub bound: f64,
}

/// Quality of a measurement on the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trust {
    /// Whether there is no reason to distrust the measurement.
    pub reliable: bool,
    /// Reasons to distrust the measurement; empty where it is reliable.
    pub reasons: Vec<TrustReason>,
    /// CPU time of the emulator over the duration of the run, 0 to 1.
    pub engine_cpu: f64,
    /// Whether the emulator ran with real-time priority.
    pub real_time: bool,
    /// Lateness of the emulator, ms: from when a packet was due at the end of its link until its delivery.
    pub lateness_ms: OwnDelay,
    /// Upper bound of the time from when a host sent a packet until the emulator read it, ms.
    pub waiting_ms: OwnDelay,
    /// Time from when a host received TCP data until it next sent a packet, ms, where more data arrived
    /// meanwhile than one read accepts (64 kB); otherwise 0. A program that reads late opens the window
    /// late, and the ACKs of a burst are sent only after it (`__tcp_ack_snd_check`).
    #[serde(default)]
    #[serde(alias = "acks_held_ms")]
    pub ack_delay_ms: OwnDelay,
    /// Mean time that a host's program waited for a CPU when it had work, ms, of the host that waited
    /// longest; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(alias = "hosts_wait_ms")]
    pub cpu_wait_ms: Option<f64>,
    /// Delay between a flow's scheduled start and its actual start, ms, of the flow that was started latest.
    #[serde(default)]
    #[serde(alias = "begun_late_ms")]
    pub max_start_delay_ms: f64,
    /// Median of the datagrams' delay beyond that of the slowest through all elements of the path, ms;
    /// absent without datagrams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unexplained_ms: Option<f64>,
    /// Components of the run that died during the measurement, in the order in which they were found dead;
    /// the numbers are then not those of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[serde(alias = "died")]
    pub dead_components: Vec<DeadComponent>,
    /// Packets lost by the kernel's own queues during the measurement: at devices, at datagram sockets, and
    /// refused deliveries.
    pub kernel_lost_packets: u64,
    /// Packets that hosts sent into the path or lost before it: the base of the share of
    /// `kernel_lost_packets`.
    #[serde(default)]
    pub offered_packets: u64,
    /// Packets dropped at a token bucket or full queue after the emulator had delayed them for longer than
    /// the queue or bucket holds at its rate.
    #[serde(default)]
    #[serde(alias = "bunched_packets")]
    pub emulator_burst_drops: u64,
    /// Share of the machine's CPU time that was idle, 0 to 1; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle: Option<f64>,
    /// Share of CPU time that the hypervisor gave to other guests, 0 to 1; absent where the system does not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal: Option<f64>,
}

/// Tolerated lateness as a share of the RTT: the goodput of repeats on the kernel differs as much (± 3 %).
const MAX_LATE_SHARE: f64 = 0.03;
/// HyStart of CUBIC leaves slow start when the RTT has grown by an eighth, clamped to 4 to 16 ms
/// (`HYSTART_DELAY_THRESH` in tcp_cubic.c), so a packet later than this can end slow start: share of the RTT,
/// least ms, most ms.
const HYSTART_DELAY: (f64, f64, f64) = (1.0 / 8.0, 4.0, 16.0);
/// Tolerated load of the emulator's CPU: at this load, the mean waiting time is ten times the service time
/// (M/M/1).
const MAX_ENGINE_LOAD: f64 = 0.9;
/// Tolerated share of stolen CPU time, which delays packets by the same share.
const MAX_STEAL: f64 = MAX_LATE_SHARE;
/// Tolerated loss rate: it does not limit Reno below 200 Mbit/s at 20 ms (1.2 MSS / (RTT sqrt p), RFC 3649
/// section 1).
const MAX_KERNEL_LOSS: f64 = 1e-5;
/// Tolerated share of drops caused by bunching: goodput goes as 1/sqrt(p), so it changes by half of this
/// share.
const MAX_BUNCHED_SHARE: f64 = 2.0 * MAX_LATE_SHARE;

/// A part as a share of the whole, 0 to 1; at most 1 even where the whole was counted too low.
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(part).max(1) as f64
}

impl Trust {
    /// Judges the quality of a run of `duration_ms` whose path dropped `dropped` packets. A round trip
    /// crosses the emulator `crossings` times.
    pub fn judge(
        mut self,
        duration_ms: f64,
        dropped: u64,
        rtt: Option<RttsOfRun>,
        crossings: usize,
    ) -> Trust {
        let mut reasons = Vec::new();
        let mut check = |kind, measured: f64, bound: f64, bad: bool| {
            if bad {
                reasons.push(TrustReason { kind, measured, bound });
            }
        };
        let died = self.dead_components.len() as f64;
        check(TrustKind::Died, died, 0.0, died > 0.0);
        if let Some(RttsOfRun { shortest_ms, usual_ms: rtt }) = rtt {
            let late = (self.lateness_ms.p50 + self.waiting_ms.p50) * crossings as f64;
            check(TrustKind::Late, late, MAX_LATE_SHARE * rtt, late > MAX_LATE_SHARE * rtt);
            let tail = self.lateness_ms.p99.max(self.waiting_ms.p99);
            let bound = (HYSTART_DELAY.0 * shortest_ms).clamp(HYSTART_DELAY.1, HYSTART_DELAY.2);
            check(TrustKind::LateTail, tail, bound, tail > bound);
            let held = self.ack_delay_ms.p99;
            check(TrustKind::AcksHeld, held, bound, held > bound);
            let extra = self.unexplained_ms.unwrap_or(0.0);
            check(TrustKind::Unexplained, extra, bound, extra > bound);
            // Both ends add their wait to a round trip.
            let wait = 2.0 * self.cpu_wait_ms.unwrap_or(0.0);
            check(TrustKind::HostsLate, wait, MAX_LATE_SHARE * rtt, wait > MAX_LATE_SHARE * rtt);
        }
        // A flow that starts late has that much less of the run's time.
        let begun = self.max_start_delay_ms;
        check(
            TrustKind::BegunLate,
            begun,
            MAX_LATE_SHARE * duration_ms,
            begun > MAX_LATE_SHARE * duration_ms,
        );
        check(TrustKind::EngineBusy, self.engine_cpu, MAX_ENGINE_LOAD, self.engine_cpu > MAX_ENGINE_LOAD);
        if let Some(steal) = self.steal {
            check(TrustKind::Steal, steal, MAX_STEAL, steal > MAX_STEAL);
        }
        let lost = share(self.kernel_lost_packets, self.offered_packets);
        check(TrustKind::KernelLoss, lost, MAX_KERNEL_LOSS, lost > MAX_KERNEL_LOSS);
        let bunched = share(self.emulator_burst_drops, dropped);
        check(TrustKind::Bunched, bunched, MAX_BUNCHED_SHARE, bunched > MAX_BUNCHED_SHARE);
        self.reliable = reasons.is_empty();
        self.reasons = reasons;
        self
    }

    /// Combines the qualities of several runs: the worst of each number.
    pub fn worst<'a>(all: impl IntoIterator<Item = &'a Trust>) -> Option<Trust> {
        let worse_delay = |a: OwnDelay, b: OwnDelay| OwnDelay {
            p50: a.p50.max(b.p50),
            p99: a.p99.max(b.p99),
            max: a.max.max(b.max),
        };
        let pick_known = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
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
                dead_components: a.dead_components.into_iter().chain(b.dead_components).collect(),
                engine_cpu: a.engine_cpu.max(b.engine_cpu),
                real_time: a.real_time && b.real_time,
                lateness_ms: worse_delay(a.lateness_ms, b.lateness_ms),
                waiting_ms: worse_delay(a.waiting_ms, b.waiting_ms),
                ack_delay_ms: worse_delay(a.ack_delay_ms, b.ack_delay_ms),
                cpu_wait_ms: pick_known(a.cpu_wait_ms, b.cpu_wait_ms, f64::max),
                max_start_delay_ms: a.max_start_delay_ms.max(b.max_start_delay_ms),
                unexplained_ms: pick_known(a.unexplained_ms, b.unexplained_ms, f64::max),
                kernel_lost_packets: a.kernel_lost_packets + b.kernel_lost_packets,
                offered_packets: a.offered_packets + b.offered_packets,
                emulator_burst_drops: a.emulator_burst_drops + b.emulator_burst_drops,
                idle: pick_known(a.idle, b.idle, f64::min),
                steal: pick_known(a.steal, b.steal, f64::max),
            }
        })
    }
}

/// Round trips of a run's flows; for datagrams, twice the one-way delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttsOfRun {
    /// Minimum over all flows, ms.
    pub shortest_ms: f64,
    /// Smallest of the flows' medians, ms; goodput depends on it.
    pub usual_ms: f64,
}

impl RttsOfRun {
    /// `None` where no flow has a sample.
    pub fn of(flows: &[FlowResult]) -> Option<RttsOfRun> {
        let delay_and_factor = |f: &FlowResult| {
            let delay_ms = f.real_time.map(|r| r.delay_ms).unwrap_or_default();
            match f.kind {
                FlowKind::Tcp => (f.rtt_ms, 1.0),
                FlowKind::Datagrams => (delay_ms, 2.0),
                FlowKind::Probe => (delay_ms, 1.0),
            }
        };
        let seen = flows.iter().map(delay_and_factor).filter(|(r, _)| !r.is_empty());
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

    /// For each kind, two cases of (measurement, RTT in ms, crossings): one that the kind must reject, and a
    /// similar one that is reliable.
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
                [30.0, 60.0].map(|rtt| (Trust { ack_delay_ms: tail, ..punctual() }, rtt, 2))
            }
            TrustKind::Unexplained => {
                [5.0, 3.5].map(|ms| on(Trust { unexplained_ms: Some(ms), ..punctual() }))
            }
            TrustKind::EngineBusy => [0.97, 0.85].map(|busy| on(Trust { engine_cpu: busy, ..punctual() })),
            TrustKind::HostsLate => [0.4, 0.2].map(|ms| on(Trust { cpu_wait_ms: Some(ms), ..punctual() })),
            // 2.5 % of 2 s is tolerated.
            TrustKind::BegunLate => [80.0, 50.0].map(|ms| on(Trust { max_start_delay_ms: ms, ..punctual() })),
            TrustKind::Steal => [0.2, 0.02].map(|share| on(Trust { steal: Some(share), ..punctual() })),
            TrustKind::KernelLoss => [2, 1]
                .map(|lost| on(Trust { kernel_lost_packets: lost, offered_packets: 100_000, ..punctual() })),
            TrustKind::Bunched => [70, 50].map(|n| on(Trust { emulator_burst_drops: n, ..punctual() })),
            TrustKind::Died => {
                [vec![dead()], vec![]].map(|dead_components| on(Trust { dead_components, ..punctual() }))
            }
        }
    }

    #[test]
    fn each_kind_of_reason_is_found_where_it_applies_and_nowhere_else() {
        for kind in TrustKind::ALL {
            let [wrong, right] = cases(kind).map(|(trust, rtt, n)| kinds(&judged(trust, rtts(rtt), n)));
            assert_eq!((wrong, right), (vec![kind], vec![]), "{kind:?}");
        }
    }

    #[test]
    fn lateness_is_judged_by_the_median_rtt_and_the_number_of_links() {
        let queued = Some(RttsOfRun { shortest_ms: 1.0, usual_ms: 20.0 });
        assert!(judged(punctual(), queued, 4).reliable, "0.08 of 20 ms, which include a standing queue");
        assert_eq!(
            kinds(&judged(punctual(), rtts(20.0), 40)),
            [TrustKind::Late],
            "twenty links in both directions"
        );
    }

    #[test]
    fn shares_are_at_most_one() {
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
    fn the_worst_repeat_counts() {
        let judged = |t: Trust| judged(t, rtts(20.0), 2);
        let bad =
            Trust { engine_cpu: 0.95, cpu_wait_ms: Some(1.0), dead_components: vec![dead()], ..punctual() };
        let all = [judged(punctual()), judged(bad)];
        let worst = Trust::worst(&all).unwrap();
        assert!(!worst.reliable);
        assert_eq!(kinds(&worst), [TrustKind::Died, TrustKind::HostsLate, TrustKind::EngineBusy]);
        assert_eq!(worst.dead_components, [dead()]);
        assert_eq!((worst.engine_cpu, worst.cpu_wait_ms), (0.95, Some(1.0)));
        assert_eq!(Trust::worst([]), None);
    }
}
