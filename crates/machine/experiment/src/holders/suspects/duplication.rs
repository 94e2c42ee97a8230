//! Duplicated packets.

use super::{Removal, Suspect};
use crate::holders::case::Case;
use crate::holders::change::passthrough;
use path::Stage;
use result::HolderKind;

pub(super) struct Duplication;

impl Suspect for Duplication {
    fn kind(&self) -> HolderKind {
        HolderKind::Duplication
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stages = case.stages().into_iter().filter(|s| matches!(s.stage, Stage::Duplicate(_)));
        stages.map(|s| Removal::replaced(self.kind(), &s, passthrough())).collect()
    }
}
