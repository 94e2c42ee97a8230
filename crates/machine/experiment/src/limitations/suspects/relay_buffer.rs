//! The buffer of a split-TCP relay.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use crate::limitations::change::MAX_BUFFER;
use result::LimitationKind;
use std::collections::BTreeSet;

pub(super) struct RelayBuffer;

impl Suspect for RelayBuffer {
    fn kind(&self) -> LimitationKind {
        LimitationKind::RelayBuffer
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let used: BTreeSet<usize> = case.tcp_flows().flat_map(|(_, f)| f.via.iter().copied()).collect();
        let widen = |relay: usize| {
            Removal::at(self.kind(), &case.scenario.relays[relay].name, move |s| {
                s.relays[relay].buffer = MAX_BUFFER;
            })
        };
        used.into_iter().map(widen).collect()
    }
}
