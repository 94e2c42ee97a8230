//! What a relay's program cannot do of what the scenario says: refused where results would be of another scenario, told otherwise.

use crate::LabError;
use crate::plan::FlowPlan;
use scenario::{RelayTool, Scenario};
use std::collections::BTreeMap;

/// Finds what cannot be, before anything is made.
///
/// # Errors
/// Two congestion controls where one route has one for all.
pub fn check(scenario: &Scenario, plan: &FlowPlan) -> Result<(), LabError> {
    let mut routes: BTreeMap<(usize, usize), &str> = BTreeMap::new();
    for (relay, legs) in super::stops(plan) {
        let relay = &scenario.relays[relay];
        if relay.tool == RelayTool::Longfat {
            continue;
        }
        let (program, key) = (relay.tool.name(), || format!("relays.{}.tool", relay.name));
        for i in legs {
            let (near, far) = (&plan.legs[i], &plan.legs[i + 1]);
            for (peer, cc) in [(near.from, &near.cc[1].name), (far.to, &far.cc[0].name)] {
                let other = routes.insert((relay.host, peer), cc);
                if let Some(other) = other.filter(|other| other != cc) {
                    let peer = &scenario.hosts[peer].name;
                    let why = format!(
                        "towards {peer} it is to have {other} and {cc}; {program} has no word for a congestion control, and a route \
                         has one for all: one control, or tool = \"longfat\""
                    );
                    return Err(LabError::unsupported(key(), why));
                }
            }
        }
    }
    Ok(())
}

/// What of the scenario relays on the kernel do in their own way.
pub fn departures(scenario: &Scenario) -> Vec<String> {
    let mut told = Vec::new();
    let passed = |relay: usize| scenario.flows.iter().filter(move |f| f.via.contains(&relay));
    for (i, relay) in scenario.relays.iter().enumerate() {
        let (host, tool) = (&scenario.hosts[relay.host], relay.tool);
        let own = tool == RelayTool::Longfat;
        let stack = [
            ("mss", host.stack.mss.is_some()),
            ("receive_window", host.stack.receive_window.is_some()),
            ("delayed_ack", host.stack.delayed_ack.is_some()),
            ("pacing", host.stack.pacing == Some(true) && !own),
        ];
        for (key, _) in stack.into_iter().filter(|(_, set)| *set && passed(i).next().is_some()) {
            told.push(format!(
                "hosts.{}.stack.{key}: on the kernel the sockets of relay {} do without",
                host.name, relay.name
            ));
        }
        for flow in passed(i) {
            let keys = [("dscp", flow.dscp > 0), ("max_pacing_rate", flow.max_pacing_rate.is_some() && !own)];
            for (key, _) in keys.into_iter().filter(|(_, set)| *set) {
                told.push(format!(
                    "flows.{}.{key}: on the kernel relay {} ({}) sends without",
                    flow.name,
                    relay.name,
                    tool.name()
                ));
            }
        }
        let same_host = |other: &&scenario::Relay| other.host == relay.host && other.buffer > relay.buffer;
        if let Some(larger) = scenario.relays.iter().find(same_host).filter(|_| passed(i).next().is_some()) {
            told.push(format!(
                "relays.{}.buffer: on the kernel it is {}, as of relay {}: a host's sockets share one bound",
                relay.name, larger.buffer, larger.name
            ));
        }
    }
    told
}
