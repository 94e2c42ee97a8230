//! A change of a namespace's settings: its commands, what undoes them, and its effect on the facts.
//!
//! A change whose original value was not read has no commands: what undoes it could not be written.

use crate::facts::{DeviceFacts, HtbClassFacts, NamespaceFacts};

/// A change of a namespace's settings.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    /// A sysctl.
    Sysctl {
        /// Its name.
        name: String,
        /// Its value now; `None` where it is not known.
        from: Option<String>,
        /// What it should be.
        to: String,
        /// The value is the host's, and nothing was said about how good that is.
        copied: bool,
    },
    /// The root queueing discipline of a device.
    Qdisc {
        /// The device as it is.
        device: DeviceFacts,
        /// The one it should have.
        to: String,
    },
    /// How many segments a device is handed in one piece.
    Segments {
        /// The device.
        device: String,
        /// How many at most now; `None` where it is not known.
        from: Option<u32>,
        /// How many it should be.
        to: u32,
    },
    /// The bucket of an HTB class.
    ClassBurst {
        /// The device.
        device: String,
        /// The class as it is.
        class: HtbClassFacts,
        /// Bytes that both its buckets should hold.
        to: u64,
    },
    /// Offloads of a device that are off and should be on, as `ethtool -K` names them.
    Offloads {
        /// The device.
        device: String,
        /// Which.
        names: Vec<&'static str>,
    },
    /// A clamp of the MSS of connections that leave by a device.
    MssClamp {
        /// The device.
        device: String,
    },
}

/// A change and the namespace that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedChange {
    /// Name of the namespace.
    pub namespace: String,
    /// What a command is prefixed with to run there; `None` where nothing enters it.
    pub enter: Option<String>,
    /// The change.
    pub change: SettingChange,
}

impl PlacedChange {
    /// What to type for it; empty where nothing enters the namespace or the original value is not known.
    pub fn commands(&self) -> Vec<String> {
        let typed = if self.change.undo().is_empty() { Vec::new() } else { self.change.commands() };
        self.entered(typed)
    }

    /// What to type to have it back.
    pub fn undo(&self) -> Vec<String> {
        self.entered(self.change.undo())
    }

    fn entered(&self, commands: Vec<String>) -> Vec<String> {
        match self.enter.as_deref() {
            None => Vec::new(),
            Some("") => commands,
            Some(enter) => commands.into_iter().map(|command| format!("{enter} {command}")).collect(),
        }
    }
}

/// The nftables table that a clamp makes: a name of its own, so that its removal takes nothing else along.
const CLAMP_TABLE: &str = "longfat_mss";

/// Queueing disciplines without parameters: another of the same kind is the same.
const PLAIN_QDISCS: &[&str] = &["pfifo_fast", "noqueue"];

impl SettingChange {
    /// A sysctl of this namespace.
    pub fn sysctl(ns: &NamespaceFacts, name: &str, to: impl ToString) -> SettingChange {
        SettingChange::Sysctl {
            name: name.into(),
            from: ns.settings.text(name).map(str::to_string),
            to: to.to_string(),
            copied: false,
        }
    }

    /// A sysctl of this namespace that is to have the host's value.
    pub fn copied(ns: &NamespaceFacts, name: &str, to: impl ToString) -> SettingChange {
        match SettingChange::sysctl(ns, name, to) {
            SettingChange::Sysctl { name, from, to, .. } => {
                SettingChange::Sysctl { name, from, to, copied: true }
            }
            other => other,
        }
    }

    /// `fq` on every link that does not have it.
    pub fn fq(ns: &NamespaceFacts) -> Vec<SettingChange> {
        let links = ns.links().filter(|d| d.qdisc != "fq");
        links.map(|d| SettingChange::Qdisc { device: d.clone(), to: "fq".into() }).collect()
    }

    /// What it changes, without the value: two changes of the same subject cannot both hold.
    pub fn subject(&self) -> String {
        match self {
            SettingChange::Sysctl { name, .. } => name.clone(),
            SettingChange::Qdisc { device, .. } => format!("qdisc {}", device.name),
            SettingChange::Segments { device, .. } => format!("segments {device}"),
            SettingChange::ClassBurst { device, class, .. } => format!("class {device} {}", class.name),
            SettingChange::Offloads { device, .. } => format!("offloads {device}"),
            SettingChange::MssClamp { device } => format!("clamp {device}"),
        }
    }

    /// Makes it.
    pub fn apply(&self, ns: &mut NamespaceFacts) {
        let on = |ns: &mut NamespaceFacts, name: &str, change: &dyn Fn(&mut DeviceFacts)| {
            ns.devices.iter_mut().filter(|d| d.name == name).for_each(change);
        };
        match self {
            SettingChange::Sysctl { name, to, .. } => ns.settings.set(name, to),
            SettingChange::Qdisc { device, to } => on(ns, &device.name, &|d| d.qdisc.clone_from(to)),
            SettingChange::Segments { device, to, .. } => on(ns, device, &|d| d.gso_max_segs = Some(*to)),
            SettingChange::ClassBurst { device, class, to } => on(ns, device, &|d| {
                let of = d.classes.iter_mut().filter(|c| c.name == class.name);
                of.for_each(|c| (c.burst_bytes, c.cburst_bytes) = (*to, *to));
            }),
            SettingChange::Offloads { device, names } => on(ns, device, &|d| {
                d.gso = if names.contains(&"gso") { Some(true) } else { d.gso };
                d.gro = if names.contains(&"gro") { Some(true) } else { d.gro };
            }),
            SettingChange::MssClamp { .. } => ns.clamps_mss = Some(true),
        }
    }

    /// What to type for it.
    pub fn commands(&self) -> Vec<String> {
        match self {
            SettingChange::Sysctl { name, to, .. } => vec![sysctl(name, to)],
            SettingChange::Qdisc { device, to } => vec![root_qdisc(&device.name, to)],
            SettingChange::Segments { device, to, .. } => vec![gso_max_segs(device, *to)],
            SettingChange::ClassBurst { device, class, to } => vec![class_burst(device, class, [*to, *to])],
            SettingChange::Offloads { device, names } => vec![offloads(device, names, "on")],
            SettingChange::MssClamp { device } => {
                let rule = format!("oifname {} tcp flags syn tcp option maxseg size set rt mtu", nft(device));
                vec![
                    format!("nft add table inet {CLAMP_TABLE}"),
                    format!(
                        "nft add chain inet {CLAMP_TABLE} forward '{{ type filter hook forward priority mangle; }}'"
                    ),
                    format!("nft add rule inet {CLAMP_TABLE} forward {}", quoted(&rule)),
                ]
            }
        }
    }

    /// What to type to have back what is there now; empty where that is not known.
    pub fn undo(&self) -> Vec<String> {
        match self {
            SettingChange::Sysctl { name, from, .. } => from.iter().map(|from| sysctl(name, from)).collect(),
            // The kernel attaches its default again. One that was set, with parameters that were not read, cannot be restored.
            SettingChange::Qdisc { device, .. } if !device.qdisc_set => {
                vec![format!("tc qdisc del dev {} root", quoted(&device.name))]
            }
            SettingChange::Qdisc { device, .. } => {
                let plain = PLAIN_QDISCS.contains(&device.qdisc.as_str());
                plain.then(|| root_qdisc(&device.name, &device.qdisc)).into_iter().collect()
            }
            SettingChange::Segments { device, from, .. } => {
                from.iter().map(|from| gso_max_segs(device, *from)).collect()
            }
            SettingChange::ClassBurst { device, class, .. } => {
                vec![class_burst(device, class, [class.burst_bytes, class.cburst_bytes])]
            }
            SettingChange::Offloads { device, names } => vec![offloads(device, names, "off")],
            SettingChange::MssClamp { .. } => vec![format!("nft delete table inet {CLAMP_TABLE}")],
        }
    }
}

fn root_qdisc(device: &str, kind: &str) -> String {
    format!("tc qdisc replace dev {} root {kind}", quoted(device))
}

fn gso_max_segs(device: &str, most: u32) -> String {
    format!("ip link set dev {} gso_max_segs {most}", quoted(device))
}

fn offloads(device: &str, names: &[&str], state: &str) -> String {
    let all: String = names.iter().map(|name| format!(" {name} {state}")).collect();
    format!("ethtool -K {}{all}", quoted(device))
}

/// `tc class change` without the rates is refused, and what else it does not name it sets to its default
/// (`htb_change_class`, net/sched/sch_htb.c).
fn class_burst(device: &str, class: &HtbClassFacts, [burst, cburst]: [u64; 2]) -> String {
    let HtbClassFacts { name, parent, bytes_per_second, ceil_bytes_per_second, .. } = class;
    let parent = if parent == "root" {
        name.split(':').next().unwrap_or_default().to_string() + ":"
    } else {
        parent.clone()
    };
    let given = |word: &str, n: u32| if n == 0 { String::new() } else { format!(" {word} {n}") };
    let atm = if class.atm { " linklayer atm" } else { "" };
    format!(
        "tc class change dev {} parent {parent} classid {name} htb rate {}bit ceil {}bit burst {burst} cburst {cburst}\
         {}{}{}{}{atm}",
        quoted(device),
        bytes_per_second.saturating_mul(8),
        ceil_bytes_per_second.saturating_mul(8),
        given("prio", class.prio),
        given("quantum", class.quantum),
        given("overhead", class.overhead.into()),
        given("mpu", class.mpu.into()),
    )
}

fn sysctl(name: &str, value: &str) -> String {
    format!("sysctl -w {}", quoted(&format!("{name}={value}")))
}

/// A name as nft takes it.
fn nft(name: &str) -> String {
    format!("\"{}\"", name.replace(['"', '\\'], ""))
}

/// A word as a shell takes it: names of devices may hold nearly anything.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::clean;

    fn placed(ns: &NamespaceFacts, change: SettingChange) -> PlacedChange {
        PlacedChange { namespace: ns.name.clone(), enter: ns.enter.clone(), change }
    }

    #[test]
    fn a_change_knows_its_command_its_undo_and_its_effect() {
        let mut ns = clean("web");
        let change = SettingChange::sysctl(&ns, "net.ipv4.tcp_rmem", "4096 131072 33554432");
        assert_eq!(change.commands(), ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'"]);
        assert_eq!(change.undo(), ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"]);
        assert_eq!(
            placed(&ns, change.clone()).commands(),
            ["ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'"]
        );
        change.apply(&mut ns);
        assert_eq!(ns.settings.nth("net.ipv4.tcp_rmem", 2), Some(33_554_432));
        let fq = SettingChange::fq(&ns);
        assert_eq!(fq[0].commands(), ["tc qdisc replace dev eth0 root fq"]);
        assert_eq!(fq[0].undo(), ["tc qdisc del dev eth0 root"]);
        fq[0].apply(&mut ns);
        assert!(ns.links_pace() && SettingChange::fq(&ns).is_empty());
    }

    /// Without the value that is there now, no undo can be written: then nothing is to be typed either.
    #[test]
    fn what_cannot_be_undone_is_not_offered() {
        let mut ns = clean("web");
        let commands = |ns: &NamespaceFacts, change: SettingChange| {
            let placed = placed(ns, change);
            assert_eq!(placed.commands().is_empty(), placed.undo().is_empty());
            placed.commands()
        };
        assert!(commands(&ns, SettingChange::sysctl(&ns, "net.core.netdev_max_backlog", 4000)).is_empty());
        let segments = |from| SettingChange::Segments { device: "eth0".into(), from, to: 1 };
        assert!(commands(&ns, segments(None)).is_empty());
        assert_eq!(commands(&ns, segments(Some(65_535))).len(), 1);
        // A shaper that was set here would be lost, and its parameters with it.
        (ns.devices[1].qdisc, ns.devices[1].qdisc_set) = ("htb".into(), true);
        assert!(commands(&ns, SettingChange::fq(&ns).remove(0)).is_empty());
        ns.devices[1].qdisc = "pfifo_fast".into();
        assert_eq!(SettingChange::fq(&ns)[0].undo(), ["tc qdisc replace dev eth0 root pfifo_fast"]);
    }

    #[test]
    fn a_changed_class_keeps_what_tc_would_reset() {
        let class = HtbClassFacts {
            name: "1:10".into(),
            parent: "1:1".into(),
            bytes_per_second: 1_250_000,
            ceil_bytes_per_second: 2_500_000,
            burst_bytes: 9000,
            cburst_bytes: 8000,
            prio: 3,
            quantum: 12_500,
            overhead: 44,
            mpu: 64,
            atm: true,
        };
        let change = SettingChange::ClassBurst { device: "eth0".into(), class, to: 65_536 };
        let all = " prio 3 quantum 12500 overhead 44 mpu 64 linklayer atm";
        assert!(change.commands()[0].ends_with(&format!("burst 65536 cburst 65536{all}")));
        assert!(change.undo()[0].ends_with(&format!("burst 9000 cburst 8000{all}")));
    }

    #[test]
    fn a_hostile_name_stays_one_word() {
        assert_eq!(quoted("eth0"), "eth0");
        assert_eq!(quoted("a'; rm -rf ~"), "'a'\\''; rm -rf ~'");
        assert_eq!(quoted(""), "''");
    }
}
