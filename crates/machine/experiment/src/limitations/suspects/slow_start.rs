//! Transfers that end, or pause, before the window has grown. They get a window of the bandwidth-delay
//! product from the start.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, receiver, sender};
use result::LimitationKind;
use std::collections::BTreeSet;
use transport::App;
use units::Bytes;

/// Transfers longer than this, in round trips, are hardly affected by slow start.
const LONG_ROUND_TRIPS: f64 = 100.0;
/// A full segment, bytes.
const SEGMENT: u64 = 1500;
/// Minimum (RFC 6928) and maximum initial window, segments.
const WINDOW_RANGE: [u64; 2] = [10, 100_000];

pub(super) struct SlowStart;

impl Suspect for SlowStart {
    fn kind(&self) -> LimitationKind {
        LimitationKind::SlowStart
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let rtt = case.rtt.as_secs_f64();
        let is_short = |i: usize, app: &App| {
            // In a shortened scenario no transfer ends, so each lasts longer than the run.
            let brief = case.results(i).iter().any(|f| f.active_s < LONG_ROUND_TRIPS * rtt);
            brief && !case.is_shortened
                || matches!(app, App::Onoff { .. } | App::Request { .. } | App::Page { .. })
        };
        let short: Vec<(usize, &scenario::Flow)> =
            case.tcp_flows().filter(|(i, f)| is_short(*i, &f.app)).collect();
        let hosts: BTreeSet<usize> = short.iter().map(|(_, f)| sender(f)).collect();
        let at_rate = |host: usize| {
            let flows = || short.iter().filter(move |(_, f)| sender(f) == host);
            let connections: u64 = flows().map(|(_, f)| u64::from(f.count * f.app.connections())).sum();
            let window =
                flows().map(|(i, _)| case.possible_rate(*i).bytes_in(case.rtt).get()).max().unwrap_or(0);
            let segments = (window / SEGMENT / connections.max(1)).clamp(WINDOW_RANGE[0], WINDOW_RANGE[1]);
            let receivers: Vec<usize> = flows().map(|(_, f)| receiver(f)).collect();
            Removal::at(self.kind(), &case.scenario.hosts[host].name, move |s| {
                let stack = &mut s.hosts[host].stack;
                stack.initial_window = Some(stack.initial_window.unwrap_or(10).max(segments as u32));
                (stack.pacing, stack.idle_restart) = (Some(true), Some(false));
                for &receiver in &receivers {
                    // Twice the window, since only half of a buffer is window.
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
