//! Bit errors on a train's radio link. The residual Doppler shift, which the receiver does not correct, is
//! removed.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use path::Stage;
use result::LimitationKind;

pub(super) struct RadioErrors;

impl Suspect for RadioErrors {
    fn kind(&self) -> LimitationKind {
        LimitationKind::RadioErrors
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let without = |s: SeenStage<'_>| {
            let Stage::Train(train) = s.stage else { return None };
            let mut train = train.clone();
            train.residual = 0.0;
            Some(Removal::replaced(self.kind(), &s, train.into()))
        };
        case.stages().into_iter().filter_map(without).collect()
    }
}
