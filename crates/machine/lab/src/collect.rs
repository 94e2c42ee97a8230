//! Builds the result of a run.

use crate::engine::{self, EngineTiming};
use crate::host;
use crate::machine::LostPackets;
use crate::plan::{FlowPlan, PlannedFlow};
use chains::{FlowTally, Whole};
use result::{Clock, DeadComponent, FlowSeries, Outcome, RttSummary, Trust};
use scenario::Scenario;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use units::{Span, Time};

/// Builds the summary and the time series, in the scenario's order.
pub fn outcome(
    name: &str,
    scenario: &Scenario,
    plan: &FlowPlan,
    only_flow: Option<usize>,
    mut engine: engine::EngineReport,
    hosts: Vec<host::HostReport>,
) -> Outcome {
    let end = Time::ZERO + scenario.duration;
    let tallies = plan.flows.iter().map(|f| tally(f, end)).collect();
    let mut series: Vec<_> = hosts.into_iter().flat_map(|h| h.series).collect();
    series.sort_by_key(|(flow, _)| *flow);
    let sampled = !scenario.sample.is_zero();
    let duration = scenario.duration;
    let whole = Whole { name, clock: Clock::Kernel, scenario, only_flow, duration };
    let series = series.into_iter().map(|(flow, s)| {
        let resent = engine.resent.remove(&flow).unwrap_or_default();
        FlowSeries { resent, ..s }
    });
    let (flow_series, element_series) =
        if sampled { (series.collect(), engine.series) } else { (vec![], vec![]) };
    chains::outcome(whole, tallies, engine.elements, flow_series, element_series)
}

/// Collects the counters of a flow up to the run's `end`.
fn tally(f: &PlannedFlow, end: Time) -> FlowTally {
    let meter = f.rtts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (mut rtt_ms, mut rtt_acks_ms) = (meter.summary(), meter.over_acks());
    let min = f.min_rtt.load(Relaxed) as f64 / 1e6;
    for rtts in [&mut rtt_ms, &mut rtt_acks_ms].into_iter().filter(|r| !r.is_empty()) {
        rtts.min = rtts.min.min(min);
    }
    let (real_time, lost_in_faults) = f.datagram_summary();
    let mut tally = FlowTally {
        name: f.name.clone(),
        of: f.of,
        cc: f.cc.clone(),
        delivered_bytes: f.delivered.load(Relaxed),
        start: f.start,
        done: f.finished_at(end),
        active: f.active(end),
        rtt_ms,
        rtt_acks_ms,
        real_time,
        lost_in_faults,
        sent_packets: f.sent.load(Relaxed),
        retransmitted_packets: f.retransmitted.load(Relaxed),
        timeouts: f.timeouts.load(Relaxed),
        lost_packets: f.has_port().then(|| f.lost.load(Relaxed)),
        mss_bytes: u32::try_from(f.mss.load(Relaxed)).ok().filter(|&mss| mss > 0),
        ..FlowTally::default()
    };
    if let Some(requester) = &*f.requester.lock().unwrap_or_else(PoisonError::into_inner) {
        tally.record_requests(requester);
    }
    tally
}

/// Collects the indicators of the run's quality, not judged yet. `shares` of CPU time: idle, stolen.
pub fn trust(
    p: &EngineTiming,
    hosts: &[host::HostReport],
    lost: LostPackets,
    shares: Option<[f64; 2]>,
    dead_components: Vec<DeadComponent>,
) -> Trust {
    Trust {
        dead_components,
        engine_cpu: p.cpu.as_secs_f64() / p.ran.max(p.cpu).as_secs_f64().max(f64::MIN_POSITIVE),
        real_time: p.real_time,
        lateness_ms: RttSummary::of(&p.late).into(),
        waiting_ms: RttSummary::of(&p.waited).into(),
        ack_delay_ms: RttSummary::of(&p.held).into(),
        cpu_wait_ms: hosts.iter().filter_map(|h| h.cpu_wait).max().map(Span::as_millis_f64),
        max_start_delay_ms: hosts.iter().map(|h| h.start_delay).max().map_or(0.0, Span::as_millis_f64),
        // A device counts the engine's packets that it refuses, unless it is down.
        kernel_lost_packets: lost.outward + lost.inward.max(p.refused),
        offered_packets: p.sent + lost.outward,
        emulator_burst_drops: p.bunched,
        idle: shares.map(|[idle, _]| idle),
        steal: shares.map(|[_, steal]| steal),
        ..Trust::default()
    }
}

/// Returns messages about the emulation for the user.
pub fn notices(p: &EngineTiming, hosts: &[host::HostReport]) -> Vec<String> {
    let late = RttSummary::of(&p.late);
    let mut list = vec![format!(
        "engine: {} packets, lateness median {:.3} ms, p99 {:.3} ms, max {:.3} ms; {:.2} s of CPU{}",
        p.late.samples(),
        late.p50,
        late.p99,
        late.max,
        p.cpu.as_secs_f64(),
        if p.real_time { "" } else { "; without real-time priority (CAP_SYS_NICE), so less punctual" },
    )];
    if p.refused > 0 {
        list.push(format!("engine: the kernel refused {} packets", p.refused));
    }
    list.extend(hosts.iter().flat_map(|h| h.notices.iter().cloned()));
    list
}
