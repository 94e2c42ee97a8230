//! Applications that pause or do not offer more data. A suspect only if the goal is goodput. A voice call is
//! exempt, since its rate is fixed.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;
use transport::App;
use units::{Goal, Rate};

pub(super) struct Application;

/// The application without its own limits.
fn unlimited(app: &App) -> Option<App> {
    match app.clone() {
        App::Onoff { .. } | App::Request { .. } | App::Page { .. } => {
            Some(App::Bulk { duration: None, bytes: None })
        }
        App::Udp { rate, size, arrival, duration } => {
            let rate = Rate::from_bps(rate.as_bps().saturating_mul(2));
            Some(App::Udp { rate, size, arrival, duration })
        }
        App::Bulk { .. } | App::Voice { .. } | App::Probe { .. } => None,
    }
}

impl Suspect for Application {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Application
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let unlimited = |(i, flow): (usize, &scenario::Flow)| {
            let app = unlimited(&flow.app)?;
            // The side that sends most stays the same.
            let reversed = flow.app.answers();
            Some(Removal::at(self.kind(), &flow.name, move |s| {
                let flow = &mut s.flows[i];
                flow.app = app.clone();
                if reversed {
                    (flow.from, flow.to) = (flow.to, flow.from);
                    flow.via.reverse();
                }
            }))
        };
        let wanted = case.goal == Goal::Goodput;
        case.flows().filter(|_| wanted).filter_map(unlimited).collect()
    }
}
