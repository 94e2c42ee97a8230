//! Packets lost by chance or by script.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use crate::limitations::change::passthrough;
use path::Stage;
use result::LimitationKind;

pub(super) struct Loss;

impl Suspect for Loss {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Loss
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stages = case.stages().into_iter();
        let lossy = stages.filter(|s| matches!(s.stage, Stage::Loss(_)) && s.element.dropped_packets > 0);
        lossy.map(|s| Removal::replaced(self.kind(), &s, passthrough())).collect()
    }
}
