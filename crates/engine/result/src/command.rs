//! Commands that make a change: for each platform, with their requirements and how to undo them.
//!
//! All lines of `sysctl`, `tc`, `ip`, `ethtool` and `nft` are made by [`LinuxSetting`]. An undo restores the
//! value that was read. Where no value was read, the first line of the undo says so, and what to note down
//! before the change.

use crate::change::{Change, ChangeKind, ChangePlace, ChangeUnit};
use serde::{Deserialize, Serialize};

/// Platform that commands are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// A root shell on Linux: `tc`, `sysctl`, `ip`.
    Linux,
    /// Files of systemd-networkd and sysctl.d, which persist across reboots.
    Networkd,
    /// Source code of the application: socket options.
    Application,
    /// Command line of longfat itself.
    Longfat,
    /// Configuration of nginx.
    Nginx,
    /// Configuration of HAProxy.
    Haproxy,
    /// Configuration of a container network (CNI).
    Cni,
    /// Cisco IOS, in configuration mode.
    CiscoIos,
    /// Cisco IOS-XE, in configuration mode.
    CiscoIosXe,
}

impl Platform {
    /// The name in texts.
    pub fn label(self) -> &'static str {
        match self {
            Platform::Linux => "Linux",
            Platform::Networkd => "systemd-networkd",
            Platform::Application => "in the application",
            Platform::Longfat => "longfat",
            Platform::Nginx => "nginx",
            Platform::Haproxy => "HAProxy",
            Platform::Cni => "CNI",
            Platform::CiscoIos => "Cisco IOS",
            Platform::CiscoIosXe => "Cisco IOS-XE",
        }
    }
}

/// Commands that make a change on one platform, with their undo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandSet {
    /// The platform.
    pub platform: Platform,
    /// The host of the scenario, or the network namespace, on which the commands run.
    pub at: String,
    /// The neighbour that `$DEV` or the interface leads to, or the peer that `$PEER` stands for; absent
    /// where none is named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub towards: Option<String>,
    /// Required versions, modules and programs.
    pub needs: String,
    /// Lines that make the change. On Linux these are shell commands; `$DEV` is the interface.
    pub apply: Vec<String>,
    /// Lines that undo the change. A line that starts with `#` says which previous value is unknown.
    pub undo: Vec<String>,
}

impl CommandSet {
    /// Commands for a shell on Linux.
    pub fn linux(at: &str, needs: &str, apply: Vec<String>, undo: Vec<String>) -> CommandSet {
        CommandSet {
            platform: Platform::Linux,
            at: at.into(),
            towards: None,
            needs: needs.into(),
            apply,
            undo,
        }
    }

    /// Commands for any platform.
    pub fn on(
        platform: Platform,
        at: &str,
        needs: &str,
        apply: Vec<String>,
        undo: Vec<String>,
    ) -> CommandSet {
        CommandSet { platform, ..CommandSet::linux(at, needs, apply, undo) }
    }

    /// Names the neighbour that the interface leads to, or the peer.
    pub fn towards(self, neighbour: &str) -> CommandSet {
        CommandSet { towards: Some(neighbour.into()), ..self }
    }
}

/// Splits a text into lines, without trailing blanks and empty lines.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim_end).filter(|l| !l.is_empty()).map(String::from).collect()
}

/// A device's root qdisc before a change, as far as it can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OldQdisc {
    /// The kernel's default qdisc, which the kernel attaches by itself.
    Default,
    /// A qdisc with these arguments of `tc qdisc`.
    Set(String),
}

/// A class of HTB (tc-htb(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtbClass {
    /// Class id, as `1:10`.
    pub name: String,
    /// Id of the parent class; `root` where there is none.
    pub parent: String,
    /// Guaranteed rate, bytes/s.
    pub bytes_per_second: u64,
    /// Ceiling, bytes/s.
    pub ceil_bytes_per_second: u64,
    /// Token bucket of the rate, bytes.
    pub burst_bytes: u64,
    /// Token bucket of the ceiling, bytes.
    pub cburst_bytes: u64,
    /// Priority; 0 is served first.
    pub prio: u32,
    /// Bytes sent per round of its priority.
    pub quantum: u32,
    /// Bytes added to the size of each packet.
    pub overhead: u16,
    /// Minimum size that a packet counts with, bytes.
    pub mpu: u16,
    /// Whether packet sizes are rounded up to whole ATM cells.
    pub atm: bool,
}

/// A setting of a Linux host: its present and its desired value. A device of `None` is written `$DEV`, for
/// the user to fill in.
#[derive(Clone, Debug, PartialEq)]
pub enum LinuxSetting {
    /// A sysctl.
    Sysctl {
        name: String,
        /// Present value; `None` where unknown.
        from: Option<String>,
        /// Desired value.
        to: String,
    },
    /// The maximum, the third number, of `net.ipv4.tcp_rmem` or `tcp_wmem`; the other two stay.
    BufferLimit {
        /// Name of the sysctl.
        name: &'static str,
        /// The maximum, bytes.
        bytes: u64,
    },
    /// The root qdisc of a device.
    Qdisc {
        device: Option<String>,
        /// Present qdisc; `None` where unknown or not restorable.
        from: Option<OldQdisc>,
        /// Desired qdisc, as arguments of `tc`.
        to: String,
        /// Classes and qdiscs below the root: `class` or `qdisc`, and the arguments after the device.
        below: Vec<(&'static str, String)>,
    },
    /// Maximum number of segments in a GSO packet handed to a device (`gso_max_segs`).
    Segments {
        device: Option<String>,
        /// Present maximum; `None` where unknown.
        from: Option<u32>,
        /// Desired maximum.
        to: u32,
    },
    /// Both token buckets of an HTB class.
    ClassBurst {
        device: String,
        /// The class at present.
        class: HtbClass,
        /// Desired size of both buckets, bytes.
        to: u64,
    },
    /// Offloads of a device that are all in the opposite state at present.
    Offloads {
        device: Option<String>,
        /// Names, as `ethtool -K` takes them.
        names: Vec<&'static str>,
        /// Desired state.
        on: bool,
    },
    /// An MSS clamp for connections that the host forwards.
    MssClamp {
        /// Outgoing device; `None`: any.
        device: Option<String>,
        /// Maximum MSS, bytes; `None`: what the route's MTU allows.
        mss: Option<u32>,
    },
    /// An attribute of the route to `$PEER` that the route does not have at present.
    Route {
        /// Name of the attribute: `congctl`, `rto_min` or `advmss`.
        name: &'static str,
        /// Value of the attribute.
        to: String,
        /// Whether the peer has an IPv6 address.
        v6: bool,
    },
}

/// The nftables table of the MSS clamp. It holds nothing else, so deleting it affects nothing else.
const CLAMP_TABLE: &str = "longfat_mss";

impl LinuxSetting {
    /// A sysctl of a host whose settings were not read.
    pub fn sysctl(name: &str, to: impl ToString) -> LinuxSetting {
        LinuxSetting::Sysctl { name: name.into(), from: None, to: to.to_string() }
    }

    /// A root qdisc on a device whose settings were not read.
    pub fn qdisc(to: impl Into<String>) -> LinuxSetting {
        LinuxSetting::Qdisc { device: None, from: None, to: to.into(), below: Vec::new() }
    }

    /// The setting without its value: two changes of the same subject exclude each other.
    pub fn subject(&self) -> String {
        match self {
            LinuxSetting::Sysctl { name, .. } => name.clone(),
            LinuxSetting::BufferLimit { name, .. } => name.to_string(),
            LinuxSetting::Qdisc { device, .. } => format!("qdisc {}", dev(device)),
            LinuxSetting::Segments { device, .. } => format!("segments {}", dev(device)),
            LinuxSetting::ClassBurst { device, class, .. } => format!("class {device} {}", class.name),
            LinuxSetting::Offloads { device, .. } => format!("offloads {}", dev(device)),
            LinuxSetting::MssClamp { device, .. } => format!("clamp {}", dev(device)),
            LinuxSetting::Route { name, .. } => format!("route {name}"),
        }
    }

    /// Lines that apply the setting.
    pub fn apply(&self) -> Vec<String> {
        match self {
            LinuxSetting::Sysctl { name, to, .. } => vec![sysctl(name, to)],
            LinuxSetting::BufferLimit { name, bytes } => {
                vec![format!("sysctl -w {name}=\"$(sysctl -n {name} | cut -f 1,2) {bytes}\"")]
            }
            LinuxSetting::Qdisc { device, to, below, .. } => {
                let below = below
                    .iter()
                    .map(|(what, words)| format!("tc {what} replace dev {} {words}", dev(device)));
                std::iter::once(root_qdisc(device, to)).chain(below).collect()
            }
            LinuxSetting::Segments { device, to, .. } => vec![gso_max_segs(device, *to)],
            LinuxSetting::ClassBurst { device, class, to } => vec![class_burst(device, class, [*to, *to])],
            LinuxSetting::Offloads { device, names, on } => vec![offloads(device, names, *on)],
            LinuxSetting::MssClamp { device, mss } => mss_clamp(device, *mss),
            LinuxSetting::Route { name, to, v6 } => vec![format!("{}) {name} {to}", route(*v6))],
        }
    }

    /// Lines that restore the previous value. Where it was not read, the first line says so.
    pub fn undo(&self) -> Vec<String> {
        match self {
            LinuxSetting::Sysctl { name, from: Some(from), .. } => vec![sysctl(name, from)],
            LinuxSetting::Sysctl { name, from: None, .. } => old_sysctl(name),
            LinuxSetting::BufferLimit { name, .. } => old_sysctl(name),
            LinuxSetting::Qdisc { device, from: Some(OldQdisc::Set(words)), .. } => {
                vec![root_qdisc(device, words)]
            }
            // Deleting the root qdisc makes the kernel attach its default.
            LinuxSetting::Qdisc { device, from, .. } => {
                let dev = dev(device);
                let unknown = from.is_none().then(|| {
                    format!(
                        "# previous qdisc unknown: this restores the kernel's default. If `tc qdisc show dev {dev}` shows \
                         another one before the change, restore that"
                    )
                });
                unknown.into_iter().chain([format!("tc qdisc del dev {dev} root")]).collect()
            }
            LinuxSetting::Segments { device, from: Some(from), .. } => vec![gso_max_segs(device, *from)],
            LinuxSetting::Segments { device, from: None, .. } => vec![
                format!(
                    "# previous value unknown: OLD is the gso_max_segs of `ip -d link show dev {}` before the change",
                    dev(device)
                ),
                format!("ip link set dev {} gso_max_segs \"$OLD\"", dev(device)),
            ],
            LinuxSetting::ClassBurst { device, class, .. } => {
                vec![class_burst(device, class, [class.burst_bytes, class.cburst_bytes])]
            }
            LinuxSetting::Offloads { device, names, on } => vec![offloads(device, names, !on)],
            LinuxSetting::MssClamp { .. } => vec![format!("nft delete table inet {CLAMP_TABLE}")],
            LinuxSetting::Route { name, v6, .. } => {
                // `rto_min` is shown with `lock`.
                vec![format!("{} | sed -E 's/ {name} (lock )?[^ ]*//')", route(*v6))]
            }
        }
    }

    /// Whether the undo is complete: the previous value was read.
    pub fn has_complete_undo(&self) -> bool {
        !self.undo().iter().any(|line| line.starts_with('#'))
    }

    /// Programs and versions that the lines need.
    pub fn needs(&self) -> &'static str {
        match self {
            LinuxSetting::Sysctl { .. } | LinuxSetting::BufferLimit { .. } => "sysctl",
            LinuxSetting::Qdisc { .. } | LinuxSetting::ClassBurst { .. } => "tc (iproute2)",
            LinuxSetting::Segments { .. } => "iproute2 4.17",
            LinuxSetting::Offloads { .. } => "ethtool",
            LinuxSetting::MssClamp { .. } => {
                "nft; Linux 4.14; clamps forwarded connections, in both directions"
            }
            LinuxSetting::Route { .. } => "iproute2; affects connections to this peer only",
        }
    }

    /// The setting as commands for a Linux shell.
    pub fn at(&self, host: &str, needs: &str) -> CommandSet {
        let needs = if needs.is_empty() { self.needs() } else { needs };
        CommandSet::linux(host, needs, self.apply(), self.undo())
    }

    /// A sysctl as a file in /etc/sysctl.d, which persists; `None` for other settings.
    pub fn file(&self, host: &str, needs: &str) -> Option<CommandSet> {
        let LinuxSetting::Sysctl { name, to, .. } = self else { return None };
        let file = format!("/etc/sysctl.d/90-longfat-{}.conf", name.rsplit('.').next().unwrap_or(name));
        let apply = lines(&format!("# {file}\n{name} = {to}"));
        let undo = std::iter::once(format!("rm {file}")).chain(self.undo()).collect();
        Some(CommandSet::on(Platform::Networkd, host, needs, apply, undo))
    }

    /// The setting as a change, without commands.
    pub fn change(&self) -> Change {
        let (kind, place) = match self {
            LinuxSetting::Sysctl { name, .. } => sysctl_change(name),
            LinuxSetting::BufferLimit { name, .. } => sysctl_change(name),
            LinuxSetting::Qdisc { .. } => (ChangeKind::Pacing, ChangePlace::Sender),
            LinuxSetting::Segments { .. } => (ChangeKind::SmallBursts, ChangePlace::Sender),
            LinuxSetting::ClassBurst { .. } => (ChangeKind::BucketSize, ChangePlace::Limiter),
            LinuxSetting::Offloads { .. } => (ChangeKind::Offloads, ChangePlace::BothEnds),
            LinuxSetting::MssClamp { .. } => (ChangeKind::MssClamp, ChangePlace::Path),
            LinuxSetting::Route { name: "congctl", .. } => {
                (ChangeKind::CongestionControl, ChangePlace::Sender)
            }
            LinuxSetting::Route { name: "advmss", .. } => (ChangeKind::MssClamp, ChangePlace::Path),
            LinuxSetting::Route { .. } => (ChangeKind::RetransmissionTimeout, ChangePlace::Sender),
        };
        let change = Change::new(kind, place, "");
        let last = |value: &str| value.rsplit(' ').next().and_then(|w| w.parse::<f64>().ok());
        match self {
            LinuxSetting::Sysctl { to, .. } if kind == ChangeKind::CongestionControl => change.named(to),
            LinuxSetting::Sysctl { name, from, to } => {
                let change = change.named(short(name));
                match (kind, last(to)) {
                    (ChangeKind::ReceiveBuffer | ChangeKind::SendBuffer, Some(bytes)) if bytes > 1.0 => {
                        change.set(from.as_deref().and_then(last), bytes, ChangeUnit::Bytes)
                    }
                    _ => change,
                }
            }
            LinuxSetting::BufferLimit { name, bytes } => {
                change.named(short(name)).set(None, *bytes as f64, ChangeUnit::Bytes)
            }
            LinuxSetting::Qdisc { to, .. } => change.named(to),
            LinuxSetting::ClassBurst { class, to, .. } => {
                change.set(Some(class.burst_bytes as f64), *to as f64, ChangeUnit::Bytes)
            }
            LinuxSetting::MssClamp { mss: Some(mss), .. } => {
                change.set(None, f64::from(*mss), ChangeUnit::Bytes)
            }
            LinuxSetting::Route { to, .. } if kind == ChangeKind::CongestionControl => change.named(to),
            _ => change,
        }
    }
}

/// Last part of a sysctl's name: `tcp_rmem` of `net.ipv4.tcp_rmem`.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The change that a sysctl makes, and at which end.
fn sysctl_change(name: &str) -> (ChangeKind, ChangePlace) {
    match short(name) {
        "tcp_congestion_control" => (ChangeKind::CongestionControl, ChangePlace::Sender),
        "tcp_rmem" | "rmem_max" | "tcp_moderate_rcvbuf" => (ChangeKind::ReceiveBuffer, ChangePlace::Receiver),
        "tcp_wmem" | "wmem_max" => (ChangeKind::SendBuffer, ChangePlace::Sender),
        "tcp_window_scaling" => (ChangeKind::WindowScaling, ChangePlace::BothEnds),
        "tcp_sack" | "tcp_timestamps" => (ChangeKind::LossRecovery, ChangePlace::BothEnds),
        "tcp_early_retrans" => (ChangeKind::LossRecovery, ChangePlace::Sender),
        "tcp_slow_start_after_idle" => (ChangeKind::IdleRestart, ChangePlace::Sender),
        "tcp_no_ssthresh_metrics_save" => (ChangeKind::SavedMetrics, ChangePlace::Sender),
        "tcp_mtu_probing" => (ChangeKind::MtuProbing, ChangePlace::Sender),
        "tcp_tso_win_divisor" => (ChangeKind::SmallBursts, ChangePlace::Sender),
        "somaxconn" => (ChangeKind::AcceptQueue, ChangePlace::Receiver),
        "netdev_max_backlog" => (ChangeKind::Backlog, ChangePlace::Receiver),
        "tcp_mem" => (ChangeKind::TcpMemory, ChangePlace::BothEnds),
        _ => (ChangeKind::HostSetting, ChangePlace::BothEnds),
    }
}

/// A device name, quoted for the shell; `$DEV` where the device is unknown.
fn dev(device: &Option<String>) -> String {
    device.as_deref().map_or_else(|| "$DEV".into(), quoted)
}

fn sysctl(name: &str, value: &str) -> String {
    format!("sysctl -w {}", quoted(&format!("{name}={value}")))
}

fn old_sysctl(name: &str) -> Vec<String> {
    vec![
        format!("# previous value unknown: OLD is the output of `sysctl -n {name}` before the change"),
        format!("sysctl -w {name}=\"$OLD\""),
    ]
}

fn root_qdisc(device: &Option<String>, words: &str) -> String {
    format!("tc qdisc replace dev {} root {words}", dev(device))
}

fn gso_max_segs(device: &Option<String>, most: u32) -> String {
    format!("ip link set dev {} gso_max_segs {most}", dev(device))
}

fn offloads(device: &Option<String>, names: &[&str], on: bool) -> String {
    let state = if on { "on" } else { "off" };
    let all: String = names.iter().map(|name| format!(" {name} {state}")).collect();
    format!("ethtool -K {}{all}", dev(device))
}

/// A fixed size only lowers the MSS of a SYN (`nft_exthdr_tcp_set_eval`, net/netfilter/nft_exthdr.c).
fn mss_clamp(device: &Option<String>, mss: Option<u32>) -> Vec<String> {
    let leaves = device.as_deref().map(|name| format!("oifname {} ", nft(name))).unwrap_or_default();
    let size = mss.map_or_else(|| "rt mtu".into(), |mss| mss.to_string());
    let rule = format!("{leaves}tcp flags syn tcp option maxseg size set {size}");
    vec![
        format!("nft add table inet {CLAMP_TABLE}"),
        format!("nft add chain inet {CLAMP_TABLE} forward '{{ type filter hook forward priority mangle; }}'"),
        format!("nft add rule inet {CLAMP_TABLE} forward {}", quoted(&rule)),
    ]
}

/// Shell words that replace the route to the peer by the same route; attributes can be appended.
fn route(v6: bool) -> String {
    let ip = if v6 { "ip -6" } else { "ip" };
    format!("{ip} route replace $({ip} -o route show to match $PEER | tail -n 1")
}

/// `tc class change` requires the rates, and resets attributes that it does not name to their defaults
/// (`htb_change_class`, net/sched/sch_htb.c).
fn class_burst(device: &str, class: &HtbClass, [burst, cburst]: [u64; 2]) -> String {
    let HtbClass { name, parent, bytes_per_second, ceil_bytes_per_second, .. } = class;
    let parent = if parent == "root" {
        name.split(':').next().unwrap_or_default().to_string() + ":"
    } else {
        parent.clone()
    };
    let unless_zero = |word: &str, n: u32| if n == 0 { String::new() } else { format!(" {word} {n}") };
    let atm = if class.atm { " linklayer atm" } else { "" };
    format!(
        "tc class change dev {} parent {parent} classid {name} htb rate {}bit ceil {}bit burst {burst} cburst {cburst}\
         {}{}{}{}{atm}",
        quoted(device),
        bytes_per_second.saturating_mul(8),
        ceil_bytes_per_second.saturating_mul(8),
        unless_zero("prio", class.prio),
        unless_zero("quantum", class.quantum),
        unless_zero("overhead", class.overhead.into()),
        unless_zero("mpu", class.mpu.into()),
    )
}

/// A quoted string for nft.
fn nft(name: &str) -> String {
    format!("\"{}\"", name.replace(['"', '\\'], ""))
}

/// A word quoted for the shell, as device names may contain almost any character.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_restores_a_known_value_and_names_an_unknown_one() {
        let known = LinuxSetting::Sysctl {
            name: "net.ipv4.tcp_rmem".into(),
            from: Some("4096 131072 6291456".into()),
            to: "4096 131072 33554432".into(),
        };
        assert_eq!(known.apply(), ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'"]);
        assert_eq!(known.undo(), ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"]);
        assert!(known.has_complete_undo());
        let eth0 = || Some("eth0".into());
        let unknown = [
            LinuxSetting::sysctl("net.ipv4.tcp_congestion_control", "bbr"),
            LinuxSetting::BufferLimit { name: "net.ipv4.tcp_rmem", bytes: 33_554_432 },
            LinuxSetting::qdisc("fq"),
            LinuxSetting::Segments { device: eth0(), from: None, to: 1 },
        ];
        for setting in unknown {
            assert!(!setting.has_complete_undo(), "{setting:?}");
            let undo = setting.undo();
            assert!(undo[0].starts_with("# previous"), "{undo:?}");
            // No default of the kernel is offered as the previous value: the user's may differ.
            assert!(!undo[1].contains("cubic") && !undo[1].contains("6291456"), "{undo:?}");
        }
        let fq = |from| LinuxSetting::Qdisc { device: eth0(), from, to: "fq".into(), below: Vec::new() };
        assert_eq!(fq(Some(OldQdisc::Default)).undo(), ["tc qdisc del dev eth0 root"]);
        let plain = fq(Some(OldQdisc::Set("pfifo_fast".into())));
        assert_eq!(plain.undo(), ["tc qdisc replace dev eth0 root pfifo_fast"]);
    }

    #[test]
    fn a_route_keeps_its_other_attributes() {
        let cc = LinuxSetting::Route { name: "congctl", to: "bbr".into(), v6: false };
        let show = "ip route replace $(ip -o route show to match $PEER | tail -n 1";
        assert_eq!(cc.apply(), [format!("{show}) congctl bbr")]);
        assert_eq!(cc.undo(), [format!("{show} | sed -E 's/ congctl (lock )?[^ ]*//')")]);
        assert!(
            LinuxSetting::Route { name: "advmss", to: "1400".into(), v6: true }.apply()[0]
                .starts_with("ip -6")
        );
    }

    #[test]
    fn a_changed_class_keeps_what_tc_would_reset() {
        let class = HtbClass {
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
        let setting = LinuxSetting::ClassBurst { device: "eth0".into(), class, to: 65_536 };
        let all = " prio 3 quantum 12500 overhead 44 mpu 64 linklayer atm";
        assert!(setting.apply()[0].ends_with(&format!("burst 65536 cburst 65536{all}")));
        assert!(setting.undo()[0].ends_with(&format!("burst 9000 cburst 8000{all}")));
    }

    #[test]
    fn a_setting_is_the_change_that_it_makes() {
        let change_of = |setting: LinuxSetting| {
            let c = setting.change();
            (c.kind, c.place, c.name.unwrap_or_default(), c.setting.map(|s| s.to))
        };
        use ChangeKind::*;
        use ChangePlace::*;
        let sysctl = LinuxSetting::sysctl;
        let control = change_of(sysctl("net.ipv4.tcp_congestion_control", "bbr"));
        assert_eq!(control, (CongestionControl, Sender, "bbr".into(), None));
        let larger = change_of(sysctl("net.ipv4.tcp_rmem", "4096 131072 33554432"));
        assert_eq!(larger, (ReceiveBuffer, Receiver, "tcp_rmem".into(), Some(33_554_432.0)));
        let limit = change_of(LinuxSetting::BufferLimit { name: "net.ipv4.tcp_wmem", bytes: 4096 });
        assert_eq!(limit, (SendBuffer, Sender, "tcp_wmem".into(), Some(4096.0)));
        assert_eq!(change_of(LinuxSetting::qdisc("fq")), (Pacing, Sender, "fq".into(), None));
        let clamp = change_of(LinuxSetting::MssClamp { device: None, mss: Some(1436) });
        assert_eq!(clamp, (MssClamp, Path, String::new(), Some(1436.0)));
    }

    #[test]
    fn a_hostile_name_stays_one_word() {
        assert_eq!(quoted("eth0"), "eth0");
        assert_eq!(quoted("a'; rm -rf ~"), "'a'\\''; rm -rf ~'");
        assert_eq!(quoted(""), "''");
        assert_eq!(dev(&Some("$DEV".into())), "'$DEV'");
    }
}
