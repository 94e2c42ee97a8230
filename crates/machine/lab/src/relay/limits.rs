//! Settings that a relay's program does not support: refused if the result would be of a different scenario,
//! reported otherwise.

use crate::LabError;
use crate::plan::FlowPlan;
use scenario::{RelayTool, Scenario};
use std::collections::BTreeMap;

/// Checks the relays before anything is created.
///
/// # Errors
/// Fails if one route would need two congestion controls.
pub fn check(scenario: &Scenario, plan: &FlowPlan) -> Result<(), LabError> {
    let mut routes: BTreeMap<(usize, usize), &str> = BTreeMap::new();
    for (relay, legs) in super::legs_by_relay(plan) {
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
                        "flows towards {peer} need both {other} and {cc}, but {program} cannot set a congestion control and a route \
                         has only one: use one congestion control, or tool = \"longfat\""
                    );
                    return Err(LabError::unsupported(key(), why));
                }
            }
        }
    }
    Ok(())
}

/// Describes the settings that relays on the kernel ignore or change.
pub fn departures(scenario: &Scenario) -> Vec<String> {
    let mut notices = Vec::new();
    let passed = |relay: usize| scenario.flows.iter().filter(move |f| f.via.contains(&relay));
    for (i, relay) in scenario.relays.iter().enumerate() {
        let (host, tool) = (&scenario.hosts[relay.host], relay.tool);
        let is_longfat = tool == RelayTool::Longfat;
        let stack = [
            ("mss", host.stack.mss.is_some()),
            ("receive_window", host.stack.receive_window.is_some()),
            ("delayed_ack", host.stack.delayed_ack.is_some()),
            ("pacing", host.stack.pacing == Some(true) && !is_longfat),
        ];
        for (key, _) in stack.into_iter().filter(|(_, set)| *set && passed(i).next().is_some()) {
            notices.push(format!(
                "hosts.{}.stack.{key}: on the kernel the sockets of relay {} ignore it",
                host.name, relay.name
            ));
        }
        for flow in passed(i) {
            let keys =
                [("dscp", flow.dscp > 0), ("max_pacing_rate", flow.max_pacing_rate.is_some() && !is_longfat)];
            for (key, _) in keys.into_iter().filter(|(_, set)| *set) {
                notices.push(format!(
                    "flows.{}.{key}: on the kernel relay {} ({}) ignores it",
                    flow.name,
                    relay.name,
                    tool.name()
                ));
            }
        }
        let same_host = |other: &&scenario::Relay| other.host == relay.host && other.buffer > relay.buffer;
        if let Some(larger) = scenario.relays.iter().find(same_host).filter(|_| passed(i).next().is_some()) {
            notices.push(format!(
                "relays.{}.buffer: on the kernel it is {}, as for relay {}: all sockets of a host share one limit",
                relay.name, larger.buffer, larger.name
            ));
        }
    }
    notices
}
