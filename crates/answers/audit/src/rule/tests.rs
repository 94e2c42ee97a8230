//! Tests each rule on a namespace where it must find something, and all rules on clean ones.

use super::*;
use crate::facts::{NamespaceFacts, ShaperFacts, TcpMemory};
use crate::finding::FindingLevel::{self, Note, Problem};
use crate::fixtures::{clean, device, host, socket};
use result::command::HtbClass;
use units::{Bytes, Rate, Span};

fn path(mbps: u64, ms: u64, burst: Option<u64>) -> CheckedPath {
    CheckedPath::new(
        Rate::from_bps(mbps * 1_000_000),
        Span::from_millis(ms),
        burst.map(Bytes::new),
        None,
        0.0,
    )
    .unwrap()
}

/// Returns the rules that have findings about `web`, a changed namespace next to a clean host.
fn findings_for(
    path: Option<&CheckedPath>,
    change: impl Fn(&mut NamespaceFacts),
) -> Vec<(String, FindingLevel)> {
    let mut web = clean("web");
    change(&mut web);
    let facts = host(vec![clean("host"), web]);
    let of_web = judge(&facts, path).into_iter().filter(|f| f.namespaces.iter().any(|n| n == "web"));
    of_web.map(|f| (f.rule, f.level)).collect()
}

fn set(name: &'static str, value: &'static str) -> impl Fn(&mut NamespaceFacts) {
    move |ns| ns.settings.set(name, value)
}

fn expected(rule: &str, level: FindingLevel) -> Vec<(String, FindingLevel)> {
    vec![(rule.into(), level)]
}

#[test]
fn a_clean_host_has_no_findings_without_a_path() {
    let facts = host(vec![clean("host"), clean("web"), clean("db")]);
    assert_eq!(judge(&facts, None), []);
}

#[test]
fn every_rule_has_a_unique_name_and_a_source() {
    let names: std::collections::BTreeSet<_> = RULES.iter().map(|r| r.name).collect();
    assert_eq!(names.len(), RULES.len());
    assert!(RULES.iter().all(|r| !r.source.is_empty() && !r.looks_for.ends_with('.')));
}

#[test]
fn wrong_settings_are_found_without_a_path() {
    for (name, value, rule, level) in [
        ("net.ipv4.tcp_congestion_control", "reno", "older-than-default", Problem),
        ("net.ipv4.tcp_rmem", "4096 16384 262144", "buffers-below-host", Problem),
        ("net.ipv4.tcp_wmem", "4096 16384 262144", "buffers-below-host", Problem),
        ("net.ipv4.tcp_moderate_rcvbuf", "0", "receive-autotuning", Problem),
        ("net.ipv4.tcp_window_scaling", "0", "window-scaling", Problem),
        ("net.ipv4.tcp_sack", "0", "sack", Problem),
        ("net.ipv4.tcp_timestamps", "0", "timestamps", Note),
        ("net.ipv4.tcp_early_retrans", "0", "tail-loss-probe", Problem),
        ("net.ipv4.tcp_no_ssthresh_metrics_save", "0", "metrics-save", Problem),
    ] {
        assert_eq!(findings_for(None, set(name, value)), expected(rule, level), "{name}");
    }
    // Half the host's size is enough. Saving no metrics at all includes the threshold.
    assert_eq!(findings_for(None, set("net.ipv4.tcp_rmem", "4096 131072 3145728")), []);
    let neither = |ns: &mut NamespaceFacts| {
        ns.settings.set("net.ipv4.tcp_no_ssthresh_metrics_save", "0");
        ns.settings.set("net.ipv4.tcp_no_metrics_save", "1");
    };
    assert_eq!(findings_for(None, neither), []);
}

#[test]
fn settings_that_only_the_host_has_are_reported_once() {
    let mut own = clean("host");
    own.settings.set("net.ipv4.tcp_slow_start_after_idle", "0");
    own.settings.set("net.ipv4.tcp_mtu_probing", "1");
    let mut set_too = clean("db");
    set_too.settings.set("net.ipv4.tcp_slow_start_after_idle", "0");
    set_too.settings.set("net.ipv4.tcp_mtu_probing", "2");
    let facts = host(vec![own, clean("web"), clean("app"), set_too]);
    let found = judge(&facts, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].rule.as_str(), found[0].namespaces.join(" ")),
        ("settings-not-inherited", "web app".into())
    );
    assert_eq!(found[0].commands().len(), 4);
    // The commands stay the same in the report.
    let report = crate::report::report(&facts, None, found.clone());
    assert_eq!(report.findings[0].commands(), found[0].commands());
    assert!(
        found[0].seen.contains("tcp_slow_start_after_idle = 0, net.ipv4.tcp_mtu_probing = 1"),
        "{}",
        found[0].seen
    );
}

#[test]
fn without_the_hosts_namespace_nothing_is_compared() {
    let mut web = clean("web");
    web.settings.set("net.ipv4.tcp_congestion_control", "reno");
    assert_eq!(judge(&host(vec![web]), None), []);
}

#[test]
fn buffers_are_compared_with_the_bandwidth_delay_product() {
    // For 125 kB in flight every buffer is large enough, for 50 MB none is.
    let rules =
        |p: &CheckedPath| findings_for(Some(p), |_| ()).into_iter().map(|(r, _)| r).collect::<Vec<_>>();
    let small = rules(&path(10, 100, None));
    assert!(!small.iter().any(|r| r.ends_with("-buffer")), "{small:?}");
    let large = rules(&path(4000, 100, None));
    assert!(large.contains(&"receive-buffer".into()) && large.contains(&"send-buffer".into()), "{large:?}");
    // A namespace without links has no path.
    assert_eq!(findings_for(Some(&path(4000, 100, None)), |ns| ns.devices.truncate(1)), []);
    let cap = judge(&host(vec![clean("host"), clean("web")]), Some(&path(4000, 100, None)));
    let cap: Vec<_> = cap.iter().filter(|f| f.rule == "socket-buffer-cap").collect();
    let seen: Vec<&str> = cap.iter().filter_map(|f| f.seen.split(' ').next()).collect();
    assert_eq!(seen, ["net.core.rmem_max", "net.core.wmem_max"]);
    assert!(cap.iter().all(|f| f.namespaces == ["host"]));
}

#[test]
fn an_unpaced_sender_before_a_policer_is_found() {
    let policed = path(33, 137, Some(9600));
    let rules = |change: &dyn Fn(&mut NamespaceFacts), path: &CheckedPath| {
        let all = findings_for(Some(path), change);
        all.iter().any(|(r, _)| r == "unpaced-at-policer")
    };
    assert!(rules(&|_| (), &policed));
    assert!(!rules(&|_| (), &path(33, 137, None)));
    assert!(!rules(&|ns| ns.devices[1].qdisc = "fq".into(), &policed));
    assert!(!rules(&set("net.ipv4.tcp_congestion_control", "bbr"), &policed));
}

#[test]
fn unpaced_connections_under_a_pacing_default_are_found() {
    let mut own = clean("host");
    own.settings.set("net.ipv4.tcp_congestion_control", "bbr");
    own.sockets = vec![socket("cubic"), socket("cubic"), socket("bbr")];
    let found = judge(&host(vec![own.clone()]), None);
    assert_eq!((found.len(), found[0].rule.as_str(), found[0].level), (1, "leftover-pacing", Note));
    assert!(found[0].seen.starts_with("2 with cubic"), "{}", found[0].seen);
    own.sockets[0].capped_rate = Some(1);
    own.sockets[1].listens = true;
    assert_eq!(judge(&host(vec![own]), None), []);
}

#[test]
fn a_router_with_a_tunnel_needs_mtu_probing_and_an_mss_clamp() {
    let tunnel = |ns: &mut NamespaceFacts| ns.devices.push(device("wg0", "wireguard", 1420));
    assert_eq!(findings_for(None, tunnel), expected("mtu-probing", Note));
    let probes = |ns: &mut NamespaceFacts| {
        tunnel(ns);
        ns.settings.set("net.ipv4.tcp_mtu_probing", "1");
    };
    assert_eq!(findings_for(None, probes), []);
    let forwards = |clamps: Option<bool>| {
        move |ns: &mut NamespaceFacts| {
            probes(ns);
            ns.settings.set("net.ipv4.ip_forward", "1");
            ns.clamps_mss = clamps;
        }
    };
    assert_eq!(findings_for(None, forwards(Some(false))), expected("mss-clamp", Problem));
    assert_eq!(findings_for(None, forwards(Some(true))), []);
    assert_eq!(findings_for(None, forwards(None)), []);
}

#[test]
fn full_accept_queues_are_found() {
    let listener = |queue, limit| {
        move |ns: &mut NamespaceFacts| {
            let mut s = socket("cubic");
            (s.listens, s.accept_queue, s.accept_limit) = (true, queue, limit);
            ns.sockets.push(s);
        }
    };
    assert_eq!(findings_for(None, listener(129, 128)), expected("accept-queue", Problem));
    assert_eq!(findings_for(None, listener(3, 128)), []);
    assert_eq!(findings_for(None, |ns| ns.listen_overflows = Some(9)), expected("accept-queue", Note));
}

#[test]
fn disabled_offloads_and_small_tbf_buckets_are_found() {
    assert_eq!(findings_for(None, |ns| ns.devices[1].gso = Some(false)), expected("offloads", Note));
    assert_eq!(
        findings_for(None, |ns| (ns.devices[1].gro, ns.devices[1].kind) = (Some(false), "veth".into())),
        []
    );
    let tbf = |burst| {
        move |ns: &mut NamespaceFacts| {
            let shaper =
                ShaperFacts { bytes_per_second: 1_000_000, burst_bytes: burst, limit_bytes: 100_000 };
            ns.devices[1].shaper = Some(shaper);
        }
    };
    assert_eq!(findings_for(None, tbf(1000)), expected("local-shaper", Problem));
    assert_eq!(findings_for(None, tbf(10_000)), []);
}

#[test]
fn findings_about_the_whole_host_are_reported_once() {
    let mut facts = host(vec![clean("host"), clean("web")]);
    facts.backlog_drops = Some(7);
    let memory = |used| TcpMemory {
        used_pages: used,
        low_pages: 800,
        pressure_pages: 1000,
        high_pages: 1500,
        page_bytes: 4096,
    };
    for (used, level) in [(1000, Some(Problem)), (850, Some(Note)), (100, None)] {
        facts.tcp_memory = Some(memory(used));
        let found = judge(&facts, None);
        let found_by = |rule: &str| found.iter().filter(|f| f.rule == rule).collect::<Vec<_>>();
        assert_eq!(found_by("tcp-memory").first().map(|f| f.level), level);
        assert_eq!((found_by("backlog").len(), found_by("backlog")[0].namespaces.len()), (1, 0));
    }
    facts.backlog_drops = None;
    assert_eq!(judge(&facts, None), []);
    // Two windows of 4 MB exceed the mark of 4.1 MB.
    let found = judge(&facts, Some(&path(300, 100, None)));
    assert!(found.iter().any(|f| f.rule == "tcp-memory" && f.level == Problem));
}

#[test]
fn other_congestion_controls_and_restarts_after_idle_are_simulated() {
    let found = judge(&host(vec![clean("host")]), Some(&path(20, 50, None)));
    let proposed: Vec<_> = found.iter().filter(|f| f.rule == "control-for-path").collect();
    assert_eq!(proposed.len(), 2, "reno and bbr: {proposed:?}");
    assert!(
        proposed
            .iter()
            .all(|f| f.proposal.as_ref().is_some_and(|p| p.alternatives && p.min_gain == Some(1.1)))
    );
    assert_eq!(found.iter().filter(|f| f.rule == "slow-start-after-idle").count(), 1);
}

/// Returns a class of 100 Mbit/s.
fn class(burst_bytes: u64, cburst_bytes: u64) -> HtbClass {
    HtbClass {
        name: "1:10".into(),
        parent: "1:1".into(),
        bytes_per_second: 12_500_000,
        ceil_bytes_per_second: 12_500_000,
        burst_bytes,
        cburst_bytes,
        ..HtbClass::default()
    }
}

#[test]
fn htb_buckets_that_are_too_small_or_too_large_are_found() {
    let has =
        |burst, cburst| move |ns: &mut NamespaceFacts| ns.devices[1].classes = vec![class(burst, cburst)];
    // The default of tc with a high-resolution timer: one packet.
    assert_eq!(findings_for(None, has(1600, 1600)), expected("htb-burst", Note));
    assert_eq!(findings_for(None, has(65_536, 65_536)), []);
    assert_eq!(findings_for(None, has(65_536, 12_500_000)), expected("htb-burst", Note));
    let cable = path(100, 20, None);
    let on_path = |burst, cburst| {
        let all = findings_for(Some(&cable), has(burst, cburst)).into_iter();
        all.filter(|(rule, _)| *rule == "htb-burst").collect::<Vec<_>>()
    };
    assert_eq!(on_path(65_536, 12_500_000), expected("htb-burst", Problem));
    assert_eq!(on_path(65_536, 65_536), []);
    // A bucket of half a second of a slow class is smaller than a TSO burst.
    let slow = |ns: &mut NamespaceFacts| {
        let rates = HtbClass { bytes_per_second: 10_000, ceil_bytes_per_second: 10_000, ..class(9000, 9000) };
        ns.devices[1].classes = vec![rates];
    };
    assert_eq!(findings_for(None, slow), []);
}

#[test]
fn bursts_that_exceed_a_policers_bucket_are_found() {
    let rule = "burst-at-policer";
    let speaks = |path: &CheckedPath, change: &dyn Fn(&mut NamespaceFacts)| {
        findings_for(Some(path), change).iter().any(|(r, _)| r == rule)
    };
    // 2 * 100 Mbit/s for 1/1024 s: 24.4 kB.
    assert!(speaks(&path(100, 40, Some(20_000)), &|_| {}));
    assert!(!speaks(&path(100, 40, Some(30_000)), &|_| {}));
    assert!(!speaks(&path(100, 40, None), &|_| {}));
    assert!(!speaks(&path(100, 40, Some(20_000)), &|ns| ns.devices[1].gso_max_segs = Some(1)));
    // TBF splits bursts that exceed its bucket and passes smaller ones on.
    let tbf = |ns: &mut NamespaceFacts, burst_bytes: u64| {
        let shaper =
            crate::facts::ShaperFacts { bytes_per_second: 12_000_000, burst_bytes, limit_bytes: 600_000 };
        ns.devices[1].shaper = Some(shaper);
    };
    assert!(!speaks(&path(100, 40, Some(20_000)), &|ns| tbf(ns, 10_000)));
    assert!(speaks(&path(100, 40, Some(20_000)), &|ns| tbf(ns, 40_000)));
    assert!(!speaks(&path(100, 40, Some(20_000)), &|ns| (ns.devices[1].tso, ns.devices[1].gso) =
        (Some(false), Some(false))));
}
