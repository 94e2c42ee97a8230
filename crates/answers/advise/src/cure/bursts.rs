//! Smaller bursts: without segmentation offload, the segments of a window leave one by one, so that a small
//! bucket or queue does not get 64 KiB at once.

use super::{Cure, CureOption, Lever, pace, tune};
use crate::Situation;
use path::Stage;
use result::command::lines;
use result::{ChangePlace, CommandSet, LinuxSetting, Platform};
use scenario::Scenario;
use transport::Profile;

pub struct SmallBursts;

/// Size in bytes below which a burst of 64 KiB overruns a bucket or queue.
const SHALLOW_BYTES: u64 = 200_000;

impl SmallBursts {
    /// Whether a policer or queue on the path is shallow.
    fn is_shallow(s: &Situation<'_>, path: &crate::DataPath) -> bool {
        path.stages.iter().any(|&p| match s.stage(p) {
            Stage::Policer(policer) => policer.largest().is_some_and(|b| b.get() < SHALLOW_BYTES),
            stage => crate::situation::queue(stage).is_some_and(|q| {
                let limits = q.limits();
                limits.bytes.min(limits.packets.saturating_mul(1500)) < SHALLOW_BYTES
            }),
        })
    }
}

impl Cure for SmallBursts {
    fn name(&self) -> &'static str {
        "small-bursts"
    }
    fn about(&self) -> &'static str {
        "No segmentation offload at the sender: segments leave one by one instead of up to 64 KiB at once."
    }
    fn applies(&self) -> &'static str {
        "where a sender with segmentation offload meets a policer's bucket or a queue below 200 kB"
    }
    fn hurts(&self) -> &'static str {
        "It costs CPU time at the sender, a lot of it above 1 Gbit/s."
    }
    fn lever(&self) -> Lever {
        Lever::Bursts
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let reference = s.reference();
        let hosts: Vec<usize> = s
            .senders()
            .into_iter()
            .filter(|&h| {
                let stack = &reference.hosts[h].stack;
                stack.tso.unwrap_or(stack.profile == Profile::Linux)
                    && s.paths.iter().any(|w| w.from == h && SmallBursts::is_shallow(s, w))
            })
            .collect();
        if hosts.is_empty() {
            return Vec::new();
        }
        let title = format!("no segmentation offload {}", tune::at(s, &hosts));
        let commands = hosts.iter().flat_map(|&h| commands(s.host(h), pace::next_of(s, h)));
        let remedy = SEGMENTS.change().by(commands.collect::<Vec<_>>());
        let change = move |s: &mut Scenario| hosts.iter().for_each(|&h| s.hosts[h].stack.tso = Some(false));
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with([remedy])]
    }
}

/// Limits bursts to one segment.
const SEGMENTS: LinuxSetting = LinuxSetting::Segments { device: None, from: None, to: 1 };

fn commands(host: &str, towards: &str) -> [CommandSet; 4] {
    let offloads = LinuxSetting::Offloads { device: None, names: vec!["tso", "gso"], on: false };
    let smaller = LinuxSetting::sysctl("net.ipv4.tcp_tso_win_divisor", 10);
    let needs = "Linux 2.6.9; 10 limits a burst to a tenth of the window, the default 3 to a third";
    let link = CommandSet::on(
        Platform::Networkd,
        host,
        "systemd 248",
        lines("# the .link file of the interface\n[Link]\nGenericSegmentOffloadMaxSegments=1"),
        lines("remove the line\nudevadm trigger --action=add"),
    );
    [
        SEGMENTS.at(host, "").towards(towards),
        offloads.at(host, "").towards(towards),
        smaller.at(host, needs),
        link.towards(towards),
    ]
}
