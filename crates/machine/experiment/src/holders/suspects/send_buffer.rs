//! The sender's buffer.

use super::{Removal, Suspect};
use crate::holders::case::{Case, sender};
use crate::holders::change::MAX_BUFFER;
use result::HolderKind;
use std::collections::BTreeSet;

pub(super) struct SendBuffer;

impl Suspect for SendBuffer {
    fn kind(&self) -> HolderKind {
        HolderKind::SendBuffer
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
