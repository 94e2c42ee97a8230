//! Changes that a sender can make alone, each with its commands and their undo: a cap of the pacing rate,
//! another congestion control, more connections.

use crate::change::{Change, ChangeKind, ChangePlace, ChangeUnit};
use crate::command::{CommandSet, LinuxSetting, Platform, lines};
use units::Rate;

/// Formats a rate for `tc`.
pub fn tc_rate(rate: Rate) -> String {
    match rate.as_bps() {
        bps if bps % 1000 == 0 => format!("{}kbit", bps / 1000),
        bps => format!("{bps}bit"),
    }
}

/// A cap of each connection's pacing rate, without commands. `rate` is the payload rate; `None` if the
/// connections have different rates.
pub fn pacing_cap(rate: Option<Rate>) -> Change {
    let change = Change::new(ChangeKind::PacingCap, ChangePlace::Sender, "");
    match rate {
        Some(rate) => change.set(None, rate.as_mbps(), ChangeUnit::Mbps),
        None => change,
    }
}

/// The commands by which a program on `host` caps the pacing rate of its connections, and the one that caps
/// those of a program that runs.
pub fn pacing_cap_in_program(host: &str, rate: Rate) -> [CommandSet; 3] {
    let call = format!(
        "unsigned int rate = {};  /* bytes a second */\n\
         setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);",
        rate.as_bps() / 8
    );
    [
        in_program(host, "Linux 4.13; with the fq queueing discipline Linux 3.13", &call, "remove the call"),
        in_program(
            host,
            "iperf3, which has an option for it",
            &format!("iperf3 -c HOST --fq-rate {}", rate.as_bps()),
            "remove --fq-rate",
        ),
        on_trial(host, "", &format!("--pacing {rate}")),
    ]
}

/// The command that caps every connection that leaves `host` by an interface: `maxrate` applies to a flow
/// (tc-fq(8)).
pub fn pacing_cap_at_interface(host: &str, rate: Rate) -> CommandSet {
    let needs = "Linux 3.13 with sch_fq; it caps each connection that leaves by the interface, whatever its destination";
    LinuxSetting::qdisc(format!("fq maxrate {}", tc_rate(rate))).at(host, needs)
}

/// Another congestion control, without commands.
pub fn congestion_control(name: &str) -> Change {
    control_setting(name, None).change().named(name)
}

/// The commands that select a congestion control on `host`: for all its connections, for those to one peer
/// (its name, and whether its address is IPv6), in the program, for its running connections, and permanently.
/// `now` is the host's present setting, if it was read.
pub fn congestion_control_commands(
    host: &str,
    name: &str,
    now: Option<&str>,
    peer: Option<(&str, bool)>,
) -> Vec<CommandSet> {
    let needs = match name {
        "bbr" => "Linux 4.9 with tcp_bbr; before 4.13 also the fq queueing discipline",
        "bbr3" => "a kernel with BBR v3, where it is called bbr; no released Linux has it",
        _ => "Linux 2.6.13",
    };
    let setting = control_setting(name, now);
    let mut all = vec![setting.at(host, needs)];
    if let Some((peer, v6)) = peer {
        let route = LinuxSetting::Route { name: "congctl", to: kernel_name(name).into(), v6 };
        let needs = format!("{needs}; iproute2 4.0; only for connections to {peer}");
        all.push(route.at(host, &needs).towards(peer));
    }
    let kernel = kernel_name(name);
    let call = format!("setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{kernel}\", {});", kernel.len());
    all.push(in_program(host, needs, &call, "remove the call"));
    let module = match name {
        "bbr" => " with tcp_bbr",
        "bbr3" => " with BBR v3",
        _ => "",
    };
    all.push(on_trial(host, module, &format!("--cc {kernel}")));
    let needs = format!("{needs}; systemd-sysctl; running containers keep their setting");
    all.extend(setting.file(host, &needs));
    all
}

/// Smaller segments, for a path whose MTU is below that of the hosts and that sends no ICMP message, with
/// commands for `from` alone. `mss` as `TCP_MAXSEG` counts it, bytes.
pub fn small_segments(from: &str, to: &str, mss: u32, v6: bool) -> Change {
    let call = format!(
        "int mss = {mss};  /* before connect */\nsetsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss);"
    );
    let mtu = LinuxSetting::Route { name: "advmss", to: mss.to_string(), v6 };
    let needs = format!("iproute2; for connections with {to} in both directions");
    Change::new(ChangeKind::MssClamp, ChangePlace::Path, "")
        .set(None, mss.into(), ChangeUnit::Bytes)
        .by([in_program(from, "Linux 2.6", &call, "remove the call"), mtu.at(from, &needs).towards(to)])
}

/// `count` connections instead of each one, with commands for a program at either end.
pub fn more_connections(from: &str, to: &str, count: u32) -> Change {
    let change = Change::new(ChangeKind::MoreConnections, ChangePlace::Sender, "");
    change.set(Some(1.0), count.into(), ChangeUnit::Times).by([
        in_program(
            from,
            "where the sender opens the connections: a program that can, such as rclone or iperf3 -P",
            &format!("rclone copy FILE REMOTE: --multi-thread-streams {count} --multi-thread-cutoff 0"),
            "rclone copy FILE REMOTE: --multi-thread-streams 1",
        ),
        in_program(
            to,
            "where the receiver fetches: a program that can, such as aria2c or lftp pget -n",
            &format!("aria2c -x {count} -s {count} URL"),
            "aria2c -x 1 URL",
        ),
    ])
}

fn in_program(host: &str, needs: &str, apply: &str, undo: &str) -> CommandSet {
    CommandSet::on(Platform::Application, host, needs, lines(apply), lines(undo))
}

/// The command that tries a change on the connections of a program that runs. `module` follows "Linux 5.16".
fn on_trial(host: &str, module: &str, change: &str) -> CommandSet {
    let needs =
        format!("to try it on connections that run: of process PID, or docker:NAME; Linux 5.16{module}");
    let apply = format!("longfat apply pid:$PID {change} --for 10min");
    CommandSet::on(Platform::Longfat, host, &needs, lines(&apply), lines("# it undoes itself at its end"))
}

/// The sysctl of the congestion control. `now` is its present value, if it was read.
pub fn control_setting(name: &str, now: Option<&str>) -> LinuxSetting {
    LinuxSetting::Sysctl {
        name: "net.ipv4.tcp_congestion_control".into(),
        from: now.map(String::from),
        to: kernel_name(name).into(),
    }
}

/// BBR v3 is called `bbr` in kernels that have it.
fn kernel_name(name: &str) -> &str {
    if name == "bbr3" { "bbr" } else { name }
}

#[test]
fn a_known_congestion_control_is_restored_by_the_undo() {
    let all = congestion_control_commands("a", "bbr", Some("reno"), Some(("b", false)));
    assert_eq!(all[0].undo, ["sysctl -w net.ipv4.tcp_congestion_control=reno"]);
    assert_eq!(all.len(), 5, "for all, to one peer, in the program, on trial, permanently");
    assert_eq!(all[3].apply, ["longfat apply pid:$PID --cc bbr --for 10min"]);
    assert_eq!(congestion_control("bbr3").name.as_deref(), Some("bbr3"));
}
