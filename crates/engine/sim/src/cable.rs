//! A path on which nothing takes time would carry endlessly much at one moment, and the run would
//! never end. Where a connection has such a path, its first link gets a cable in both directions:
//! 10 Gbit/s, 10 µs. It shows among the elements, and in the path as what the scenario does not have.

use path::{Link, Stage};
use scenario::{Hop, NamedStage, Scenario};
use units::{Rate, Span};

/// The cable's name among its link's stages.
const NAME: &str = "cable";

/// Whether every packet that passes takes time, or they all have to share a rate.
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

/// Links that need a cable, in order.
fn bare(scenario: &Scenario) -> Vec<usize> {
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

/// A name that no stage of the scenario has.
fn free(stages: &[NamedStage]) -> String {
    let mut name = NAME.to_string();
    while stages.iter().any(|s| s.name == name) {
        name.push('-');
    }
    name
}

/// The scenario with its cables, if it needs any.
pub fn lay(scenario: &Scenario) -> Option<Scenario> {
    let links = bare(scenario);
    if links.is_empty() {
        return None;
    }
    let mut laid = scenario.clone();
    let cable =
        Link { rate: Some(Rate::from_bps(10_000_000_000)), delay: Span::from_micros(10), ..Link::default() };
    for link in links {
        let link = &mut laid.links[link];
        for stages in [&mut link.forward, &mut link.backward] {
            let name = free(stages);
            stages.push(NamedStage { name, stage: Stage::Link(cable.clone()), file: None, assumed: true });
        }
    }
    Some(laid)
}
