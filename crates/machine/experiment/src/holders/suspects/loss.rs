//! Packets lost by chance or by script.

use super::{Removal, Suspect};
use crate::holders::case::Case;
use crate::holders::change::passthrough;
use path::Stage;
use result::HolderKind;

pub(super) struct Loss;

impl Suspect for Loss {
    fn kind(&self) -> HolderKind {
        HolderKind::Loss
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let stages = case.stages().into_iter();
        let lossy = stages.filter(|s| matches!(s.stage, Stage::Loss(_)) && s.element.dropped_packets > 0);
        lossy.map(|s| Removal::replaced(self.kind(), &s, passthrough())).collect()
    }
}
