//! Summarises a simulated or real run.

use crate::tally::FlowTally;
use crate::times::FlowTimes;
use crate::{fairness, interval, outages, settings, times, topology};
use result::{Clock, ElementResult, ElementSeries, FlowKind, FlowResult, FlowSeries, Outcome, VariantResult};
use scenario::{Flow, PathLimits, Scenario};
use transport::App;
use units::{Span, Time};

/// Description of a run.
pub struct Whole<'a> {
    /// The variant's name.
    pub name: &'a str,
    /// Whether the run was simulated or real.
    pub clock: Clock,
    pub scenario: &'a Scenario,
    /// Index of the flow that ran alone, for `one_at_a_time`.
    pub only_flow: Option<usize>,
    /// How long the run lasted.
    pub duration: Span,
}

/// The result of a run. The series are empty if the scenario disables them.
pub fn outcome(
    whole: Whole<'_>,
    tallies: Vec<FlowTally>,
    elements: Vec<ElementResult>,
    mut flow_series: Vec<FlowSeries>,
    element_series: Vec<ElementSeries>,
) -> Outcome {
    let Whole { name, clock, scenario, only_flow, duration } = whole;
    let limits = PathLimits::new(scenario, only_flow);
    let end = Time::ZERO + duration;
    let interval = interval::measured(scenario, &tallies, end);
    let goodput = |tally: &FlowTally| {
        let series = flow_series.iter().find(|s| s.name == tally.name).filter(|_| scenario.measure.is_some());
        interval::goodput_mbps(tally.delivered_bytes, series, interval, end)
    };
    let times: Vec<FlowTimes> = tallies.iter().map(|t| FlowTimes::new(scenario, t, interval)).collect();
    let flow = |(tally, times): (&FlowTally, &FlowTimes)| FlowResult {
        goodput_mbps: goodput(tally),
        limit_mbps: limits.flows[tally.of],
        completion_s: times.completion.map(Span::as_secs_f64),
        unfinished: times.unfinished,
        response_s: times.responses.summary(),
        page_s: times.pages.summary(),
        outages: outages::outages(scenario, tally, flow_series.iter().find(|s| s.name == tally.name), end),
        ..flow(scenario, tally)
    };
    let flows: Vec<FlowResult> = tallies.iter().zip(&times).map(flow).collect();
    let jain_index = fairness::jain_index(scenario, &limits, &tallies, &flows, interval[0]);
    for tally in &tallies {
        if let Some(series) = flow_series.iter_mut().find(|s| s.name == tally.name) {
            series.responses = times::rows(tally);
        }
    }
    let variant = VariantResult {
        name: name.into(),
        clock,
        duration_s: duration.as_secs_f64(),
        measured_s: interval.map(Time::as_secs_f64),
        flows,
        jain_index,
        completion_s: times::completions(&times).summary(),
        response_s: times::pool(times.iter().map(|t| &t.responses)).summary(),
        page_s: times::pool(times.iter().map(|t| &t.pages)).summary(),
        elements,
        limit_mbps: limits.all,
        path: Some(topology(scenario)),
        settings: settings(scenario),
        faults: outages::faults(scenario),
        ..VariantResult::default()
    };
    Outcome::new(variant, flow_series, element_series)
}

fn flow(scenario: &Scenario, tally: &FlowTally) -> FlowResult {
    let config = &scenario.flows[tally.of];
    let host = |i: usize| scenario.hosts[i].name.clone();
    FlowResult {
        name: tally.name.clone(),
        from: host(config.from),
        to: host(config.to),
        cc: tally.cc.clone(),
        app: kind(config),
        active_s: tally.active.as_secs_f64(),
        sent_packets: tally.sent_packets,
        retransmitted_packets: tally.retransmitted_packets,
        kind: match config.app {
            App::Probe { .. } => FlowKind::Probe,
            _ if config.app.is_datagrams() => FlowKind::Datagrams,
            _ => FlowKind::Tcp,
        },
        rtt_ms: tally.rtt_ms,
        rtt_acks_ms: tally.rtt_acks_ms,
        real_time: tally.real_time,
        timeouts: tally.timeouts,
        delivered_bytes: tally.delivered_bytes,
        completed: tally.completed,
        lost_packets: tally.lost_packets,
        mss_bytes: tally.mss_bytes,
        ..FlowResult::default()
    }
}

/// The application's kind as scenarios write it.
fn kind(flow: &Flow) -> String {
    // Serialising plain data cannot fail.
    let written = serde_json::to_value(&flow.app).unwrap_or_default();
    written.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default().into()
}
