//! The receiver's window and the buffer that bounds it.

use super::{Removal, Suspect};
use crate::holders::case::{Case, receiver};
use crate::holders::change::LARGEST_BUFFER;
use result::HolderKind;
use std::collections::BTreeSet;

pub(super) struct ReceiveWindow;

impl Suspect for ReceiveWindow {
    fn kind(&self) -> HolderKind {
        HolderKind::ReceiveWindow
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let hosts: BTreeSet<usize> = case.tcp_flows().map(|(_, f)| receiver(f)).collect();
        let widen = |host: usize| {
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                let stack = &mut s.hosts[host].stack;
                stack.receive_window = None;
                (stack.receive_buffer, stack.initial_receive_buffer) =
                    (Some(LARGEST_BUFFER), Some(LARGEST_BUFFER));
            })
        };
        hosts.into_iter().map(widen).collect()
    }
}
