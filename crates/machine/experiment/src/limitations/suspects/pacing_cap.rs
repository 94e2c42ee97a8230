//! An upper bound for the pacing rate.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;

pub(super) struct PacingCap;

impl Suspect for PacingCap {
    fn kind(&self) -> LimitationKind {
        LimitationKind::PacingCap
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let capped = case.tcp_flows().filter(|(_, f)| f.max_pacing_rate.is_some());
        let uncap = |(i, flow): (usize, &scenario::Flow)| {
            Removal::at(self.kind(), &flow.name, move |s| s.flows[i].max_pacing_rate = None)
        };
        capped.map(uncap).collect()
    }
}
