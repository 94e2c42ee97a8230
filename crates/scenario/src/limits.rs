//! The tightest limit a flow meets on its way, for "goodput as a share of".

use crate::{Flow, Scenario};
use path::{Action, Htb, Meter, Policer, Stage};
use std::collections::BTreeMap;
use transport::App;
use units::Rate;

/// What a stage allows at most.
enum Limit {
    None,
    /// All flows together.
    Shared(Rate),
    /// Each flow.
    Each(Rate),
    /// It changes while the run lasts.
    Varies,
}

/// The tightest limit of one flow of each of the scenario's, and of all of them together, Mbit/s of
/// IP packets. `None`: there is none, or one on the way changes.
pub struct Limits {
    /// In the order of the scenario's flows.
    pub flows: Vec<Option<f64>>,
    /// Over the stages that all flows pass.
    pub all: Option<f64>,
}

impl Limits {
    /// Of the scenario's flows, or of that one alone.
    pub fn new(scenario: &Scenario, only: Option<usize>) -> Limits {
        // How many flows pass a stage (link, way, position), and whether it limits them together.
        let mut passed: BTreeMap<(usize, bool, usize), u32> = BTreeMap::new();
        let mut flows = Vec::new();
        let mut counted = 0;
        for (i, flow) in scenario.flows.iter().enumerate() {
            let (mut least, mut varies) = (None, false);
            for key in stages(scenario, flow) {
                match limit(stage(scenario, key)) {
                    Limit::None => {}
                    Limit::Varies => varies = true,
                    Limit::Shared(r) | Limit::Each(r) => least = Some(least.map_or(r, |l: Rate| l.min(r))),
                }
                if only.is_none_or(|o| o == i) {
                    *passed.entry(key).or_insert(0) += 1;
                }
            }
            counted += only.is_none_or(|o| o == i) as u32;
            flows.push(least.filter(|_| !varies).map(mbps));
        }
        let (mut least, mut varies) = (None, false);
        for (&key, _) in passed.iter().filter(|&(_, &n)| n == counted) {
            match limit(stage(scenario, key)) {
                Limit::Shared(r) => least = Some(least.map_or(r, |l: Rate| l.min(r))),
                Limit::Varies => varies = true,
                Limit::None | Limit::Each(_) => {}
            }
        }
        Limits { flows, all: least.filter(|_| !varies).map(mbps) }
    }
}

fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// The stages on a flow's way, each once: of the direction in which it sends more.
fn stages(scenario: &Scenario, flow: &Flow) -> Vec<(usize, bool, usize)> {
    let mut hosts = vec![flow.from];
    hosts.extend(flow.via.iter().map(|&r| scenario.relays[r].host));
    hosts.push(flow.to);
    if matches!(&flow.app, App::Request { request, response, .. } if response > request) {
        hosts.reverse();
    }
    let mut keys = Vec::new();
    for leg in hosts.windows(2) {
        for hop in scenario.route(leg[0], leg[1]).unwrap_or_default() {
            let link = &scenario.links[hop.link];
            let way = if hop.forward { &link.forward } else { &link.backward };
            keys.extend((0..way.len()).map(|i| (hop.link, hop.forward, i)));
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

fn limit(stage: &Stage) -> Limit {
    match stage {
        Stage::Link(link) => link.rate.map_or(Limit::None, Limit::Shared),
        Stage::Policer(p) => match (policed(p), p.per_flow) {
            (Some(rate), true) => Limit::Each(rate),
            (Some(rate), false) => Limit::Shared(rate),
            (None, _) => Limit::None,
        },
        Stage::Shaper(s) => Limit::Shared(s.peak_rate.map_or(s.rate, |p| p.min(s.rate))),
        Stage::Htb(htb) => root(htb),
        Stage::RateTrace(_) => Limit::Varies,
        Stage::Handover(h) if h.rate.is_some() || h.falling_rate.is_some() => Limit::Varies,
        _ => Limit::None,
    }
}

/// The rate above which a policer drops.
fn policed(p: &Policer) -> Option<Rate> {
    let peak = if p.meter == Meter::Trtcm { p.peak_rate } else { Some(p.rate) };
    if p.green == Action::Drop {
        return Some(Rate::from_bps(0));
    }
    let yellow = p.yellow == Action::Drop && p.meter != Meter::Single;
    if yellow { Some(p.rate) } else { peak.filter(|_| p.red == Action::Drop) }
}

/// A tree's limit is its root's; several roots limit no one together.
fn root(htb: &Htb) -> Limit {
    let mut roots = htb.classes.iter().filter(|c| c.parent.is_none());
    match (roots.next(), roots.next()) {
        (Some(root), None) => Limit::Shared(root.ceil.unwrap_or(root.rate)),
        _ => Limit::None,
    }
}
