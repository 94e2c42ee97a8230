//! What a scenario's services and faults do to packets, as stages that the scenario does not have:
//!
//! | service or fault | the stages | on the kernel |
//! |---|---|---|
//! | `ipsec` | a `tunnel` before the link's own stages, in each direction, and a `tunnel-end` behind them | real |
//! | a fault of the link | an `outage` behind the link's own stages: what is under way is lost too | the same |
//! | a fault of the tunnel over it | the same | real |
//! | a host that is lost | the same of all its links; tunnels for [`TUNNEL_RESTARTED`] longer | links: the same; daemons are killed, and started again |
//!
//! What faults do to routes is BGP's part: real on the kernel, `reroute.rs` in the simulator.

use path::{Outage, Stage, TunnelEnd};
use scenario::{FaultKind, NamedStage, Scenario};
use units::Span;

/// From when a lost host is back until its tunnels stand, in the mean, as the lab's strongSwan starts and makes its keys
/// (docs/networks.md has what was measured).
const TUNNEL_RESTARTED: Span = Span::from_millis(300);

/// The scenario with such stages, if it needs any: all, or those that the kernel does not bring.
pub fn assume(scenario: &Scenario, on_kernel: bool) -> Option<Scenario> {
    if scenario.faults.is_empty() && scenario.hosts.iter().all(|h| h.services.is_empty()) {
        return None;
    }
    let mut laid = scenario.clone();
    let mut is_needed = false;
    for index in 0..scenario.links.len() {
        let tunnel = scenario.tunnel_of(index).filter(|_| !on_kernel);
        let is_real = |kind| kind == FaultKind::Bgp || kind == FaultKind::Tunnel && on_kernel;
        let faults = scenario.faults.iter().filter(|f| f.links.contains(&index) && !is_real(f.kind));
        let restart =
            |kind| if kind == FaultKind::Host && tunnel.is_some() { TUNNEL_RESTARTED } else { Span::ZERO };
        let outages: Vec<Outage> = faults.map(|f| outage(f.at, f.lasts + restart(f.kind))).collect();
        is_needed |= tunnel.is_some() || !outages.is_empty();
        let link = &mut laid.links[index];
        for stages in [&mut link.forward, &mut link.backward] {
            for outage in &outages {
                let fault = assumed(stages, "fault", Stage::Outage(outage.clone()));
                stages.push(fault);
            }
            if let Some(tunnel) = &tunnel {
                let entry = assumed(stages, "ipsec", Stage::Tunnel(tunnel.clone()));
                stages.insert(0, entry);
                let end = assumed(stages, "ipsec-end", Stage::TunnelEnd(TunnelEnd::default()));
                stages.push(end);
            }
        }
    }
    is_needed.then_some(laid)
}

/// All that arrives meanwhile is lost.
fn outage(at: Span, lasts: Span) -> Outage {
    Outage {
        at: vec![at],
        every: None,
        first: None,
        lasts,
        buffer: Default::default(),
        queue: Default::default(),
    }
}

fn assumed(stages: &[NamedStage], name: &str, stage: Stage) -> NamedStage {
    let mut name = name.to_string();
    while stages.iter().any(|s| s.name == name) {
        name.push('-');
    }
    NamedStage { name, stage, file: None, assumed: true }
}
