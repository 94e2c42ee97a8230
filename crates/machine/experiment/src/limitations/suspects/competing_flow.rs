//! Another flow on the same path. The measure remains that of all TCP flows together, so a TCP flow that
//! takes only its share does not hold another one. A datagram flow is a suspect if it offers more than an
//! equal share of the common link, so a narrow voice call is not. If the goal is delay, a TCP flow is not a
//! suspect, but the queue that it fills is.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;
use transport::App;
use units::{Goal, Rate, Span};

pub(super) struct CompetingFlow;

impl Suspect for CompetingFlow {
    fn kind(&self) -> LimitationKind {
        LimitationKind::CompetingFlow
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let several = case.flows().count() > 1 && case.goal != Goal::Fairness;
        let greedy = |i: usize, offered: Rate| {
            let sharing: u32 = case.sharing(i).map(|f| f.count).sum();
            offered.as_bps() * u64::from(sharing) > case.possible_rate(i).as_bps()
        };
        let may = |(i, f): &(usize, &scenario::Flow)| match f.app {
            App::Udp { rate, .. } => {
                let count = u64::from(f.count);
                greedy(*i, Rate::from_bps(rate.as_bps().saturating_mul(count)))
            }
            App::Voice { .. } | App::Probe { .. } => false,
            // A flow that waits for its own responses cannot be what it waits for.
            App::Request { .. } | App::Page { .. } => false,
            App::Bulk { bytes: Some(_), .. } => false,
            App::Bulk { .. } | App::Onoff { .. } => case.goal == Goal::Goodput,
        };
        let without = |(i, flow): (usize, &scenario::Flow)| {
            // The flow stays in the scenario so that the indexes of the others stay valid.
            let end = case.scenario.duration.saturating_sub(Span::from_nanos(1));
            Removal::at(self.kind(), &flow.name, move |s| {
                (s.flows[i].start, s.flows[i].stagger) = (end, Span::ZERO);
            })
        };
        case.flows().filter(|f| several && may(f)).map(without).collect()
    }
}
