//! Everything except the stages of links and routes: hosts, services, relays, traffic, faults and run
//! settings.

use super::account::{Accounts, ExportedKey};
use crate::number;
use scenario::{
    Attachment, DuplexLink, Experiment, Flow, Host, HostJitter, Relay, Scenario, ScheduledFault, Service,
};

/// Accounts for every field of the exported variant except the stages of its links; `others` are the names of
/// the other variants.
pub(super) fn rest(experiment: &Experiment, others: &[String], list: &mut Vec<ExportedKey>) {
    let Experiment { name: _, description: _, goal, baseline, variants } = experiment;
    let mut top = |key: &str| Accounts { path: key.to_string(), list: &mut *list }.left_out("", written(key));
    fn written(key: &str) -> &'static str {
        match key {
            "goal" => "a topology has no goals",
            _ => "a topology compares nothing",
        }
    }
    if !goal.is_empty() {
        top("goal");
    }
    if baseline.is_some() {
        top("baseline");
    }
    let [variant, ..] = variants.as_slice() else { return };
    for other in others {
        let mut accounts = Accounts { path: format!("variants.{other}"), list };
        accounts.left_out("", format!("only one variant is written: {}", variant.name));
    }
    let Scenario {
        name: _,
        duration,
        seed,
        sample,
        one_at_a_time,
        measure,
        host_jitter,
        hosts,
        links,
        relays,
        flows,
        faults,
        attachments,
    } = &variant.scenario;
    for one in hosts {
        host(one, list);
    }
    for DuplexLink { name, between: _, customer, forward: _, backward: _ } in links {
        let mut accounts = Accounts { path: format!("links.{name}"), list };
        accounts.carried("between", "a link between two nodes");
        if customer.is_some() {
            accounts.carried("customer", "a separate routing table at shared nodes");
        }
    }
    for Relay { name, host: _, buffer, cc: _, tool } in relays {
        let mut accounts = Accounts { path: format!("relays.{name}"), list };
        accounts.left_out(
            "",
            format!("no proxy is set up ({}, buffer {})", tool.name(), number::size(buffer.get())),
        );
    }
    for flow in flows {
        traffic(flow, list);
    }
    for ScheduledFault { name, kind, links: _, host: _, at, lasts } in faults {
        let mut accounts = Accounts { path: format!("faults.{name}"), list };
        accounts.left_out("", format!("a topology has no schedule: {} at {at} for {lasts}", kind.name()));
    }
    for Attachment { name, target, .. } in attachments {
        let mut accounts = Accounts { path: format!("attach.{name}"), list };
        accounts.left_out("", format!("{target} is not a node of the topology"));
    }
    // Run settings are meaningless without traffic.
    if !flows.is_empty() {
        let mut accounts = Accounts { path: "duration".into(), list };
        let more = match (one_at_a_time, measure, host_jitter) {
            (false, None, HostJitter::Repeats) => "",
            _ => ", and the measured interval",
        };
        accounts.left_out(
            "",
            format!("a topology is not run: {duration}, seed {seed}, samples of {sample}{more}"),
        );
    }
}

fn host(host: &Host, list: &mut Vec<ExportedKey>) {
    let Host { name, stack, addresses, routes, forward, customer, services } = host;
    let mut accounts = Accounts { path: format!("hosts.{name}"), list };
    accounts.carried("forward", format!("a node with net.ipv4.ip_forward={}", u8::from(*forward)));
    if addresses.iter().any(|a| a.address.is_ipv4()) {
        accounts.carried("addresses", "addresses of lo");
    }
    if addresses.iter().any(|a| a.address.is_ipv6()) {
        accounts
            .left_out("addresses", "links have only IPv4 addresses: there are no routes to IPv6 addresses");
    }
    if !routes.is_empty() {
        accounts.carried("routes", "ip route");
    }
    if customer.is_some() {
        accounts.carried("customer", "separate routes");
    }
    if *stack != Default::default() {
        accounts.left_out("stack", "a node uses the sysctls of its image");
    }
    for (i, service) in services.iter().enumerate() {
        let why = match service {
            Service::Ipsec { .. } => "no tunnel is set up: packets cross the link unencrypted",
            Service::Bgp { .. } => "no BGP is set up: its routes are static",
            Service::Ftp {} => "no FTP server is set up",
        };
        accounts.left_out(&format!("services.{i}"), why);
    }
}

fn traffic(flow: &Flow, list: &mut Vec<ExportedKey>) {
    let Flow {
        name,
        from: _,
        to: _,
        cc,
        count,
        start,
        stagger: _,
        app: _,
        tool: _,
        via,
        dscp,
        max_pacing_rate,
    } = flow;
    let mut parts = vec![format!("{count} × {}", cc.name()), format!("from {start}")];
    parts.extend((*dscp > 0).then(|| format!("dscp {dscp}")));
    parts.extend(max_pacing_rate.map(|rate| format!("paced at {}", number::rate(rate.as_bps()))));
    parts.extend((!via.is_empty()).then(|| format!("through {} relays", via.len())));
    let mut accounts = Accounts { path: format!("flows.{name}"), list };
    accounts.left_out("", format!("a topology has no traffic: {}", parts.join(", ")));
}
