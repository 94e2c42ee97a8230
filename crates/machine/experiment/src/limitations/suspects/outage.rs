//! Outages of a link, whether packets are lost or wait.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use crate::limitations::change::passthrough;
use path::Stage;
use result::LimitationKind;

pub(super) struct Outages;

impl Suspect for Outages {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Outage
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let outages = case.stages().into_iter().filter(|s| matches!(s.stage, Stage::Outage(_)));
        outages.map(|s| Removal::replaced(self.kind(), &s, passthrough())).collect()
    }
}
