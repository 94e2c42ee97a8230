//! The congestion control. Replacing it does not remove an effect, and BBR would also hide losses, so it is
//! tried only if nothing else has a gain. For fairness it is an ordinary suspect: all flows use the same
//! control.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use congestion::Control;
use result::LimitationKind;
use units::Goal;

pub(super) struct CongestionControl;

/// A control of the other family.
fn other(control: &Control) -> Option<Control> {
    Control::named(if control.name().starts_with("bbr") { "cubic" } else { "bbr" })
}

impl Suspect for CongestionControl {
    fn kind(&self) -> LimitationKind {
        LimitationKind::CongestionControl
    }

    fn is_last_resort(&self, goal: Goal) -> bool {
        goal != Goal::Fairness
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let flows: Vec<(usize, &scenario::Flow)> = case.tcp_flows().collect();
        let mut controls: Vec<Control> = Vec::new();
        for (_, flow) in &flows {
            if !controls.contains(&flow.cc) {
                controls.push(flow.cc);
            }
        }
        let fairness = case.goal == Goal::Fairness;
        if fairness && controls.len() < 2 {
            return Vec::new();
        }
        let replaced = |control: &Control| {
            // For fairness: all flows with another control switch to this one.
            let new = if fairness { Some(*control) } else { other(control) }?;
            let affected = flows.iter().filter(|(_, f)| (f.cc == *control) != fairness);
            let indexes: Vec<usize> = affected.clone().map(|(i, _)| *i).collect();
            let places = affected.map(|(_, f)| f.name.clone()).collect();
            let removal = Removal::at(self.kind(), "", move |s| {
                indexes.iter().for_each(|&i| s.flows[i].cc = new);
            });
            Some(Removal { places, ..removal })
        };
        controls.iter().filter_map(replaced).collect()
    }
}
