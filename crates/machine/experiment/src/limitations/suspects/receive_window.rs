//! The receiver's window and the buffer that limits it.
//!
//! The initial buffer is four bandwidth-delay products, not the maximum. Half of it is window, and a window
//! that exceeds the path's needs changes when Linux delays ACKs (`__tcp_ack_snd_check`), which would be a
//! different effect.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, receiver};
use crate::limitations::change::MAX_BUFFER;
use result::LimitationKind;
use std::collections::BTreeSet;
use units::Bytes;

/// The initial buffer of Linux (`tcp_rmem[1]`).
const DEFAULT_INITIAL_BUFFER: Bytes = Bytes::new(128 << 10);

pub(super) struct ReceiveWindow;

impl Suspect for ReceiveWindow {
    fn kind(&self) -> LimitationKind {
        LimitationKind::ReceiveWindow
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let hosts: BTreeSet<usize> = case.tcp_flows().map(|(_, f)| receiver(f)).collect();
        let widen = |host: usize| {
            let flows = case.tcp_flows().filter(|(_, f)| receiver(f) == host);
            let product =
                flows.map(|(i, _)| case.possible_rate(i).bytes_in(case.rtt).get()).max().unwrap_or(0);
            let first = Bytes::new(4 * product).min(MAX_BUFFER);
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                let stack = &mut s.hosts[host].stack;
                (stack.receive_window, stack.receive_buffer) = (None, Some(MAX_BUFFER));
                let own = stack.initial_receive_buffer.unwrap_or(DEFAULT_INITIAL_BUFFER);
                stack.initial_receive_buffer =
                    (first > own).then_some(first).or(stack.initial_receive_buffer);
            })
        };
        hosts.into_iter().map(widen).collect()
    }
}
