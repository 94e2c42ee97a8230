//! Pacing without `fq`: a connection keeps the pacing that the default congestion control of its network namespace asked
//! for when it was set up, also when it then chooses another control (`sk_pacing_status` is never taken back). A program
//! that chooses before it connects never had the default's: BBR asks for pacing in `tcp_init_transfer`, not before.

use super::{Cure, CureOption, Lever, pace, tune};
use crate::command::lines;
use crate::{Actor, CommandSet, Situation};

/// A paced default control, while programs choose their own.
pub struct DefaultControlPacing;

impl Cure for DefaultControlPacing {
    fn name(&self) -> &'static str {
        "pace-default"
    }
    fn about(&self) -> &'static str {
        "BBR as the host's default while programs choose their own control on connections that stand: they keep its pacing."
    }
    fn applies(&self) -> &'static str {
        "where a Linux host sends TCP that is not paced yet"
    }
    fn hurts(&self) -> &'static str {
        "Programs that choose no control get BBR itself, and those that choose before they connect are not paced."
    }
    fn lever(&self) -> Lever {
        Lever::Pacing
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let sets = pace::unpaced(s);
        let count = sets.len();
        let option = |hosts: Vec<usize>| {
            let title = format!("pacing by a default of BBR {}", tune::at(s, &hosts));
            let option = CureOption::new(self, title, &[Actor::Sender], pace::pace(&hosts));
            let commands = hosts.iter().map(|&h| {
                CommandSet::linux(
                    s.host(h),
                    "Linux 4.13 with tcp_bbr; programs that set TCP_CONGESTION on a connection that stands",
                    lines("sysctl -w net.ipv4.tcp_congestion_control=bbr"),
                    lines("sysctl -w net.ipv4.tcp_congestion_control=cubic"),
                )
            });
            tune::alone(option, s, &hosts, count).with(commands.collect::<Vec<_>>())
        };
        sets.into_iter().map(option).collect()
    }
}
