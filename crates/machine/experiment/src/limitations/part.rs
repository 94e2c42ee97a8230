//! Splits a scenario into parts whose flows share nothing; each part has its own cause. If a slow upload
//! loses 90 % of its rate to packet loss, a sum that includes a download at full link rate would hide it.
//!
//! Parts run together, as in the scenario, since ACKs of one may meet data of another. Only the results are
//! split.

use super::case::{Case, directions, is_tcp};
use super::suspects::Removal;
use result::measure::connections;
use result::{Carried, FlowResult, LimitationKind, VariantResult};
use scenario::{Flow, Scenario};
use std::borrow::Cow;
use std::collections::BTreeSet;
use transport::App;
use units::Goal;

/// A set of link directions, each as (link index, is forward), and the flows with data on them.
type LinkGroup = (BTreeSet<(usize, bool)>, Vec<usize>);

/// A set of flows to compare the goodput of. The default is all flows.
#[derive(Default)]
pub(super) struct Part {
    /// Names of the scenario's flows; empty: all of them.
    flows: Vec<String>,
}

impl Part {
    /// The parts of a scenario for the goal goodput: sets of TCP flows (or of datagram flows if there are no
    /// TCP flows) whose data does not share a link direction. There is a single part for other goals, which
    /// judge the worst flow, and for request/response applications, for which the result does not show which
    /// side sends more.
    pub fn all(case: &Case<'_>) -> Vec<Part> {
        let counts = |app: &App| !matches!(app, App::Probe { .. });
        if case.goal != Goal::Goodput || case.flows().any(|(_, f)| f.app.answers()) {
            return vec![Part::default()];
        }
        let any_tcp = case.tcp_flows().next().is_some();
        let mut sets: Vec<LinkGroup> = Vec::new();
        for (i, flow) in case.flows().filter(|(_, f)| counts(&f.app) && is_tcp(f) == any_tcp) {
            let [mut taken, _] = directions(case.scenario, flow);
            let meets = |set: &LinkGroup| !set.0.is_disjoint(&taken);
            let (met, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut sets).into_iter().partition(meets);
            let mut flows = vec![i];
            for (other, more) in met {
                taken.extend(other);
                flows.extend(more);
            }
            flows.sort_unstable();
            sets = rest;
            sets.push((taken, flows));
        }
        if sets.len() < 2 {
            return vec![Part::default()];
        }
        sets.sort_by_key(|(_, flows)| flows[0]);
        let name = |&i: &usize| case.scenario.flows[i].name.clone();
        sets.into_iter().map(|(_, flows)| Part { flows: flows.iter().map(name).collect() }).collect()
    }

    /// The name of the first flow; `None` for the part with all flows.
    pub fn flow(&self) -> Option<&String> {
        self.flows.first()
    }

    /// Whether the suspect can hold this part. TCP flows of another part cannot: they use another link
    /// direction, and their effect on this part's ACKs is attributed to the queue in which the ACKs wait.
    pub fn may_be_held_by(&self, removal: &Removal, scenario: &Scenario) -> bool {
        let is_foreign =
            |f: &Flow| removal.places.contains(&f.name) && is_tcp(f) && !self.flows.contains(&f.name);
        let competes = removal.kind == LimitationKind::CompetingFlow && !self.flows.is_empty();
        !(competes && scenario.flows.iter().any(is_foreign))
    }

    /// The packets of this part that pass the suspect's stage: where only other parts send data there, ACKs.
    pub fn carried(&self, removal: &Removal, scenario: &Scenario) -> Option<Carried> {
        let passes = |f: &Flow| {
            let [data, _] = directions(scenario, f);
            let mut places = data.iter().map(|&(link, is_forward)| {
                let direction = if is_forward { "forward" } else { "backward" };
                format!("{}.{direction}.", scenario.links[link].name)
            });
            places.any(|place| removal.places[0].starts_with(&place))
        };
        let mut own = scenario.flows.iter().filter(|f| self.flows.contains(&f.name));
        match removal.carries {
            Some(Carried::Both) if !self.flows.is_empty() && !own.any(passes) => Some(Carried::Acks),
            carries => carries,
        }
    }

    /// A run's result restricted to the flows of this part.
    pub fn of<'r>(&self, run: &'r VariantResult) -> Cow<'r, VariantResult> {
        if self.flows.is_empty() {
            return Cow::Borrowed(run);
        }
        let connections_of_part = self.flows.iter().flat_map(|name| connections(&run.flows, name));
        let flows: Vec<FlowResult> = connections_of_part.cloned().collect();
        Cow::Owned(VariantResult { flows, ..VariantResult::default() })
    }
}
