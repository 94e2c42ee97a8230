//! The path of a scenario's main flow, whose stages have the first sliders.

use path::StageLimit;
use scenario::{DuplexLink, Flow, NamedStage, Scenario};
use transport::App;
use units::Rate;

/// The position of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StagePosition {
    /// Index of the link.
    pub link: usize,
    /// Whether the direction is from the link's first host to its second.
    pub forward: bool,
    /// Position in that direction.
    pub at: usize,
}

/// Returns the stages of one direction of a link.
pub(crate) fn stages_of(link: &DuplexLink, forward: bool) -> &[NamedStage] {
    if forward { &link.forward } else { &link.backward }
}

/// Whether the flow uses TCP.
pub(crate) fn is_tcp(flow: &Flow) -> bool {
    !matches!(flow.app, App::Udp { .. } | App::Voice { .. } | App::Probe { .. })
}

/// Returns the first TCP flow; without one, the first flow.
pub(crate) fn main_flow(scenario: &Scenario) -> Option<usize> {
    let tcp = scenario.flows.iter().position(is_tcp);
    tcp.or(if scenario.flows.is_empty() { None } else { Some(0) })
}

/// Returns the hosts (by index) between which most of a flow's data is sent: sender, receiver.
pub(crate) fn ends(flow: &Flow) -> (usize, usize) {
    if flow.app.answers() { (flow.to, flow.from) } else { (flow.from, flow.to) }
}

/// Returns the stages between two hosts, in order, without those that the scenario only assumes.
pub(crate) fn path_stages(scenario: &Scenario, from: usize, to: usize) -> Vec<StagePosition> {
    let hops = scenario.route(from, to).unwrap_or_default();
    let stages_of_hop = |hop: &scenario::Hop| {
        let (link, forward) = (hop.link, hop.forward);
        let all = stages_of(&scenario.links[link], forward).iter().enumerate();
        let named = all.filter(|(_, s)| !s.assumed).map(move |(at, _)| StagePosition { link, forward, at });
        named.collect::<Vec<_>>()
    };
    hops.iter().flat_map(stages_of_hop).collect()
}

/// Returns the stage with the lowest rate limit.
pub(crate) fn bottleneck(scenario: &Scenario, places: &[StagePosition]) -> Option<StagePosition> {
    let limit = |place: &StagePosition| -> Option<Rate> {
        match stages_of(&scenario.links[place.link], place.forward)[place.at].stage.limit() {
            StageLimit::Shared(rate) | StageLimit::Each(rate) => Some(rate),
            StageLimit::None | StageLimit::Varies => None,
        }
    };
    places.iter().copied().filter(|p| limit(p).is_some()).min_by_key(limit)
}
