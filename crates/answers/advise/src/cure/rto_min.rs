//! A shorter minimum retransmission timeout at the sender. Linux waits 200 ms, thousands of round trips
//! between hosts of a data centre (Vasudevan et al. 2009).

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use result::{Change, ChangePlace, ChangeUnit, LinuxSetting};
use scenario::Scenario;
use units::Span;

pub struct ShortTimeout;

/// Round-trip time of the empty path below which it is tried.
const MAX_RTT: Span = Span::from_millis(10);
/// The smallest timeout that is set.
const MIN_TIMEOUT: Span = Span::from_millis(5);
/// The timeout in round trips.
const TIMEOUT_RTTS: u64 = 4;
/// `TCP_RTO_MIN` of Linux.
const LINUX_RTO_MIN: Span = Span::from_millis(200);

impl ShortTimeout {
    /// Returns the sending hosts that have only short paths, with their new timeouts.
    fn hosts(s: &Situation<'_>) -> Vec<(usize, Span)> {
        let reference = s.reference();
        let shorter = |host: usize| {
            let longest = s.paths.iter().filter(|w| w.from == host).map(|w| w.rtt).max()?;
            let wanted = Span::from_nanos(longest.as_nanos() * TIMEOUT_RTTS).max(MIN_TIMEOUT);
            let now = reference.hosts[host].stack.rto_min.unwrap_or(LINUX_RTO_MIN);
            let fits = longest < MAX_RTT && wanted < now && tune::is_linux(reference, host);
            fits.then_some((host, wanted))
        };
        s.senders().into_iter().filter_map(shorter).collect()
    }
}

impl Cure for ShortTimeout {
    fn name(&self) -> &'static str {
        "rto-min"
    }
    fn about(&self) -> &'static str {
        "A minimum retransmission timeout of some round trips at the sender instead of 200 ms: it recovers from a tail loss at once."
    }
    fn applies(&self) -> &'static str {
        "where a host with a non-Windows TCP sends only over round-trip times below 10 ms, and its minimum timeout is above four of them and above 5 ms"
    }
    fn hurts(&self) -> &'static str {
        "On a route with longer or varying round-trip times, it retransmits packets that are only late."
    }
    fn lever(&self) -> Lever {
        Lever::Timers
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let new = ShortTimeout::hosts(s);
        let Some((_, first)) = new.first() else { return Vec::new() };
        let hosts: Vec<usize> = new.iter().map(|(h, _)| *h).collect();
        let title = format!("minimum retransmission timeout of {first} {}", tune::at(s, &hosts));
        let remedies = new.iter().flat_map(|&(host, timeout)| {
            let mut peers: Vec<usize> = s.paths.iter().filter(|w| w.from == host).map(|w| w.to).collect();
            peers.sort_unstable();
            peers.dedup();
            peers.into_iter().map(move |peer| remedy(s, host, peer, timeout))
        });
        let remedies: Vec<Change> = remedies.collect();
        let change = move |s: &mut Scenario| {
            new.iter().for_each(|&(host, timeout)| s.hosts[host].stack.rto_min = Some(timeout));
        };
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with(remedies)]
    }
}

fn remedy(s: &Situation<'_>, host: usize, peer: usize, timeout: Span) -> Change {
    let ms = timeout.as_millis_f64().ceil();
    let v6 = s.reference().address(peer).is_ipv6();
    let setting = LinuxSetting::Route { name: "rto_min", to: format!("{ms}ms"), v6 };
    let needs = format!("Linux 2.6.23 and iproute2; for connections to {}", s.host(peer));
    let commands = setting.at(s.host(host), &needs).towards(s.host(peer));
    setting.change().set(None, ms, ChangeUnit::Millis).by([commands])
}
