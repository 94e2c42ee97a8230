//! Adds stages that model what a scenario's services and faults do to packets:
//!
//! | service or fault | stages | on the kernel |
//! |---|---|---|
//! | `ipsec` | a `tunnel` before the link's own stages, in each direction, and a `tunnel-end` after them | real |
//! | fault of the link | an `outage` after the link's own stages, so packets in flight are lost too | the same stage |
//! | fault of the tunnel | the same stage | real |
//! | fault of a host | the same stage on all its links; for tunnels [`TUNNEL_RESTART`] longer | links: the same stage; daemons are killed and restarted |
//!
//! BGP handles the effect of faults on routes: the real daemon on the kernel, `reroute.rs` in the simulator.

use path::{Outage, Stage, TunnelEnd};
use scenario::{FaultKind, NamedStage, Scenario};
use units::Span;

/// Mean time from a host's return until its tunnels are up: the time in which the lab's strongSwan starts and
/// negotiates keys (measured: docs/networks.md).
const TUNNEL_RESTART: Span = Span::from_millis(300);

/// The scenario with all these stages, or with those that the kernel does not implement. `None` if none is
/// needed.
pub fn assume(scenario: &Scenario, on_kernel: bool) -> Option<Scenario> {
    if scenario.faults.is_empty() && scenario.hosts.iter().all(|h| h.services.is_empty()) {
        return None;
    }
    let mut extended = scenario.clone();
    let mut is_needed = false;
    for index in 0..scenario.links.len() {
        let tunnel = scenario.tunnel_of(index).filter(|_| !on_kernel);
        let is_real = |kind| kind == FaultKind::Bgp || kind == FaultKind::Tunnel && on_kernel;
        let faults = scenario.faults.iter().filter(|f| f.links.contains(&index) && !is_real(f.kind));
        let restart =
            |kind| if kind == FaultKind::Host && tunnel.is_some() { TUNNEL_RESTART } else { Span::ZERO };
        let outages: Vec<Outage> = faults.map(|f| outage(f.at, f.lasts + restart(f.kind))).collect();
        is_needed |= tunnel.is_some() || !outages.is_empty();
        let link = &mut extended.links[index];
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
    is_needed.then_some(extended)
}

/// An outage in which all arriving packets are lost.
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
