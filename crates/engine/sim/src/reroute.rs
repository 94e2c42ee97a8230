//! When faults change routes: as BGP would, with the timers that the lab gives BIRD.
//!
//! | fault | routes leave the link | and take it again |
//! |---|---|---|
//! | `link`, `tunnel` | hold time after the last word that came through, which is half a keepalive old in the mean | [`RECONNECT`] after it is over |
//! | `host` | as above, of all its links; if it is back sooner, by its neighbours' next keepalives, half of one later in the mean: they are answered by a reset | [`RESTARTED`] after it is over |
//! | `bgp` | at once (a Cease notification, RFC 4271 section 6.7) | [`ENABLED`] after it is over |
//!
//! Another fault that is over before the hold time changes no route. Without a session over the link nobody notices: routes stay.

use scenario::{FaultKind, Scenario};
use units::{Span, Time};

/// From when a neighbour can be reached again until it is tried, in the mean: half of the lab's `connect retry time`, 1 s.
const RECONNECT: Span = Span::from_millis(500);
/// From when a session is enabled until it is tried: the lab's `connect delay time`.
const ENABLED: Span = Span::from_secs(1);

/// From when a lost host is back until its sessions stand, in the mean: the lab's BIRD takes a second until it begins, tunnels
/// come first (docs/networks.md has what was measured).
const RESTARTED: Span = Span::from_millis(1500);

/// Times at which routes change, in order, and the links that they do not take from then on.
pub fn changes(scenario: &Scenario) -> Vec<(Time, Vec<usize>)> {
    let mut spans: Vec<(Time, Time, usize)> = Vec::new();
    let all = scenario.faults.iter().flat_map(|f| f.links.iter().map(move |&link| (f, link)));
    for (fault, link) in all.filter(|&(_, link)| scenario.has_session(link)) {
        let ends = scenario.links[link].between;
        // The lower hold time holds for both (RFC 4271 section 4.2); keepalives come three times in it.
        let hold = ends.iter().filter_map(|&h| scenario.speaker(h)).map(|(_, hold)| hold).min();
        let hold = hold.unwrap_or(scenario::HOLD);
        let (noticed, again) = match fault.kind {
            FaultKind::Bgp => (Span::ZERO, ENABLED),
            FaultKind::Link | FaultKind::Tunnel => (hold - hold / 6, RECONNECT),
            FaultKind::Host => ((hold - hold / 6).min(fault.lasts + hold / 6), RESTARTED),
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

    /// At 3 s it is back, and a keepalive of 2 s, half of one old in the mean, is answered by a reset at 4 s.
    #[test]
    fn a_host_that_is_back_soon_is_left_at_its_neighbours_next_word() {
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
    fn a_link_is_left_after_the_hold_time_and_taken_again_when_it_is_back() {
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
            [faults.told]
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
