//! Route changes caused by faults: those of BGP, with the timers that the lab gives BIRD.
//!
//! | fault | routes leave the link | routes return to it |
//! |---|---|---|
//! | `link`, `tunnel` | when the hold time expires; the last keepalive received is half an interval old on average | [`RECONNECT_DELAY`] after the fault ends |
//! | `host` | as above, for all its links; if the host is back sooner, with its neighbours' next keepalives, half an interval later on average: the host answers them with a reset | [`RESTART_DELAY`] after the fault ends |
//! | `bgp` | at once (a Cease notification, RFC 4271 section 6.7) | [`ENABLE_DELAY`] after the fault ends |
//!
//! Other faults that end before the hold time expires change no route, and a fault of a link without a BGP
//! session does not either.

use scenario::{FaultKind, Scenario};
use units::{Span, Time};

/// Mean time from when a neighbour is reachable again until a connection is tried: half of the lab's `connect
/// retry time`, 1 s.
const RECONNECT_DELAY: Span = Span::from_millis(500);
/// Time from when a session is enabled until a connection is tried: the lab's `connect delay time`.
const ENABLE_DELAY: Span = Span::from_secs(1);

/// Mean time from when a failed host is back until its sessions are established: the lab's BIRD starts within
/// a second, after the tunnels (measurements: docs/networks.md).
const RESTART_DELAY: Span = Span::from_millis(1500);

/// Times of route changes, in order, each with the links that are not used from then on.
pub fn changes(scenario: &Scenario) -> Vec<(Time, Vec<usize>)> {
    let mut spans: Vec<(Time, Time, usize)> = Vec::new();
    let affected = scenario.faults.iter().flat_map(|f| f.links.iter().map(move |&link| (f, link)));
    for (fault, link) in affected.filter(|&(_, link)| scenario.has_session(link)) {
        let ends = scenario.links[link].between;
        // The lower hold time applies to both ends (RFC 4271 section 4.2); keepalives are sent three times in
        // it.
        let hold = ends.iter().filter_map(|&h| scenario.speaker(h)).map(|(_, hold)| hold).min();
        let hold = hold.unwrap_or(scenario::HOLD);
        let (noticed, again) = match fault.kind {
            FaultKind::Bgp => (Span::ZERO, ENABLE_DELAY),
            FaultKind::Link | FaultKind::Tunnel => (hold - hold / 6, RECONNECT_DELAY),
            FaultKind::Host => ((hold - hold / 6).min(fault.lasts + hold / 6), RESTART_DELAY),
        };
        if noticed < fault.lasts || fault.kind == FaultKind::Host {
            let begin = Time::ZERO + fault.at;
            spans.push((begin + noticed, begin + fault.lasts + again, link));
        }
    }
    let mut times: Vec<Time> = spans.iter().flat_map(|&(from, to, _)| [from, to]).collect();
    times.sort_unstable();
    times.dedup();
    let down = |t: Time| spans.iter().filter(|s| s.0 <= t && t < s.1).map(|s| s.2).collect();
    times.into_iter().map(|t| (t, down(t))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Experiment;

    /// The host is back at 3 s. Keepalives are sent every 2 s, so the next one is answered by a reset at 4 s
    /// on average.
    #[test]
    fn routes_leave_a_host_that_restarts_quickly_at_the_next_keepalive() {
        let text = r#"
            duration = "30s"
            hosts.a.services = [{ kind = "bgp", as = 1, hold = "6s" }]
            hosts.b.services = [{ kind = "bgp", as = 2, hold = "6s" }]
            links.l.between = ["a", "b"]
            links.m.between = ["a", "c"]
            [faults.power]
            kind = "host"
            host = "b"
            at = "2s"
            lasts = "1s"
        "#;
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        assert_eq!(changes(&scenario), [(at(4_000), vec![0]), (at(4_500), vec![])]);
    }

    #[test]
    fn routes_leave_a_link_after_the_hold_time_and_return_when_it_is_back() {
        let text = r#"
            duration = "30s"
            hosts.a.services = [{ kind = "bgp", as = 1, hold = "6s" }]
            hosts.b.services = [{ kind = "bgp", as = 2 }]
            links.l.between = ["a", "b"]
            links.m.between = ["a", "c"]
            [faults.long]
            kind = "link"
            link = "l"
            at = "2s"
            lasts = "10s"
            [faults.short]
            kind = "link"
            link = "l"
            at = "20s"
            lasts = "3s"
            [faults.cease]
            kind = "bgp"
            link = "l"
            at = "25s"
            lasts = "1s"
            [faults.static]
            kind = "link"
            link = "m"
            at = "1s"
            lasts = "20s"
        "#;
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let wanted = [(7_000, vec![0]), (12_500, vec![]), (25_000, vec![0]), (27_000, vec![])];
        assert_eq!(changes(&scenario), wanted.map(|(ms, links)| (at(ms), links)));
    }
}
