//! How long the runs of a search are. A flow of 10 Gbit/s moves a million packets a second: what takes minutes to simulate in
//! full shows its cause in some hundred round trips.
//!
//! A shortened run counts rates from its second quarter on, so that slow start is behind it, and is never so short that an
//! event of the scenario is cut off.

use super::case::{directions, is_tcp};
use path::Stage;
use scenario::{Scenario, most_sent};
use transport::App;
use units::{Rate, Span};

/// Round trips that a shortened run has at least: slow start takes some fifteen, and a shallow queue's loss and its recovery as
/// many again.
const LEAST_ROUNDS: u64 = 100;
/// No run is shorter, whatever it costs.
const LEAST: Span = Span::from_secs(1);
/// Time series have so many samples; rates count from this one on.
const SAMPLES: u64 = 40;
const COUNTED_FROM: u64 = 10;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// Packets for one ACK.
const PACKETS_PER_ACK: f64 = 2.0;
/// Of what repeats a shortened run sees this many at least.
const LEAST_PERIODS: u64 = 2;

/// The work of a second in which nothing holds the flows, packets times stages: an upper bound but for small packets.
pub(super) fn most_work_per_second(scenario: &Scenario, only: Option<usize>) -> f64 {
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
            let of = |&(link, forward): &(usize, bool)| {
                let link = &scenario.links[link];
                if forward { link.forward.len() } else { link.backward.len() }
            };
            taken.iter().map(of).sum::<usize>() as f64
        });
        data + acks / PACKETS_PER_ACK
    };
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| ran(*i));
    let stages = flows.map(|(_, f)| stages(f)).fold(1.0, f64::max);
    most_sent(scenario, &wanted) * 1e6 / PACKET_BITS * stages
}

/// The shortest run in which all that happens at a set time still happens as often as it must; `None` where only the whole run
/// will do: with faults, transfers that end, and rates or radio cells that change on their way.
pub(super) fn least(scenario: &Scenario, rtt: Span) -> Option<Span> {
    if !scenario.faults.is_empty() {
        return None;
    }
    let mut least = LEAST.max(rtt * LEAST_ROUNDS);
    for flow in &scenario.flows {
        let last = flow.start + flow.stagger * u64::from(flow.count.saturating_sub(1));
        let period = match flow.app {
            App::Bulk { duration: None, bytes: None } => Span::ZERO,
            App::Udp { duration: None, .. } | App::Voice { duration: None, .. } => Span::ZERO,
            App::Probe { duration: None, interval, .. } => interval.unwrap_or(Span::from_millis(100)),
            App::Onoff { on, off, .. } => on + off,
            _ => return None,
        };
        least = least.max(last * 2 + period * LEAST_PERIODS);
    }
    for stage in scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward)) {
        let needed = match &stage.stage {
            Stage::Outage(o) => match o.every {
                Some(every) => o.first.unwrap_or(every) + every * LEAST_PERIODS,
                None => return None,
            },
            Stage::Jitter(j) => j.every.unwrap_or(Span::ZERO) * LEAST_PERIODS,
            Stage::Handover(_) | Stage::Train(_) | Stage::RateTrace(_) => return None,
            _ => Span::ZERO,
        };
        least = least.max(needed);
    }
    let counted = scenario.measure.map_or(Span::ZERO, |[from, _]| from * 2);
    Some(least.max(counted))
}

/// The scenario cut off after this time, with rates counted from a quarter of it on.
pub(super) fn shortened(scenario: &Scenario, duration: Span) -> Scenario {
    let sample = Span::from_nanos(duration.as_nanos() / SAMPLES);
    let last_start = scenario.flows.iter().filter(|f| is_tcp(f)).map(|f| f.start).max().unwrap_or_default();
    let stated = scenario.measure.map_or(Span::ZERO, |[from, _]| from);
    let from = (sample * COUNTED_FROM).max(last_start).max(stated);
    let end = sample * SAMPLES;
    Scenario { duration: end, sample, measure: Some([from, end]), ..scenario.clone() }
}
