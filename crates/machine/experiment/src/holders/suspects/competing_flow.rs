//! Another flow. The measure stays that of all flows together, so that a flow which only takes its share holds nobody.
//! For delays a TCP flow is not one of them: the queue that it fills is.

use super::{Removal, Suspect};
use crate::holders::case::{Case, is_tcp};
use result::HolderKind;
use transport::App;
use units::{Goal, Span};

pub(super) struct CompetingFlow;

impl Suspect for CompetingFlow {
    fn kind(&self) -> HolderKind {
        HolderKind::CompetingFlow
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let several = case.flows().count() > 1 && case.goal != Goal::Fairness;
        let may = |f: &scenario::Flow| match f.app {
            App::Voice { .. } | App::Probe { .. } => false,
            // What waits for its own answers cannot be what it waits for.
            App::Request { .. } | App::Page { .. } => false,
            App::Bulk { bytes: Some(_), .. } => false,
            _ => !is_tcp(f) || case.goal == Goal::Goodput,
        };
        let without = |(i, flow): (usize, &scenario::Flow)| {
            // It stays in the scenario, so that the numbers of the other flows stay.
            let end = case.scenario.duration.saturating_sub(Span::from_nanos(1));
            Removal::at(self.kind(), &flow.name, move |s| {
                (s.flows[i].start, s.flows[i].stagger) = (end, Span::ZERO);
            })
        };
        case.flows().filter(|(_, f)| several && may(f)).map(without).collect()
    }
}
