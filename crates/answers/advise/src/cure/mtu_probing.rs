//! Path MTU probing at the sender (RFC 4821): where full packets vanish and no ICMP message says so, TCP finds by its own
//! timeouts what passes.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use result::{ChangePlace, LinuxSetting};
use scenario::Scenario;
use transport::MtuProbing;

/// `tcp_mtu_probing` at the sender.
pub struct MtuProbes;

impl MtuProbes {
    /// Sending hosts that do not probe and whose full packets vanish.
    fn hosts(s: &Situation<'_>) -> Vec<usize> {
        let reference = s.reference();
        let off = |h: usize| matches!(reference.hosts[h].stack.mtu_probing, None | Some(MtuProbing::Off));
        let vanish = |h: usize| s.ways.iter().any(|w| w.from == h && w.is_black_hole(reference));
        s.senders().into_iter().filter(|&h| tune::is_linux(reference, h) && off(h) && vanish(h)).collect()
    }
}

impl Cure for MtuProbes {
    fn name(&self) -> &'static str {
        "mtu-probing"
    }
    fn about(&self) -> &'static str {
        "Path MTU probing at the sender: where full packets vanish unsaid, TCP tries smaller ones after its timeouts."
    }
    fn applies(&self) -> &'static str {
        "where full packets of a host whose TCP is not Windows' and that does not probe are dropped for their size without a word"
    }
    fn hurts(&self) -> &'static str {
        "Each connection stalls for some seconds until it has found out; a clamped MSS never stalls."
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
