//! Duplicated packets.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use crate::limitations::change::passthrough;
use path::Stage;
use result::LimitationKind;

pub(super) struct Duplication;

impl Suspect for Duplication {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Duplication
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stages = case.stages().into_iter().filter(|s| matches!(s.stage, Stage::Duplicate(_)));
        stages.map(|s| Removal::replaced(self.kind(), &s, passthrough())).collect()
    }
}
