//! Packets that overtake each other.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use crate::limitations::change::passthrough;
use path::Stage;
use result::LimitationKind;

pub(super) struct Reordering;

impl Suspect for Reordering {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Reordering
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let in_order = |s: SeenStage<'_>| match s.stage {
            Stage::Reorder(_) => Some(Removal::replaced(self.kind(), &s, passthrough())),
            Stage::Jitter(jitter) if jitter.reorder => {
                let mut jitter = jitter.clone();
                jitter.reorder = false;
                Some(Removal::replaced(self.kind(), &s, jitter.into()))
            }
            _ => None,
        };
        case.stages().into_iter().filter_map(in_order).collect()
    }
}
