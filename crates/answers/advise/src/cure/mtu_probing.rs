//! Path MTU probing at the sender (RFC 4821): where full packets are dropped without an ICMP message, TCP
//! finds by its timeouts which size passes.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use result::{ChangePlace, LinuxSetting};
use scenario::Scenario;
use transport::MtuProbing;

pub struct MtuProbes;

impl MtuProbes {
    /// Returns the sending hosts that do not probe and whose full packets are dropped silently.
    fn hosts(s: &Situation<'_>) -> Vec<usize> {
        let reference = s.reference();
        let off = |h: usize| matches!(reference.hosts[h].stack.mtu_probing, None | Some(MtuProbing::Off));
        let is_dropped = |h: usize| s.paths.iter().any(|w| w.from == h && w.is_black_hole(reference));
        s.senders().into_iter().filter(|&h| tune::is_linux(reference, h) && off(h) && is_dropped(h)).collect()
    }
}

impl Cure for MtuProbes {
    fn name(&self) -> &'static str {
        "mtu-probing"
    }
    fn about(&self) -> &'static str {
        "Path MTU probing at the sender: where full packets are dropped without ICMP, TCP tries smaller ones after some timeouts."
    }
    fn applies(&self) -> &'static str {
        "where full packets of a host with a non-Windows TCP that does not probe are dropped for their size without ICMP"
    }
    fn hurts(&self) -> &'static str {
        "Each connection stalls for some seconds until it has found the size; a clamped MSS never stalls."
    }
    fn lever(&self) -> Lever {
        Lever::Segments
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let hosts = MtuProbes::hosts(s);
        if hosts.is_empty() {
            return Vec::new();
        }
        let title = format!("tcp_mtu_probing {}", tune::at(s, &hosts));
        let setting = LinuxSetting::sysctl("net.ipv4.tcp_mtu_probing", 1);
        let commands = hosts.iter().flat_map(|&h| {
            let lasting = setting.file(s.host(h), "systemd-sysctl");
            std::iter::once(setting.at(s.host(h), "Linux 2.6.17")).chain(lasting)
        });
        let remedy = setting.change().by(commands);
        let change = move |s: &mut Scenario| {
            for &host in &hosts {
                s.hosts[host].stack.mtu_probing = Some(MtuProbing::OnBlackhole);
            }
        };
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with([remedy])]
    }
}
