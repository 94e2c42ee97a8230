//! A host without selective acknowledgement (RFC 2018).

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;
use std::collections::BTreeSet;

pub(super) struct Sack;

impl Suspect for Sack {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Sack
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let ends: BTreeSet<usize> = case.tcp_flows().flat_map(|(_, f)| [f.from, f.to]).collect();
        let without = ends.into_iter().filter(|&h| case.scenario.hosts[h].stack.sack == Some(false));
        let repair = |host: usize| {
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                s.hosts[host].stack.sack = Some(true);
            })
        };
        without.map(repair).collect()
    }
}
