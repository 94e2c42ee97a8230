//! Flows that share nothing with the others: each such part of a scenario has its own cause. A loss that costs a slow upload
//! nine tenths is lost in the sum with a download that is at its line's rate.
//!
//! Parts run together, as the scenario has them, since ACKs of one may meet data of another; only the numbers are taken apart.

use super::case::{Case, directions, is_tcp};
use super::suspects::Removal;
use result::measure::connections;
use result::{FlowResult, HolderKind, VariantResult};
use scenario::{Flow, Scenario};
use std::borrow::Cow;
use std::collections::BTreeSet;
use transport::App;
use units::Goal;

/// Directions of links, a link's index and whether it is its forward one, and the flows whose data takes them.
type Meeting = (BTreeSet<(usize, bool)>, Vec<usize>);

/// Flows whose goodput is compared. The default is all of them.
#[derive(Default)]
pub(super) struct Part {
    /// Names of the scenario's flows; empty: all of them.
    flows: Vec<String>,
}

impl Part {
    /// The parts of a scenario whose goal is goodput: TCP flows, or datagrams where there are no TCP flows, in sets whose data
    /// takes no common direction of a link. One part for other goals, which are those of the worst flow, and where flows ask and
    /// answer: a result does not say which side of these sends more.
    pub fn all(case: &Case<'_>) -> Vec<Part> {
        let counts = |app: &App| !matches!(app, App::Probe { .. });
        if case.goal != Goal::Goodput || case.flows().any(|(_, f)| f.app.answers()) {
            return vec![Part::default()];
        }
        let any_tcp = case.tcp_flows().next().is_some();
        let mut sets: Vec<Meeting> = Vec::new();
        for (i, flow) in case.flows().filter(|(_, f)| counts(&f.app) && is_tcp(f) == any_tcp) {
            let [mut taken, _] = directions(case.scenario, flow);
            let meets = |set: &Meeting| !set.0.is_disjoint(&taken);
            let (met, apart): (Vec<_>, Vec<_>) = std::mem::take(&mut sets).into_iter().partition(meets);
            let mut flows = vec![i];
            for (other, more) in met {
                taken.extend(other);
                flows.extend(more);
            }
            flows.sort_unstable();
            sets = apart;
            sets.push((taken, flows));
        }
        if sets.len() < 2 {
            return vec![Part::default()];
        }
        sets.sort_by_key(|(_, flows)| flows[0]);
        let name = |&i: &usize| case.scenario.flows[i].name.clone();
        sets.into_iter().map(|(_, flows)| Part { flows: flows.iter().map(name).collect() }).collect()
    }

    /// The first of its flows; `None` of all flows.
    pub fn flow(&self) -> Option<&String> {
        self.flows.first()
    }

    /// Whether what is switched off may be a cause of this part. TCP flows of another part are none: they take their share of
    /// another direction, and what they do to this part's ACKs is done by the queue in which these wait.
    pub fn may_be_held_by(&self, removal: &Removal, scenario: &Scenario) -> bool {
        let is_foreign =
            |f: &Flow| removal.places.contains(&f.name) && is_tcp(f) && !self.flows.contains(&f.name);
        let competes = removal.kind == HolderKind::CompetingFlow && !self.flows.is_empty();
        !(competes && scenario.flows.iter().any(is_foreign))
    }

    /// A run's result with the flows of this part alone.
    pub fn of<'r>(&self, run: &'r VariantResult) -> Cow<'r, VariantResult> {
        if self.flows.is_empty() {
            return Cow::Borrowed(run);
        }
        let its = self.flows.iter().flat_map(|name| connections(&run.flows, name));
        let flows: Vec<FlowResult> = its.cloned().collect();
        Cow::Owned(VariantResult { flows, ..VariantResult::default() })
    }
}
