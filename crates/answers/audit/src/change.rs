//! Settings of a namespace that rules change: [`LinuxSetting`]s with their current values, and their effect
//! on the facts.
//!
//! A setting whose current value is unknown has no commands, because they could not be undone.

use crate::facts::{DeviceFacts, NamespaceFacts};
use result::command::OldQdisc;
use result::{Change, CommandSet, LinuxSetting};

/// A setting that should change, in a namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedSetting {
    /// Name of the namespace.
    pub namespace: String,
    /// Command prefix that enters the namespace; `None` where nothing enters it.
    pub enter: Option<String>,
    /// The setting and its new value.
    pub setting: LinuxSetting,
    /// Whether the value is copied from the host, without a judgement of its merit.
    pub copied: bool,
}

impl PlacedSetting {
    /// Returns the change with its commands; without commands where nothing enters the namespace, or where
    /// the current value is unknown.
    pub fn remedy(&self) -> Change {
        let enter = self.enter.as_ref().filter(|_| self.setting.has_complete_undo());
        let commands = enter.map(|enter| {
            let entered = |lines: Vec<String>| {
                lines.into_iter().map(|l| format!("{enter} {l}").trim_start().to_string()).collect()
            };
            let set = self.setting.at(&self.namespace, "");
            CommandSet { apply: entered(set.apply), undo: entered(set.undo), ..set }
        });
        self.setting.change().by(commands)
    }
}

/// Queueing disciplines without parameters: replacing one by another of its kind restores it exactly.
const PLAIN_QDISCS: &[&str] = &["pfifo_fast", "noqueue"];

/// Changes a sysctl of this namespace.
pub fn sysctl(ns: &NamespaceFacts, name: &str, to: impl ToString) -> LinuxSetting {
    let from = ns.settings.text(name).map(str::to_string);
    LinuxSetting::Sysctl { name: name.into(), from, to: to.to_string() }
}

/// Sets `fq` on every link that has another queueing discipline.
pub fn fq(ns: &NamespaceFacts) -> Vec<LinuxSetting> {
    let setting = |d: &DeviceFacts| LinuxSetting::Qdisc {
        device: Some(d.name.clone()),
        from: old_qdisc(d),
        to: "fq".into(),
        below: Vec::new(),
    };
    ns.links().filter(|d| d.qdisc != "fq").map(setting).collect()
}

/// Returns the device's current queueing discipline; `None` if it was set with parameters that are unknown.
fn old_qdisc(device: &DeviceFacts) -> Option<OldQdisc> {
    let plain = PLAIN_QDISCS.contains(&device.qdisc.as_str());
    match device.qdisc_set {
        false => Some(OldQdisc::Default),
        true => plain.then(|| OldQdisc::Set(device.qdisc.clone())),
    }
}

/// Applies a setting to the facts.
pub fn apply(setting: &LinuxSetting, ns: &mut NamespaceFacts) {
    let on = |ns: &mut NamespaceFacts, name: &Option<String>, change: &dyn Fn(&mut DeviceFacts)| {
        ns.devices.iter_mut().filter(|d| Some(&d.name) == name.as_ref()).for_each(change);
    };
    match setting {
        LinuxSetting::Sysctl { name, to, .. } => ns.settings.set(name, to),
        LinuxSetting::Qdisc { device, to, .. } => on(ns, device, &|d| d.qdisc.clone_from(to)),
        LinuxSetting::Segments { device, to, .. } => on(ns, device, &|d| d.gso_max_segs = Some(*to)),
        LinuxSetting::ClassBurst { device, class, to } => on(ns, &Some(device.clone()), &|d| {
            let changed = d.classes.iter_mut().filter(|c| c.name == class.name);
            changed.for_each(|c| (c.burst_bytes, c.cburst_bytes) = (*to, *to));
        }),
        LinuxSetting::Offloads { device, names, on: state } => on(ns, device, &|d| {
            d.gso = if names.contains(&"gso") { Some(*state) } else { d.gso };
            d.gro = if names.contains(&"gro") { Some(*state) } else { d.gro };
        }),
        LinuxSetting::MssClamp { .. } => ns.clamps_mss = Some(true),
        // No rule changes these settings.
        LinuxSetting::BufferLimit { .. } | LinuxSetting::Route { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean;

    fn remedy(ns: &NamespaceFacts, setting: &LinuxSetting) -> Change {
        let (namespace, enter) = (ns.name.clone(), ns.enter.clone());
        PlacedSetting { namespace, enter, setting: setting.clone(), copied: false }.remedy()
    }

    #[test]
    fn a_setting_has_a_command_an_undo_and_an_effect() {
        let mut ns = clean("web");
        let setting = sysctl(&ns, "net.ipv4.tcp_rmem", "4096 131072 33554432");
        let remedy = remedy(&ns, &setting);
        let apply = "ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'";
        let undo = "ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'";
        assert_eq!((&remedy.commands[0].apply[0][..], &remedy.commands[0].undo[0][..]), (apply, undo));
        assert_eq!(remedy.setting.map(|s| (s.now, s.to)), Some((Some(6_291_456.0), 33_554_432.0)));
        super::apply(&setting, &mut ns);
        assert_eq!(ns.settings.nth("net.ipv4.tcp_rmem", 2), Some(33_554_432));
        let all = fq(&ns);
        assert_eq!(all[0].apply(), ["tc qdisc replace dev eth0 root fq"]);
        assert_eq!(all[0].undo(), ["tc qdisc del dev eth0 root"]);
        super::apply(&all[0], &mut ns);
        assert!(ns.links_pace() && fq(&ns).is_empty());
    }

    /// A setting whose current value is unknown has no commands, because they could not be undone.
    #[test]
    fn a_change_that_cannot_be_undone_has_no_commands() {
        let mut ns = clean("web");
        let commands = |ns: &NamespaceFacts, setting: &LinuxSetting| remedy(ns, setting).commands.len();
        assert_eq!(commands(&ns, &sysctl(&ns, "net.core.netdev_max_backlog", 4000)), 0);
        let segments = |from| LinuxSetting::Segments { device: Some("eth0".into()), from, to: 1 };
        assert_eq!([None, Some(65_535)].map(|from| commands(&ns, &segments(from))), [0, 1]);
        // Replacing a configured shaper would lose its parameters.
        (ns.devices[1].qdisc, ns.devices[1].qdisc_set) = ("htb".into(), true);
        assert_eq!(commands(&ns, &fq(&ns)[0]), 0);
        ns.devices[1].qdisc = "pfifo_fast".into();
        assert_eq!(fq(&ns)[0].undo(), ["tc qdisc replace dev eth0 root pfifo_fast"]);
    }
}
