//! Chooses how long the runs of a search are. At 10 Gbit/s a flow moves about a million packets per second.
//! Simulating it in full would take minutes, but a few hundred round trips are enough to show the cause.
//!
//! A shortened run excludes its first quarter from rates, because of slow start. It is never so short that an
//! event of the scenario is cut off.

use super::case::{directions, is_tcp};
use path::Stage;
use scenario::{Scenario, max_total_mbps};
use transport::App;
use units::{Rate, Span};

/// Minimum length of a shortened run in round trips. Slow start takes about 15, and the losses of a shallow
/// queue and their recovery take as many again.
const MIN_ROUND_TRIPS: u64 = 100;
/// Minimum length of any run, whatever it costs.
const MIN_DURATION: Span = Span::from_secs(1);
/// Number of samples in a time series.
const SAMPLES: u64 = 40;
/// First sample that counts for rates.
const FIRST_COUNTED_SAMPLE: u64 = 10;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
const PACKETS_PER_ACK: f64 = 2.0;
/// Minimum number of periods of a periodic event in a shortened run.
const MIN_PERIODS: u64 = 2;

/// Upper bound for the work of one simulated second (packets times stages) if nothing holds the flows. Very
/// small packets can exceed it.
pub(super) fn max_work_per_second(scenario: &Scenario, only: Option<usize>) -> f64 {
    let ran = |i: usize| only.is_none_or(|o| o == i);
    let mbps = |rate: Rate, count: u32| rate.as_mbps() * f64::from(count);
    let wanted = |(i, flow): (usize, &scenario::Flow)| match (&flow.app, flow.max_pacing_rate) {
        _ if !ran(i) => 0.0,
        (App::Udp { rate, .. }, _) => mbps(*rate, flow.count),
        (App::Voice { .. } | App::Probe { .. }, _) => 0.0,
        (_, Some(cap)) => mbps(cap, flow.count),
        _ => f64::INFINITY,
    };
    let wanted: Vec<f64> = scenario.flows.iter().enumerate().map(wanted).collect();
    let stages = |flow: &scenario::Flow| {
        let [data, acks] = directions(scenario, flow).map(|taken| {
            let stage_count = |&(link, forward): &(usize, bool)| {
                let link = &scenario.links[link];
                if forward { link.forward.len() } else { link.backward.len() }
            };
            taken.iter().map(stage_count).sum::<usize>() as f64
        });
        data + acks / PACKETS_PER_ACK
    };
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| ran(*i));
    let stages = flows.map(|(_, f)| stages(f)).fold(1.0, f64::max);
    max_total_mbps(scenario, &wanted) * 1e6 / PACKET_BITS * stages
}

/// The shortest run that still contains every scheduled event often enough. `None` if only the full run will
/// do: with faults, transfers that end, and rates or radio cells that change over time.
pub(super) fn shortest(scenario: &Scenario, rtt: Span) -> Option<Span> {
    if !scenario.faults.is_empty() {
        return None;
    }
    let mut shortest = MIN_DURATION.max(rtt * MIN_ROUND_TRIPS);
    for flow in &scenario.flows {
        let last = flow.start + flow.stagger * u64::from(flow.count.saturating_sub(1));
        let period = match flow.app {
            App::Bulk { duration: None, bytes: None } => Span::ZERO,
            App::Udp { duration: None, .. } | App::Voice { duration: None, .. } => Span::ZERO,
            App::Probe { duration: None, interval, .. } => interval.unwrap_or(Span::from_millis(100)),
            App::Onoff { on, off, .. } => on + off,
            _ => return None,
        };
        shortest = shortest.max(last * 2 + period * MIN_PERIODS);
    }
    for stage in scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward)) {
        let needed = match &stage.stage {
            Stage::Outage(o) => match o.every {
                Some(every) => o.first.unwrap_or(every) + every * MIN_PERIODS,
                None => return None,
            },
            Stage::Jitter(j) => j.every.unwrap_or(Span::ZERO) * MIN_PERIODS,
            Stage::Handover(_) | Stage::Train(_) | Stage::RateTrace(_) => return None,
            _ => Span::ZERO,
        };
        shortest = shortest.max(needed);
    }
    let counted = scenario.measure.map_or(Span::ZERO, |[from, _]| from * 2);
    Some(shortest.max(counted))
}

/// The scenario cut off after `duration`, with rates measured after the first quarter.
pub(super) fn shortened(scenario: &Scenario, duration: Span) -> Scenario {
    let sample = Span::from_nanos(duration.as_nanos() / SAMPLES);
    let last_start = scenario.flows.iter().filter(|f| is_tcp(f)).map(|f| f.start).max().unwrap_or_default();
    let stated = scenario.measure.map_or(Span::ZERO, |[from, _]| from);
    let from = (sample * FIRST_COUNTED_SAMPLE).max(last_start).max(stated);
    let end = sample * SAMPLES;
    Scenario { duration: end, sample, measure: Some([from, end]), ..scenario.clone() }
}
