//! Scheduled faults: a link, a tunnel or a host that fails for a time.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;

pub(super) struct Faults;

impl Suspect for Faults {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Fault
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let without = |name: &String| {
            let gone = name.clone();
            Removal::at(self.kind(), name, move |s| s.faults.retain(|f| f.name != gone))
        };
        case.scenario.faults.iter().map(|f| without(&f.name)).collect()
    }
}
