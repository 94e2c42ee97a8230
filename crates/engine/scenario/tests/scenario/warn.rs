//! Warnings: each where it is due, none where it is not.

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

/// The warnings of [`PATH`] with these overrides, and of what stands behind it.
fn warnings(sets: &[&str], more: &str) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let read = Experiment::parse("t.toml", &format!("{PATH}{more}"), &sets);
    read.unwrap_or_else(|e| panic!("{}", e.render())).warnings()
}

/// These overrides bring this one warning; the others none.
fn due(key: &str, text: &str, sets: &[&str], innocent: &[&[&str]]) {
    let told = warnings(sets, "");
    assert_eq!(told.len(), 1, "{sets:?}: {told:?}");
    assert!(told[0].starts_with(&format!("{key}: ")) && told[0].contains(text), "{}", told[0]);
    for sets in innocent {
        assert_eq!(warnings(sets, ""), [""; 0], "{sets:?}");
    }
}

#[test]
fn what_is_as_usual_is_not_warned_of() {
    assert_eq!(warnings(&[], ""), [""; 0]);
}

#[test]
fn buckets_hold_a_packet() {
    let burst = "links.wan.forward.policer.burst";
    let set = |value: &str| format!("{burst}={value}");
    due(burst, "a bucket of 1kB lets no packet of 1500 B pass", &[&set("1000B")], &[&[&set("1500B")]]);
    // Smaller packets fit, and what exceeds may pass.
    assert_eq!(warnings(&[&set("1000B"), "hosts.a.stack.mss=900"], ""), [""; 0]);
    assert_eq!(warnings(&[&set("1000B"), "links.wan.forward.policer.red={ dscp = 1 }"], ""), [""; 0]);
    let shaper = |keys: &str| {
        format!(
            "links.wan.forward.policer={{ kind = \"shaper\", rate = \"20Mbit/s\", queue = {{ kind = \"fifo\", packets = 50 }}, {keys} }}"
        )
    };
    let peak = shaper("burst = \"30kB\", peak_rate = \"30Mbit/s\", peak_burst = \"1400B\"");
    due(
        "links.wan.forward.policer.peak_burst",
        "1400B",
        &[&peak],
        &[&[&peak.replace("1400B", "1514B")], &[&shaper("burst = \"3kB\"")]],
    );
    // A tunnel's headers count.
    let tunnel = "links.wan.forward=[{ kind = \"tunnel\", overhead = 60 }, { kind = \"policer\", rate = \"20Mbit/s\", burst = \"1550B\" }, { kind = \"tunnel-end\" }, { kind = \"policer\", name = \"second\", rate = \"20Mbit/s\", burst = \"1550B\" }]";
    due("links.wan.forward.policer.burst", "1560 B", &[tunnel], &[&[&tunnel.replace("= 60", "= 50")]]);
}

#[test]
fn a_bucket_of_seconds_hardly_polices() {
    let set = |value: &str| format!("links.wan.forward.policer.burst={value}");
    due("links.wan.forward.policer.burst", "4.0 s of 20Mbit/s", &[&set("10MB")], &[&[&set("4MB")]]);
}

#[test]
fn a_peak_is_higher_than_the_rate() {
    let shaper = |peak: &str| {
        format!(
            "links.wan.forward.policer={{ kind = \"shaper\", rate = \"20Mbit/s\", peak_rate = \"{peak}\", latency = \"50ms\" }}"
        )
    };
    due(
        "links.wan.forward.policer.peak_rate",
        "no higher than `rate`",
        &[&shaper("20Mbit/s")],
        &[&[&shaper("40Mbit/s")]],
    );
}

/// Of several buckets a warning names the one that decides.
#[test]
fn the_bucket_that_is_named_is_the_one_that_decides() {
    let stage = |keys: &str| format!("links.wan.forward.policer={{ {keys} }}");
    let key = |name: &str| format!("links.wan.forward.policer.{name}");
    let of = |name: &str, says: &str, keys: &str| due(&key(name), says, &[&stage(keys)], &[]);
    // Two-rate meters: what exceeds P is red, whatever C holds; what P takes and C does not is yellow and passes.
    let two = |more: &str| {
        format!(
            "kind = \"policer\", rate = \"20Mbit/s\", meter = \"trtcm\", peak_rate = \"40Mbit/s\", {more}"
        )
    };
    of("peak_burst", "a bucket of 1kB", &two("burst = \"30kB\", peak_burst = \"1000B\""));
    assert_eq!(warnings(&[&stage(&two("burst = \"1000B\", peak_burst = \"30kB\""))], ""), [""; 0]);
    of("burst", "a bucket of 1kB", &two("burst = \"1000B\", peak_burst = \"30kB\", yellow = \"drop\""));
    of("peak_burst", "4.0 s of 20Mbit/s", &two("burst = \"30kB\", peak_burst = \"10MB\""));
    assert_eq!(
        warnings(&[&stage(&two("burst = \"10MB\", peak_burst = \"30kB\""))], ""),
        [""; 0],
        "P bounds it"
    );
    // One rate, three colours: C passes a packet on, else E does.
    let excess = |more: &str| format!("kind = \"policer\", rate = \"20Mbit/s\", meter = \"srtcm\", {more}");
    of("excess_burst", "a bucket of 1200B", &excess("burst = \"1000B\", excess_burst = \"1200B\""));
    of("excess_burst", "4.0 s of 20Mbit/s", &excess("burst = \"30kB\", excess_burst = \"9970kB\""));
    of("burst", "4.0 s of 20Mbit/s", &excess("burst = \"9970kB\", excess_burst = \"30kB\""));
    let shaper = |more: &str| {
        format!("kind = \"shaper\", rate = \"20Mbit/s\", queue = {{ kind = \"fifo\", packets = 50 }}, {more}")
    };
    // A shaper's second bucket holds 1514 B where nothing else is written.
    let large = "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\", size = 4000 }";
    let peak = stage(&shaper("burst = \"30kB\", peak_rate = \"40Mbit/s\""));
    due(&key("peak_burst"), "a bucket of 1514B lets no packet of 4000 B", &[&peak, large], &[&[&peak]]);
    // Both fill at one rate: the larger of them is the idle one.
    let equal = |bursts: &str| shaper(&format!("peak_rate = \"20Mbit/s\", {bursts}"));
    of("peak_rate", "`burst` never comes to anything", &equal("burst = \"30kB\", peak_burst = \"3000B\""));
    of(
        "peak_rate",
        "`peak_burst` never comes to anything",
        &equal("burst = \"30kB\", peak_burst = \"60kB\""),
    );
}

#[test]
fn queues_are_neither_endless_nor_empty() {
    let queue = |text: &str| format!("links.wan.forward.link.queue={text}");
    let rate = "links.wan.forward.link.rate=10Mbit/s";
    let deep = "{ kind = \"fifo\", packets = 1000 }";
    due(
        "links.wan.forward.link.queue",
        "1000 packets of 1500 B are 1.2 s at 10Mbit/s",
        &[rate, &queue(deep)],
        &[
            &[&queue(deep)],
            &[rate, &queue("{ kind = \"fq-codel\" }")],
            // Nobody fills it.
            &[rate, &queue(deep), "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\" }"],
            &[rate, &queue(deep), "flows.up.app={ kind = \"bulk\", bytes = \"1MB\" }"],
        ],
    );
    due(
        "links.wan.forward.link.queue.bytes",
        "1200B hold no packet of 1500 B",
        &[&queue("{ kind = \"fifo\", bytes = \"1200B\" }")],
        &[&[&queue("{ kind = \"fifo\", bytes = \"1500B\" }")]],
    );
}

#[test]
fn what_takes_all_there_is_meets_a_rate() {
    let free = "links.wan.forward=[{ kind = \"delay\", delay = \"10ms\" }]";
    due(
        "flows.up",
        "nothing on its way from a to b has a rate",
        &[free],
        &[
            &[free, "flows.up.max_pacing_rate=5Mbit/s"],
            &[free, "flows.up.app={ kind = \"udp\", rate = \"5Mbit/s\" }"],
            &[free, "flows.up.app={ kind = \"request\", request = \"1kB\", response = \"1kB\" }"],
        ],
    );
}

#[test]
fn something_is_sent_and_has_the_time_to_arrive() {
    due("flows", "nothing will be sent", &["flows.up.enabled=false"], &[]);
    due("duration", "99ms are less than 5 round trips of 20ms", &["duration=99ms"], &[&["duration=100ms"]]);
    due("flows.up.start", "it has 50ms", &["flows.up.start=9950ms"], &[&["flows.up.start=9s"]]);
    due(
        "flows.up.stagger",
        "the last of them has 10ms",
        &["flows.up.count=4", "flows.up.stagger=3330ms"],
        &[&["flows.up.count=4", "flows.up.stagger=3s"]],
    );
    due(
        "flows.up.start",
        "nothing of it counts",
        &["measure=1s..5s", "flows.up.start=5s"],
        &[&["measure=1s..5s", "flows.up.start=4s"]],
    );
}

#[test]
fn datagrams_fit_into_the_limit() {
    let app = |rate: &str| format!("flows.up.app={{ kind = \"udp\", rate = \"{rate}\" }}");
    due(
        "flows.up.app.rate",
        "24 Mbit/s of datagrams are more than the 20Mbit/s",
        &[&app("12Mbit/s"), "flows.up.count=2"],
        &[&[&app("20Mbit/s")]],
    );
}

#[test]
fn what_is_said_of_hosts_and_relays_is_used_by_some_variant() {
    let far = "\n[links.far]\nbetween = [\"b\", \"c\"]\n[hosts.b]\nstack = { mss = 1000 }\n[hosts.c]\nstack = { mss = 1000 }\n[relays.r]\nhost = \"b\"\n";
    let told = warnings(&[], far);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("relays.r: no flow passes it"), "{told:?}");
    assert!(told[1].starts_with("hosts.c.stack: no flow begins or ends there"), "{told:?}");
    // One variant that uses them is enough.
    let used = format!(
        "{far}[variants.near]\n[variants.far]\n\"flows.up.to\" = \"c\"\n\"flows.up.via\" = [\"r\"]\n"
    );
    assert_eq!(warnings(&[], &used), [""; 0]);
}

#[test]
fn variants_differ_and_are_named_where_not_all_are_meant() {
    let more = "[variants.today]\n[variants.same]\n[variants.small]\n\"links.wan.forward.policer.burst\" = \"1kB\"\n";
    let told = warnings(&[], more);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with("pass, ever (in small)"), "{told:?}");
    assert_eq!(told[1], "variants.same: changes nothing: it is the same as today");
    // Of all of them it is not said.
    assert!(!warnings(&["links.wan.forward.policer.burst=1kB"], more)[0].contains(" (in "));
}

/// What the examples are warned of, because they mean it.
const MEANT: &[(&str, &[&str])] = &[
    ("call", &["links.line.forward.modem.queue: 850 packets of 1500 B are 1.0 s at 10Mbit/s"]),
    ("policer-or-shaper", &["flows.udp.app.rate: 30 Mbit/s of datagrams are more than the 20Mbit/s"]),
    // Ends of flows that are there to be enabled.
    (
        "sdwan-full",
        &[
            "hosts.backbone-vm.stack: no flow begins or ends there",
            "hosts.far-pc.stack: no flow begins or ends there",
        ],
    ),
];

#[test]
fn examples_are_warned_of_nothing_but_what_they_mean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let (name, text) = (path.file_stem().unwrap().to_str().unwrap(), fs::read_to_string(&path).unwrap());
        let mut beside = |file: &str| fs::read_to_string(folder.join(file)).map_err(|e| e.to_string());
        let told = Experiment::parse_with(name, &text, &[], &mut beside).unwrap().warnings();
        let meant = MEANT.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, list)| list);
        assert_eq!(told.len(), meant.len(), "{name}: {told:#?}");
        for (told, meant) in told.iter().zip(meant) {
            assert!(told.starts_with(meant), "{name}: {told}");
        }
        read += 1;
    }
    assert!(read >= 8, "{read}");
}
