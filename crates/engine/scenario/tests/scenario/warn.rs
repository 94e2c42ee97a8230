//! Every warning: a scenario that causes it, and similar ones that do not.

use scenario::Experiment;
use std::fs;
use std::path::Path;

const PATH: &str = r#"
duration = "10s"
[hosts.a]
[links.wan]
between = ["a", "b"]
forward = [
    { kind = "policer", rate = "20Mbit/s", burst = "30kB" },
    { kind = "link", rate = "100Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 100 } },
]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.up]
from = "a"
to = "b"
"#;

/// The warnings of [`PATH`] with these overrides and with `more` appended to the file.
fn warnings(sets: &[&str], more: &str) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let read = Experiment::parse("t.toml", &format!("{PATH}{more}"), &sets);
    read.unwrap_or_else(|e| panic!("{}", e.render())).warnings()
}

/// Checks that `sets` cause exactly this warning, and that none of `innocent` causes any.
fn expect_warning(key: &str, text: &str, sets: &[&str], innocent: &[&[&str]]) {
    let found = warnings(sets, "");
    assert_eq!(found.len(), 1, "{sets:?}: {found:?}");
    assert!(found[0].starts_with(&format!("{key}: ")) && found[0].contains(text), "{}", found[0]);
    for sets in innocent {
        assert_eq!(warnings(sets, ""), [""; 0], "{sets:?}");
    }
}

#[test]
fn usual_settings_cause_no_warning() {
    assert_eq!(warnings(&[], ""), [""; 0]);
}

#[test]
fn a_bucket_smaller_than_a_packet_is_reported() {
    let burst = "links.wan.forward.policer.burst";
    let set = |value: &str| format!("{burst}={value}");
    expect_warning(
        burst,
        "a bucket of 1kB never passes a packet of 1500 B",
        &[&set("1000B")],
        &[&[&set("1500B")]],
    );
    // No warning: the packets are smaller, or packets that exceed the bucket are not dropped.
    assert_eq!(warnings(&[&set("1000B"), "hosts.a.stack.mss=900"], ""), [""; 0]);
    assert_eq!(warnings(&[&set("1000B"), "links.wan.forward.policer.red={ dscp = 1 }"], ""), [""; 0]);
    let shaper = |keys: &str| {
        format!(
            "links.wan.forward.policer={{ kind = \"shaper\", rate = \"20Mbit/s\", queue = {{ kind = \"fifo\", packets = 50 }}, {keys} }}"
        )
    };
    let peak = shaper("burst = \"30kB\", peak_rate = \"30Mbit/s\", peak_burst = \"1400B\"");
    expect_warning(
        "links.wan.forward.policer.peak_burst",
        "1400B",
        &[&peak],
        &[&[&peak.replace("1400B", "1514B")], &[&shaper("burst = \"3kB\"")]],
    );
    // The tunnel's headers count towards the packet size.
    let tunnel = "links.wan.forward=[{ kind = \"tunnel\", overhead = 60 }, { kind = \"policer\", rate = \"20Mbit/s\", burst = \"1550B\" }, { kind = \"tunnel-end\" }, { kind = \"policer\", name = \"second\", rate = \"20Mbit/s\", burst = \"1550B\" }]";
    expect_warning(
        "links.wan.forward.policer.burst",
        "1560 B",
        &[tunnel],
        &[&[&tunnel.replace("= 60", "= 50")]],
    );
}

#[test]
fn a_bucket_of_seconds_of_the_rate_is_reported() {
    let set = |value: &str| format!("links.wan.forward.policer.burst={value}");
    expect_warning(
        "links.wan.forward.policer.burst",
        "4.0 s at 20Mbit/s",
        &[&set("10MB")],
        &[&[&set("4MB")]],
    );
}

#[test]
fn a_peak_rate_not_above_the_rate_is_reported() {
    let shaper = |peak: &str| {
        format!(
            "links.wan.forward.policer={{ kind = \"shaper\", rate = \"20Mbit/s\", peak_rate = \"{peak}\", latency = \"50ms\" }}"
        )
    };
    expect_warning(
        "links.wan.forward.policer.peak_rate",
        "it is not above `rate`",
        &[&shaper("20Mbit/s")],
        &[&[&shaper("40Mbit/s")]],
    );
}

/// With several buckets a warning names the decisive one.
#[test]
fn a_warning_names_the_decisive_bucket() {
    let stage = |keys: &str| format!("links.wan.forward.policer={{ {keys} }}");
    let key = |name: &str| format!("links.wan.forward.policer.{name}");
    let check = |name: &str, says: &str, keys: &str| expect_warning(&key(name), says, &[&stage(keys)], &[]);
    // Two-rate meters: packets above P are red whatever C holds; packets within P but above C are yellow and
    // pass.
    let two = |more: &str| {
        format!(
            "kind = \"policer\", rate = \"20Mbit/s\", meter = \"trtcm\", peak_rate = \"40Mbit/s\", {more}"
        )
    };
    check("peak_burst", "a bucket of 1kB", &two("burst = \"30kB\", peak_burst = \"1000B\""));
    assert_eq!(warnings(&[&stage(&two("burst = \"1000B\", peak_burst = \"30kB\""))], ""), [""; 0]);
    check("burst", "a bucket of 1kB", &two("burst = \"1000B\", peak_burst = \"30kB\", yellow = \"drop\""));
    check("peak_burst", "4.0 s at 20Mbit/s", &two("burst = \"30kB\", peak_burst = \"10MB\""));
    assert_eq!(
        warnings(&[&stage(&two("burst = \"10MB\", peak_burst = \"30kB\""))], ""),
        [""; 0],
        "P limits the burst"
    );
    // Single-rate meters: a packet passes if it fits into C or else into E.
    let excess = |more: &str| format!("kind = \"policer\", rate = \"20Mbit/s\", meter = \"srtcm\", {more}");
    check("excess_burst", "a bucket of 1200B", &excess("burst = \"1000B\", excess_burst = \"1200B\""));
    check("excess_burst", "4.0 s at 20Mbit/s", &excess("burst = \"30kB\", excess_burst = \"9970kB\""));
    check("burst", "4.0 s at 20Mbit/s", &excess("burst = \"9970kB\", excess_burst = \"30kB\""));
    let shaper = |more: &str| {
        format!("kind = \"shaper\", rate = \"20Mbit/s\", queue = {{ kind = \"fifo\", packets = 50 }}, {more}")
    };
    // A shaper's second bucket holds 1514 B by default.
    let large = "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\", size = 4000 }";
    let peak = stage(&shaper("burst = \"30kB\", peak_rate = \"40Mbit/s\""));
    expect_warning(
        &key("peak_burst"),
        "a bucket of 1514B never passes a packet of 4000 B",
        &[&peak, large],
        &[&[&peak]],
    );
    // Both buckets fill at the same rate: the larger one has no effect.
    let equal = |bursts: &str| shaper(&format!("peak_rate = \"20Mbit/s\", {bursts}"));
    check("peak_rate", "`burst` has no effect", &equal("burst = \"30kB\", peak_burst = \"3000B\""));
    check("peak_rate", "`peak_burst` has no effect", &equal("burst = \"30kB\", peak_burst = \"60kB\""));
}

#[test]
fn queues_that_delay_for_a_second_or_hold_no_packet_are_reported() {
    let queue = |text: &str| format!("links.wan.forward.link.queue={text}");
    let rate = "links.wan.forward.link.rate=10Mbit/s";
    let deep = "{ kind = \"fifo\", packets = 1000 }";
    expect_warning(
        "links.wan.forward.link.queue",
        "1000 packets of 1500 B take 1.2 s at 10Mbit/s",
        &[rate, &queue(deep)],
        &[
            &[&queue(deep)],
            &[rate, &queue("{ kind = \"fq-codel\" }")],
            // The flow does not fill the queue.
            &[rate, &queue(deep), "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\" }"],
            &[rate, &queue(deep), "flows.up.app={ kind = \"bulk\", bytes = \"1MB\" }"],
        ],
    );
    expect_warning(
        "links.wan.forward.link.queue.bytes",
        "1200B cannot hold a packet of 1500 B",
        &[&queue("{ kind = \"fifo\", bytes = \"1200B\" }")],
        &[&[&queue("{ kind = \"fifo\", bytes = \"1500B\" }")]],
    );
}

#[test]
fn a_greedy_flow_without_a_rate_limit_is_reported() {
    let free = "links.wan.forward=[{ kind = \"delay\", delay = \"10ms\" }]";
    expect_warning(
        "flows.up",
        "no rate limit from a to b",
        &[free],
        &[
            &[free, "flows.up.max_pacing_rate=5Mbit/s"],
            &[free, "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\" }"],
            &[free, "flows.up.app={ kind = \"request\", request = \"1kB\", response = \"1kB\" }"],
        ],
    );
}

#[test]
fn runs_without_flows_and_flows_without_time_are_reported() {
    expect_warning("flows", "nothing will be sent", &["flows.up.enabled=false"], &[]);
    expect_warning(
        "duration",
        "99ms is less than 5 round trips of 20ms",
        &["duration=99ms"],
        &[&["duration=100ms"]],
    );
    expect_warning("flows.up.start", "it has 50ms", &["flows.up.start=9950ms"], &[&["flows.up.start=9s"]]);
    expect_warning(
        "flows.up.stagger",
        "the last of them has 10ms",
        &["flows.up.count=4", "flows.up.stagger=3330ms"],
        &[&["flows.up.count=4", "flows.up.stagger=3s"]],
    );
    expect_warning(
        "flows.up.start",
        "it is not measured",
        &["measure=1s..5s", "flows.up.start=5s"],
        &[&["measure=1s..5s", "flows.up.start=4s"]],
    );
}

#[test]
fn a_datagram_rate_above_the_limit_is_reported() {
    let app = |rate: &str| format!("flows.up.app={{ kind = \"udp\", rate = \"{rate}\" }}");
    expect_warning(
        "flows.up.app.rate",
        "24 Mbit/s of datagrams exceed the path's 20Mbit/s",
        &[&app("12Mbit/s"), "flows.up.count=2"],
        &[&[&app("20Mbit/s")]],
    );
}

#[test]
fn stacks_and_relays_that_no_variant_uses_are_reported() {
    let far = "\n[links.far]\nbetween = [\"b\", \"c\"]\n[hosts.b]\nstack = { mss = 1000 }\n[hosts.c]\nstack = { mss = 1000 }\n[relays.r]\nhost = \"b\"\n";
    let found = warnings(&[], far);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("relays.r: no flow uses it"), "{found:?}");
    assert!(found[1].starts_with("hosts.c.stack: no flow starts, ends or is relayed there"), "{found:?}");
    // One variant that uses them is enough.
    let used = format!(
        "{far}[variants.near]\n[variants.far]\n\"flows.up.to\" = \"c\"\n\"flows.up.via\" = [\"r\"]\n"
    );
    assert_eq!(warnings(&[], &used), [""; 0]);
}

#[test]
fn a_copy_of_the_baseline_is_reported_and_warnings_name_their_variants() {
    let more = "[variants.today]\n[variants.same]\n[variants.small]\n\"links.wan.forward.policer.burst\" = \"1kB\"\n";
    let found = warnings(&[], more);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].ends_with("1500 B (in small)"), "{found:?}");
    assert_eq!(found[1], "variants.same: no change: the same as today");
    // A warning that applies to all variants names none.
    assert!(!warnings(&["links.wan.forward.policer.burst=1kB"], more)[0].contains(" (in "));
}

/// The warnings of the examples, whose settings are intended.
const INTENDED_WARNINGS: &[(&str, &[&str])] = &[
    ("call", &["links.line.forward.modem.queue: 850 packets of 1500 B take 1.0 s at 10Mbit/s"]),
    ("policer-or-shaper", &["flows.udp.app.rate: 30 Mbit/s of datagrams exceed the path's 20Mbit/s"]),
    // Hosts of flows that are disabled by default.
    (
        "sdwan-full",
        &[
            "hosts.backbone-vm.stack: no flow starts, ends or is relayed there",
            "hosts.far-pc.stack: no flow starts, ends or is relayed there",
        ],
    ),
];

#[test]
fn examples_cause_no_unintended_warning() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let (name, text) = (path.file_stem().unwrap().to_str().unwrap(), fs::read_to_string(&path).unwrap());
        let mut read_file = |file: &str| fs::read_to_string(folder.join(file)).map_err(|e| e.to_string());
        let found = Experiment::parse_with(name, &text, &[], &mut read_file).unwrap().warnings();
        let meant = INTENDED_WARNINGS.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, list)| list);
        assert_eq!(found.len(), meant.len(), "{name}: {found:#?}");
        for (found, meant) in found.iter().zip(meant) {
            assert!(found.starts_with(meant), "{name}: {found}");
        }
        read += 1;
    }
    assert!(read >= 8, "{read}");
}
