//! One vocabulary of changes: for a fault that `diagnose`, `plan` and `check` know, all three advise the same
//! kind of change in the same place under the same name, with the same number and, where they print commands,
//! the same commands.

use advise::{CURES, Situation};
use audit::{CheckedPath, DeviceFacts, HostFacts, NamespaceFacts, judge};
use diagnosis::cause::{AffectedFlows, remedies};
use result::change::{Change, ChangeKind, ChangePlace};
use result::diagnosis::{FlowDiagnosis, Limiter, LimiterKind, Measures};
use result::{Cause, Platform, RttSummary};
use scenario::Experiment;
use units::{Bytes, Rate, Span};

/// Changes a host so that it has a fault.
type HostFault = fn(&mut NamespaceFacts);

/// A fault as it appears to each of the three commands.
struct Fault {
    name: &'static str,
    /// The flow that `diagnose` sees.
    flow: FlowDiagnosis,
    limiter: Option<Limiter>,
    /// The stages that `plan` sees after the first router.
    forward: &'static str,
    /// The path that `check` is given, and the change of a host with the kernel's defaults; `None` where no
    /// rule knows the fault.
    checked: Option<(CheckedPath, HostFault)>,
    /// The changes that all commands advise that know the fault.
    shared: &'static [(ChangeKind, ChangePlace, &'static str)],
}

/// Kinds of changes that `diagnose` advises but no scenario can try: another party's link, rate or filter.
const NOT_TRIED: [ChangeKind; 4] =
    [ChangeKind::HigherRate, ChangeKind::RepairLink, ChangeKind::AllowIcmp, ChangeKind::Ecn];

fn flow(cause: Cause) -> FlowDiagnosis {
    let rtt = RttSummary { min: 30.0, p50: 31.0, p95: 35.0, ..RttSummary::default() };
    let measures = Measures {
        goodput_mbps: 4.0,
        mss_bytes: 1448,
        bytes: 15_000_000,
        data_packets: 10_000,
        rtt_ms: rtt,
        bdp_bytes: 75_000,
        max_inflight_bytes: 100_000,
        ..Measures::default()
    };
    let (from, to) = ("10.0.0.1:5001".into(), "10.0.0.2:5001".into());
    FlowDiagnosis { cause, confidence: 1.0, from, to, measures, ..FlowDiagnosis::default() }
}

fn path(mbps: u64, burst: Option<u64>) -> CheckedPath {
    let rate = Rate::from_bps(mbps * 1_000_000);
    CheckedPath::new(rate, Span::from_millis(30), burst.map(Bytes::new), None, 0.0).unwrap()
}

fn limiter(kind: LimiterKind) -> Limiter {
    Limiter { kind, rate_mbps: 20.0, ..Limiter::default() }
}

fn faults() -> Vec<Fault> {
    use ChangeKind::*;
    use ChangePlace::{BothEnds, Path, Receiver, Sender};
    const FAST: &str = r#"{ kind = "link", rate = "1Gbit/s", delay = "15ms" }"#;
    let window = {
        let mut f = flow(Cause::ReceiveWindow);
        f.measures.max_window_bytes = Some(3_145_728);
        f
    };
    let unscaled = {
        let mut f = flow(Cause::ReceiveWindow);
        (f.measures.max_window_bytes, f.measures.window_scaling) = (Some(65_535), Some(false));
        f
    };
    let hole = {
        let mut f = flow(Cause::BlackHole);
        f.measures.path_mtu_bytes = Some(1440);
        f
    };
    let bloated = Limiter { queue_ms: Some(300.0), ..limiter(LimiterKind::Bottleneck) };
    let short = Limiter { queue_bytes: Some(15_000.0), ..limiter(LimiterKind::Bottleneck) };
    vec![
        Fault {
            name: "a policer met by CUBIC",
            flow: flow(Cause::Policed),
            limiter: Some(limiter(LimiterKind::Policer)),
            forward: r#"{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "15ms" }"#,
            checked: Some((path(20, Some(9000)), |_| {})),
            shared: &[(CongestionControl, Sender, "bbr")],
        },
        Fault {
            name: "a receive window",
            flow: window,
            limiter: None,
            forward: FAST,
            checked: Some((path(1000, None), |_| {})),
            shared: &[(ReceiveBuffer, Receiver, "tcp_rmem")],
        },
        Fault {
            name: "a window without scaling",
            flow: unscaled,
            limiter: None,
            forward: "",
            checked: Some((path(20, None), |ns| ns.settings.set("net.ipv4.tcp_window_scaling", "0"))),
            shared: &[(WindowScaling, BothEnds, "tcp_window_scaling")],
        },
        Fault {
            name: "a send buffer",
            flow: flow(Cause::SendBuffer),
            limiter: None,
            forward: FAST,
            checked: Some((path(1000, None), |_| {})),
            shared: &[(SendBuffer, Sender, "tcp_wmem")],
        },
        Fault {
            name: "an MTU black hole",
            flow: hole,
            limiter: None,
            forward: r#"{ kind = "tunnel", overhead = 60, mtu = 1500, icmp = false }, { kind = "tunnel-end" }"#,
            checked: Some((path(20, None), |ns| {
                let tunnel =
                    DeviceFacts { name: "wg0".into(), kind: "wireguard".into(), mtu: 1440, ..link() };
                ns.devices.push(tunnel);
                ns.clamps_mss = Some(false);
                ns.settings.set("net.ipv4.ip_forward", "1");
            })),
            shared: &[(MssClamp, Path, ""), (MtuProbing, Sender, "tcp_mtu_probing")],
        },
        Fault {
            name: "a long queue",
            flow: flow(Cause::Bottleneck),
            limiter: Some(bloated),
            forward: r#"{ kind = "link", rate = "20Mbit/s", delay = "15ms", queue = { kind = "fifo", packets = 500 } }"#,
            checked: None,
            shared: &[(QueueManagement, ChangePlace::Limiter, "fq_codel")],
        },
        Fault {
            name: "a short queue",
            flow: flow(Cause::Congestion),
            limiter: Some(short),
            forward: r#"{ kind = "link", rate = "20Mbit/s", delay = "15ms", queue = { kind = "fifo", packets = 10 } }"#,
            checked: None,
            shared: &[(QueueLength, ChangePlace::Limiter, ""), (CongestionControl, Sender, "bbr")],
        },
        Fault {
            name: "random loss",
            flow: flow(Cause::RandomLoss),
            limiter: None,
            forward: r#"{ kind = "loss", probability = 0.01 }, { kind = "link", rate = "20Mbit/s", delay = "15ms" }"#,
            checked: Some((path(20, None), |_| {})),
            shared: &[(CongestionControl, Sender, "bbr")],
        },
    ]
}

fn link() -> DeviceFacts {
    DeviceFacts {
        name: "eth0".into(),
        mtu: 1500,
        up: true,
        qdisc: "pfifo_fast".into(),
        gso_max_segs: Some(65_535),
        ..DeviceFacts::default()
    }
}

/// Returns a host with the kernel's defaults.
fn host() -> NamespaceFacts {
    let mut ns = NamespaceFacts {
        name: "host".into(),
        initial: true,
        enter: Some(String::new()),
        devices: vec![link()],
        ..NamespaceFacts::default()
    };
    for (name, value) in [
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic bbr"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_mtu_probing", "0"),
    ] {
        ns.settings.set(name, value);
    }
    ns
}

fn diagnosed(fault: &Fault) -> Vec<Change> {
    remedies(&AffectedFlows { flows: &[&fault.flow], limiter: fault.limiter.as_ref() })
}

fn planned(fault: &Fault) -> Vec<Change> {
    if fault.forward.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "[links.lan]\nbetween = [\"client\", \"router\"]\nforward = [{{ kind = \"link\", rate = \"1Gbit/s\" }}]\n\
         [links.wan]\nbetween = [\"router\", \"server\"]\nforward = [{}]\nbackward = [{{ kind = \"delay\", delay = \"15ms\" }}]\n\
         [flows.f]\nfrom = \"client\"\nto = \"server\"\n",
        fault.forward
    );
    let s =
        Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}")).variants.remove(0).scenario;
    let situation = Situation::new(std::slice::from_ref(&s));
    CURES.iter().flat_map(|c| c.options(&situation)).flat_map(|o| o.remedies).collect()
}

fn checked(fault: &Fault) -> Vec<Change> {
    let Some((path, change)) = &fault.checked else { return Vec::new() };
    let mut ns = host();
    change(&mut ns);
    let facts = HostFacts { namespaces: vec![ns], ..HostFacts::default() };
    judge(&facts, Some(path)).into_iter().flat_map(|f| f.remedies).collect()
}

fn same<'a>(among: &'a [Change], wanted: &Change) -> Vec<&'a Change> {
    among.iter().filter(|c| (c.kind, c.place, &c.name) == (wanted.kind, wanted.place, &wanted.name)).collect()
}

#[test]
fn diagnose_plan_and_check_advise_the_same_change() {
    for fault in faults() {
        let [diagnosed, planned, checked] = [diagnosed(&fault), planned(&fault), checked(&fault)];
        for &(kind, place, name) in fault.shared {
            let name = Some(name.to_string()).filter(|n| !n.is_empty());
            let wanted = Change { name, ..Change::new(kind, place, "") };
            for (part, all, knows) in [
                ("diagnose", &diagnosed, true),
                ("plan", &planned, !fault.forward.is_empty()),
                ("check", &checked, fault.checked.is_some()),
            ] {
                assert!(
                    !knows || !same(all, &wanted).is_empty(),
                    "{}: {part}: {kind:?}: {all:#?}",
                    fault.name
                );
            }
        }
        if planned.is_empty() {
            continue;
        }
        // The simulator tries every change that a capture or a host's settings lead to.
        let tried = diagnosed.iter().filter(|c| !NOT_TRIED.contains(&c.kind)).chain(&checked);
        for change in tried {
            let of_kind: Vec<_> = planned.iter().filter(|c| c.kind == change.kind).collect();
            let control =
                change.kind == ChangeKind::CongestionControl && change.name.as_deref() == Some("reno");
            assert!(
                control || !same(&planned, change).is_empty(),
                "{}: {change:#?} is not among {of_kind:#?}",
                fault.name
            );
        }
        assert!(planned.iter().all(|c| !NOT_TRIED.contains(&c.kind)), "{}", fault.name);
    }
}

/// Numbers that all of them compute: a shaper's rate, an MSS clamp, a buffer size.
#[test]
fn diagnose_plan_and_check_compute_the_same_numbers() {
    let to = |all: &[Change], kind, place| -> Vec<f64> {
        let of_kind = all.iter().filter(|c| (c.kind, c.place) == (kind, place));
        let mut all: Vec<f64> = of_kind.filter_map(|c| c.setting).map(|s| s.to).collect();
        all.dedup();
        all
    };
    let all = faults();
    let fault_named = |name: &str| all.iter().find(|f| f.name == name).unwrap();
    let policed = fault_named("a policer met by CUBIC");
    let shape = (ChangeKind::Shape, ChangePlace::SenderEdge);
    assert_eq!(to(&diagnosed(policed), shape.0, shape.1), [19.6]);
    assert_eq!(to(&planned(policed), shape.0, shape.1), [19.6]);
    let hole = fault_named("an MTU black hole");
    let clamp = (ChangeKind::MssClamp, ChangePlace::Path);
    assert_eq!(to(&diagnosed(hole), clamp.0, clamp.1), [1400.0]);
    assert_eq!(to(&planned(hole), clamp.0, clamp.1), [1400.0]);
    for (name, kind, place) in [
        ("a receive window", ChangeKind::ReceiveBuffer, ChangePlace::Receiver),
        ("a send buffer", ChangeKind::SendBuffer, ChangePlace::Sender),
    ] {
        let fault = fault_named(name);
        let planned = to(&planned(fault), kind, place);
        assert_eq!(planned.len(), 1, "{name}: {planned:?}");
        assert_eq!(to(&checked(fault), kind, place), planned, "{name}");
    }
}

/// Where `plan` and `check` print commands for the same change, these differ only in the device and in what
/// is known of it. Only `check`, which has read the current value, can restore it.
#[test]
fn plan_and_check_print_the_same_commands() {
    let mut compared = 0;
    for fault in faults() {
        let planned = planned(&fault);
        for change in checked(&fault) {
            let [own] = &change.commands[..] else { panic!("{}: {change:?}", fault.name) };
            assert!(own.undo.iter().all(|line| !line.starts_with('#')), "{own:?}");
            let linux = same(&planned, &change).into_iter().filter_map(|c| {
                c.commands.iter().find(|set| set.platform == Platform::Linux && set.at != "server")
            });
            for set in linux.filter(|_| change.kind != ChangeKind::MssClamp) {
                let theirs = set.apply[0].replace("$DEV", "eth0");
                let prefix = |line: &str| line.split(['=', '"']).next().unwrap_or_default().replace('\'', "");
                assert_eq!(prefix(&theirs), prefix(&own.apply[0]), "{}", fault.name);
                let value =
                    |line: &str| line.rsplit([' ', '=']).next().unwrap_or_default().replace(['\'', '"'], "");
                assert_eq!(value(&theirs), value(&own.apply[0]), "{}", fault.name);
                assert!(set.undo[0].starts_with("# previous "), "{set:?}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 6, "{compared}");
}
