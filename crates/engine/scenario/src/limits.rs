//! The tightest limit a flow meets on its way, for "goodput as a share of".

use crate::model::{Flow, Scenario};
use path::{Stage, StageLimit};
use std::collections::BTreeMap;
use units::Rate;

/// The network card that the simulator puts where nothing on a path takes time, Mbit/s (`sim`'s cable).
const NETWORK_CARD: f64 = 10_000.0;

/// The tightest limit of one flow of each of the scenario's, and of all of them together, Mbit/s of
/// IP packets. `None`: there is none, or one on the way changes.
pub struct PathLimits {
    /// In the order of the scenario's flows.
    pub flows: Vec<Option<f64>>,
    /// Over the stages that all flows pass.
    pub all: Option<f64>,
}

impl PathLimits {
    /// Of the scenario's flows, or of that one alone.
    pub fn new(scenario: &Scenario, only: Option<usize>) -> PathLimits {
        // How many flows pass a stage (link, way, position), and whether it limits them together.
        let mut passed: BTreeMap<(usize, bool, usize), u32> = BTreeMap::new();
        let mut flows = Vec::new();
        let (mut counted, mut connections) = (0, 0);
        for (i, flow) in scenario.flows.iter().enumerate() {
            let (mut least, mut varies) = (None, false);
            for key in stages(scenario, flow) {
                match stage(scenario, key).limit() {
                    StageLimit::None => {}
                    StageLimit::Varies => varies = true,
                    StageLimit::Shared(r) | StageLimit::Each(r) => {
                        least = Some(least.map_or(r, |l: Rate| l.min(r)))
                    }
                }
                if only.is_none_or(|o| o == i) {
                    *passed.entry(key).or_insert(0) += 1;
                }
            }
            if only.is_none_or(|o| o == i) {
                counted += 1;
                connections += flow.count.max(1);
            }
            flows.push(least.filter(|_| !varies).map(mbps));
        }
        let (mut least, mut varies) = (None, false);
        for (&key, _) in passed.iter().filter(|&(_, &n)| n == counted) {
            match stage(scenario, key).limit() {
                StageLimit::Shared(r) => least = Some(least.map_or(r, |l: Rate| l.min(r))),
                StageLimit::Varies => varies = true,
                // What holds each connection holds all of them to as many times that.
                StageLimit::Each(r) => {
                    let together = Rate::from_bps(r.as_bps().saturating_mul(u64::from(connections)));
                    least = Some(least.map_or(together, |l: Rate| l.min(together)));
                }
                StageLimit::None => {}
            }
        }
        PathLimits { flows, all: least.filter(|_| !varies).map(mbps) }
    }
}

/// The most that all flows of a scenario send together, Mbit/s of IP packets, where each wants to send `wanted` Mbit/s (infinity:
/// as much as the path takes). Flows that meet the same tightest limit share it. A stage whose rate changes for as long as the
/// run lasts counts with the largest of its rates. What nothing limits is as fast as the network card that the simulator puts
/// where a path takes no time.
pub fn most_sent(scenario: &Scenario, wanted: &[f64]) -> f64 {
    /// Link, direction and position of a stage.
    type StageKey = (usize, bool, usize);
    let mut sharing: BTreeMap<Option<StageKey>, (f64, f64)> = BTreeMap::new();
    for (flow, wanted) in scenario.flows.iter().zip(wanted) {
        let (mut tightest, mut shared) = (None, f64::INFINITY);
        let mut own = *wanted;
        for key in stages(scenario, flow) {
            let together = match (stage(scenario, key), stage(scenario, key).limit()) {
                (_, StageLimit::Shared(rate)) => Some(rate),
                (Stage::RateTrace(trace), StageLimit::Varies) => trace.steps.iter().map(|s| s.rate).max(),
                (Stage::Handover(handover), StageLimit::Varies) => {
                    handover.rate.map(|rate| handover.falling_rate.map_or(rate, |falling| falling.max(rate)))
                }
                (_, StageLimit::Each(rate)) => {
                    own = own.min(mbps(rate) * f64::from(flow.count.max(1)));
                    None
                }
                (_, StageLimit::None | StageLimit::Varies) => None,
            };
            if let Some(limit) = together.map(mbps).filter(|&limit| limit < shared) {
                (tightest, shared) = (Some(key), limit);
            }
        }
        let (sum, _) = sharing.entry(tightest).or_insert((0.0, shared));
        *sum += own;
    }
    let carried = sharing.into_values().map(|(sum, limit)| sum.min(limit));
    carried.map(|sum| if sum.is_finite() { sum } else { NETWORK_CARD }).sum()
}

fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// The hosts where a flow's data begins, is relayed and ends, in the direction in which it sends more.
pub(crate) fn hosts(scenario: &Scenario, flow: &Flow) -> Vec<usize> {
    let mut hosts = vec![flow.from];
    hosts.extend(flow.via.iter().map(|&r| scenario.relays[r].host));
    hosts.push(flow.to);
    if flow.app.answers() {
        hosts.reverse();
    }
    hosts
}

/// The stages on a flow's way, each once: of the direction in which it sends more.
fn stages(scenario: &Scenario, flow: &Flow) -> Vec<(usize, bool, usize)> {
    let hosts = hosts(scenario, flow);
    let mut keys = Vec::new();
    for leg in hosts.windows(2) {
        for hop in scenario.route(leg[0], leg[1]).unwrap_or_default() {
            let link = &scenario.links[hop.link];
            let way = if hop.forward { &link.forward } else { &link.backward };
            // What the simulator assumes is no limit of the scenario's.
            let written = (0..way.len()).filter(|&i| !way[i].assumed);
            keys.extend(written.map(|i| (hop.link, hop.forward, i)));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn stage(scenario: &Scenario, (link, forward, i): (usize, bool, usize)) -> &Stage {
    let link = &scenario.links[link];
    let way = if forward { &link.forward } else { &link.backward };
    &way[i].stage
}
