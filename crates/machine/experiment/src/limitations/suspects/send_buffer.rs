//! The sender's buffer.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, sender};
use crate::limitations::change::MAX_BUFFER;
use result::LimitationKind;
use std::collections::BTreeSet;

pub(super) struct SendBuffer;

impl Suspect for SendBuffer {
    fn kind(&self) -> LimitationKind {
        LimitationKind::SendBuffer
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let hosts: BTreeSet<usize> = case.tcp_flows().map(|(_, f)| sender(f)).collect();
        let widen = |host: usize| {
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                s.hosts[host].stack.send_buffer = Some(MAX_BUFFER);
            })
        };
        hosts.into_iter().map(widen).collect()
    }
}
