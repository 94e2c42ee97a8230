//! Transfers that are over, or pause, before the window has grown: a window of the bandwidth-delay product from the start.

use super::{Removal, Suspect};
use crate::holders::case::{Case, receiver, sender};
use result::HolderKind;
use std::collections::BTreeSet;
use transport::App;
use units::Bytes;

/// A transfer of this many round trips has its start behind it.
const LONG_ROUNDS: f64 = 100.0;
/// A full segment, bytes.
const SEGMENT: u64 = 1500;
/// Segments of an initial window at least (RFC 6928) and at most.
const SEGMENTS: [u64; 2] = [10, 100_000];

pub(super) struct SlowStart;

impl Suspect for SlowStart {
    fn kind(&self) -> HolderKind {
        HolderKind::SlowStart
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let rtt = case.rtt.as_secs_f64();
        let is_short = |i: usize, app: &App| {
            // No transfer has an end in a scenario that is cut short, so each lasts longer than its run.
            let brief = case.results(i).iter().any(|f| f.active_s < LONG_ROUNDS * rtt);
            brief && !case.is_shortened
                || matches!(app, App::Onoff { .. } | App::Request { .. } | App::Page { .. })
        };
        let short: Vec<(usize, &scenario::Flow)> =
            case.tcp_flows().filter(|(i, f)| is_short(*i, &f.app)).collect();
        let hosts: BTreeSet<usize> = short.iter().map(|(_, f)| sender(f)).collect();
        let at_rate = |host: usize| {
            let its = || short.iter().filter(move |(_, f)| sender(f) == host);
            let connections: u64 = its().map(|(_, f)| u64::from(f.count * f.app.connections())).sum();
            let window = its().map(|(i, _)| case.possible(*i).bytes_in(case.rtt).get()).max().unwrap_or(0);
            let segments = (window / SEGMENT / connections.max(1)).clamp(SEGMENTS[0], SEGMENTS[1]);
            let receivers: Vec<usize> = its().map(|(_, f)| receiver(f)).collect();
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                let stack = &mut s.hosts[host].stack;
                stack.initial_window = Some(stack.initial_window.unwrap_or(10).max(segments as u32));
                (stack.pacing, stack.idle_restart) = (Some(true), Some(false));
                for &receiver in &receivers {
                    // Twice: half of a buffer is window.
                    let needed = Bytes::new(4 * segments * SEGMENT);
                    let stack = &mut s.hosts[receiver].stack;
                    let is_small = stack.initial_receive_buffer.is_none_or(|b| b < needed);
                    if is_small && stack.receive_window.is_none() {
                        stack.initial_receive_buffer = Some(needed.max(Bytes::new(128 << 10)));
                    }
                }
            })
        };
        hosts.into_iter().map(at_rate).collect()
    }
}
