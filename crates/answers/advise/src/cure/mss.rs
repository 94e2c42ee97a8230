//! Segments that fit into a tunnel, so that nothing is refused, fragmented, or lost as a fragment on the
//! path.

use super::{Cure, CureOption, Lever};
use crate::Situation;
use crate::situation::headers;
use result::command::lines;
use result::{Change, ChangePlace, CommandSet, LinuxSetting, Platform};
use scenario::Scenario;

pub struct SegmentSize;

impl SegmentSize {
    /// Returns the flows' ends whose full packets do not fit somewhere on the path, with the MSS that fits.
    fn clamps(s: &Situation<'_>) -> Vec<([usize; 2], u32)> {
        let reference = s.reference();
        let mut clamps: Vec<([usize; 2], u32)> = Vec::new();
        for path in &s.paths {
            let Some(largest) = path.largest_packet(reference) else { continue };
            let mss = |host: usize| reference.hosts[host].stack.mss.unwrap_or(u32::MAX);
            let mtu = reference.mtu(path.from, path.to);
            let headers = headers(reference, path.to);
            let now = mss(path.from).min(mss(path.to)).min(mtu.saturating_sub(headers));
            let fits = largest.saturating_sub(headers);
            if now <= fits || fits < 48 {
                continue;
            }
            match clamps.iter_mut().find(|(ends, _)| *ends == [path.from, path.to]) {
                Some((_, mss)) => *mss = fits.min(*mss),
                None => clamps.push(([path.from, path.to], fits)),
            }
        }
        clamps
    }
}

impl Cure for SegmentSize {
    fn name(&self) -> &'static str {
        "mss"
    }
    fn about(&self) -> &'static str {
        "A maximum segment size that fits into the tunnel or the link with the smallest MTU, so that nothing is fragmented or refused."
    }
    fn applies(&self) -> &'static str {
        "where full packets of TCP data do not fit into a tunnel or link on the path, and smaller ones do"
    }
    fn hurts(&self) -> &'static str {
        "Headers take a little more of each packet; traffic that does not enter the tunnel gets smaller segments too."
    }
    fn is_at_one_host(&self) -> bool {
        true
    }
    fn lever(&self) -> Lever {
        Lever::Segments
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let clamps = SegmentSize::clamps(s);
        let Some(&(_, mss)) = clamps.first() else { return Vec::new() };
        let mss = clamps.iter().map(|(_, mss)| *mss).min().unwrap_or(mss);
        let remedies: Vec<Change> = clamps.iter().map(|(ends, mss)| remedy(s, *ends, *mss)).collect();
        let change = move |s: &mut Scenario| {
            for (ends, mss) in &clamps {
                for &host in ends {
                    let stack = &mut s.hosts[host].stack;
                    stack.mss = Some(stack.mss.map_or(*mss, |now| now.min(*mss)));
                }
            }
        };
        let title = format!("MSS clamped to {mss}");
        vec![CureOption::new(self, title, &[ChangePlace::SenderEdge], change).with(remedies)]
    }
}

fn remedy(s: &Situation<'_>, ends: [usize; 2], mss: u32) -> Change {
    let [from, to] = ends.map(|host| s.host(host));
    let router = "the router that both directions pass";
    let v6 = s.reference().address(ends[0]).is_ipv6();
    let cisco = |platform, needs| {
        let on = format!("interface TUNNEL\n ip tcp adjust-mss {mss}");
        let off = "interface TUNNEL\n no ip tcp adjust-mss";
        CommandSet::on(platform, router, needs, lines(&on), lines(off))
    };
    let clamp = LinuxSetting::MssClamp { device: None, mss: Some(mss) };
    let route = LinuxSetting::Route { name: "advmss", to: mss.to_string(), v6 };
    let needs = format!("iproute2; at the receiver, only for connections with {from}");
    let mut sets = vec![clamp.at(router, ""), route.at(to, &needs).towards(from)];
    // `ip tcp adjust-mss` applies to IPv4.
    if !v6 {
        sets.push(cisco(Platform::CiscoIos, "IOS 12.2(4)T"));
        sets.push(cisco(Platform::CiscoIosXe, "IOS-XE 2.1"));
    }
    clamp.change().by(sets)
}
