//! What the first TCP flow of a scenario meets: the stages whose sliders come first.

use path::StageLimit;
use scenario::{DuplexLink, Flow, NamedStage, Scenario};
use transport::App;
use units::Rate;

/// A stage of a link, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetStage {
    /// Index of the link.
    pub link: usize,
    /// From the link's first host to its second.
    pub forward: bool,
    /// Position in that direction.
    pub at: usize,
}

/// The stages of one direction of a link.
pub(crate) fn way(link: &DuplexLink, forward: bool) -> &[NamedStage] {
    if forward { &link.forward } else { &link.backward }
}

/// Whether TCP carries it.
pub(crate) fn is_tcp(flow: &Flow) -> bool {
    !matches!(flow.app, App::Udp { .. } | App::Voice { .. } | App::Probe { .. })
}

/// The first flow over TCP; where there is none the first of all.
pub(crate) fn main_flow(scenario: &Scenario) -> Option<usize> {
    let tcp = scenario.flows.iter().position(is_tcp);
    tcp.or(if scenario.flows.is_empty() { None } else { Some(0) })
}

/// From where to where most of a flow's data goes: hosts by index.
pub(crate) fn ends(flow: &Flow) -> (usize, usize) {
    if flow.app.answers() { (flow.to, flow.from) } else { (flow.from, flow.to) }
}

/// What packets between two hosts meet that the scenario names, in order.
pub(crate) fn stages(scenario: &Scenario, from: usize, to: usize) -> Vec<MetStage> {
    let hops = scenario.route(from, to).unwrap_or_default();
    let of = |hop: &scenario::Hop| {
        let (link, forward) = (hop.link, hop.forward);
        let all = way(&scenario.links[link], forward).iter().enumerate();
        let named = all.filter(|(_, s)| !s.assumed).map(move |(at, _)| MetStage { link, forward, at });
        named.collect::<Vec<_>>()
    };
    hops.iter().flat_map(of).collect()
}

/// The one of these that allows least.
pub(crate) fn bottleneck(scenario: &Scenario, places: &[MetStage]) -> Option<MetStage> {
    let limit = |place: &MetStage| -> Option<Rate> {
        match way(&scenario.links[place.link], place.forward)[place.at].stage.limit() {
            StageLimit::Shared(rate) | StageLimit::Each(rate) => Some(rate),
            StageLimit::None | StageLimit::Varies => None,
        }
    };
    places.iter().copied().filter(|p| limit(p).is_some()).min_by_key(limit)
}
