//! The tightest rate limit on a flow's path, the denominator of "goodput as a share of the limit".

use crate::model::{Flow, Scenario};
use path::{Stage, StageLimit};
use std::collections::BTreeMap;
use units::Rate;

/// Rate of the network card that the simulator assumes where nothing on a path limits the rate (`sim`'s
/// cable), Mbit/s.
const DEFAULT_NIC_MBPS: f64 = 10_000.0;

/// The tightest limit of each flow and of all flows together, in Mbit/s of IP packets. `None` where no stage
/// limits the rate, or a limit changes over time.
pub struct PathLimits {
    /// By flow, in the scenario's order.
    pub flows: Vec<Option<f64>>,
    /// The tightest of the stages that all flows pass.
    pub all: Option<f64>,
}

impl PathLimits {
    /// Computes the limits of all flows, or of flow `only` alone.
    pub fn new(scenario: &Scenario, only: Option<usize>) -> PathLimits {
        // Number of flows that pass each stage (link, direction, position).
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
                // A limit per connection bounds all connections together by its multiple.
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

/// The highest total rate of all flows, in Mbit/s of IP packets, where flow i wants to send `wanted[i]`
/// Mbit/s (infinity: as much as the path carries). Flows that share their tightest stage share its rate. A
/// stage whose rate changes during the run counts with its highest rate. An unlimited flow runs at the rate
/// of the network card that the simulator assumes.
pub fn max_total_mbps(scenario: &Scenario, wanted: &[f64]) -> f64 {
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
    carried.map(|sum| if sum.is_finite() { sum } else { DEFAULT_NIC_MBPS }).sum()
}

fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// The hosts at which a flow's data starts, is relayed and ends, in the direction that carries most of the
/// data.
pub(crate) fn hosts(scenario: &Scenario, flow: &Flow) -> Vec<usize> {
    let mut hosts = vec![flow.from];
    hosts.extend(flow.via.iter().map(|&r| scenario.relays[r].host));
    hosts.push(flow.to);
    if flow.app.answers() {
        hosts.reverse();
    }
    hosts
}

/// The stages on a flow's path, without duplicates, in the direction that carries most of the data.
fn stages(scenario: &Scenario, flow: &Flow) -> Vec<(usize, bool, usize)> {
    let hosts = hosts(scenario, flow);
    let mut keys = Vec::new();
    for leg in hosts.windows(2) {
        for hop in scenario.route(leg[0], leg[1]).unwrap_or_default() {
            let link = &scenario.links[hop.link];
            let direction = if hop.forward { &link.forward } else { &link.backward };
            // Stages that the simulator assumes are not limits of the scenario.
            let written = (0..direction.len()).filter(|&i| !direction[i].assumed);
            keys.extend(written.map(|i| (hop.link, hop.forward, i)));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn stage(scenario: &Scenario, (link, forward, i): (usize, bool, usize)) -> &Stage {
    let link = &scenario.links[link];
    let direction = if forward { &link.forward } else { &link.backward };
    &direction[i].stage
}
