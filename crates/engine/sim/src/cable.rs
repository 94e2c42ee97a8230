//! A path without any delay or rate could carry an unlimited amount of data at one moment, and the run would
//! never end. Where a connection has such a path, a cable of 10 Gbit/s and 10 µs is added to its first link
//! in both directions. Results list the cable as an element, and mark it in the path as assumed.

use path::{Link, Stage};
use scenario::{Hop, NamedStage, Scenario};
use units::{Rate, Span};

/// Name of the cable among the stages of its link.
const CABLE_NAME: &str = "cable";

/// Whether a stage delays every packet or limits the rate.
fn takes_time(stage: &Stage) -> bool {
    match stage {
        Stage::Link(l) => l.rate.is_some() || !l.delay.is_zero(),
        Stage::Delay(d) => !d.delay.is_zero(),
        Stage::Handover(h) => h.rate.is_some() || !h.delay.is_zero(),
        Stage::Jitter(_) | Stage::RateTrace(_) | Stage::Shaper(_) | Stage::Htb(_) => true,
        _ => false,
    }
}

fn stages<'a>(scenario: &'a Scenario, hop: &Hop) -> &'a [NamedStage] {
    let link = &scenario.links[hop.link];
    if hop.forward { &link.forward } else { &link.backward }
}

/// Indexes of the links that need a cable, in order.
fn links_without_delay(scenario: &Scenario) -> Vec<usize> {
    let mut links = Vec::new();
    for flow in scenario.flows.iter().filter(|f| !f.app.is_datagrams()) {
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let hosts: Vec<usize> = [flow.from].into_iter().chain(relays).chain([flow.to]).collect();
        for leg in hosts.windows(2) {
            let there = scenario.route(leg[0], leg[1]).unwrap_or_default();
            let back = scenario.route(leg[1], leg[0]).unwrap_or_default();
            let slow = |hop: &Hop| stages(scenario, hop).iter().any(|s| takes_time(&s.stage));
            if let Some(first) = there.first()
                && !there.iter().chain(&back).any(slow)
            {
                links.push(first.link);
            }
        }
    }
    links.sort_unstable();
    links.dedup();
    links
}

/// A name that none of the stages has.
fn unused_name(stages: &[NamedStage]) -> String {
    let mut name = CABLE_NAME.to_string();
    while stages.iter().any(|s| s.name == name) {
        name.push('-');
    }
    name
}

/// Adds cables to a scenario; `None` if it needs none.
pub fn add_cables(scenario: &Scenario) -> Option<Scenario> {
    let links = links_without_delay(scenario);
    if links.is_empty() {
        return None;
    }
    let mut with_cables = scenario.clone();
    let cable =
        Link { rate: Some(Rate::from_bps(10_000_000_000)), delay: Span::from_micros(10), ..Link::default() };
    for link in links {
        let link = &mut with_cables.links[link];
        for stages in [&mut link.forward, &mut link.backward] {
            let name = unused_name(stages);
            stages.push(NamedStage { name, stage: Stage::Link(cable.clone()), file: None, assumed: true });
        }
    }
    Some(with_cables)
}
