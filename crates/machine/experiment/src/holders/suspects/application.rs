//! Applications that do not offer more, or pause: a suspect where goodput is the goal. A call has the rate that it has.

use super::{Removal, Suspect};
use crate::holders::case::Case;
use result::HolderKind;
use transport::App;
use units::{Goal, Rate};

pub(super) struct Application;

/// The application without what holds it back.
fn freed(app: &App) -> Option<App> {
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
    fn kind(&self) -> HolderKind {
        HolderKind::Application
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let freed = |(i, flow): (usize, &scenario::Flow)| {
            let app = freed(&flow.app)?;
            // The side that sends most stays the same.
            let turned = flow.app.answers();
            Some(Removal::at(self.kind(), &flow.name, move |s| {
                let flow = &mut s.flows[i];
                flow.app = app.clone();
                if turned {
                    (flow.from, flow.to) = (flow.to, flow.from);
                    flow.via.reverse();
                }
            }))
        };
        let wanted = case.goal == Goal::Goodput;
        case.flows().filter(|_| wanted).filter_map(freed).collect()
    }
}
