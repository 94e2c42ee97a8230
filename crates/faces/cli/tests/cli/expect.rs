//! `--expect`: its syntax, the values it is compared with, its output and exit code.

use crate::place::{Place, json, stderr, stdout};

const SMALL: &str = r#"
name = "small"
duration = "2s"
[links.wan]
between = ["office", "dc"]
forward = [
    { kind = "policer", rate = "20Mbit/s", burst = "60kB" },
    { kind = "link", rate = "100Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 100 } },
]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.up]
from = "office"
to = "dc"
count = 2
[flows.file]
from = "dc"
to = "office"
app = { kind = "bulk", bytes = "20kB" }
max_pacing_rate = "20Mbit/s"
[flows.asks]
from = "office"
to = "dc"
app = { kind = "request", request = "1kB", response = "1kB", count = 3 }
enabled = false
[variants.plain]
[variants.plain-slow]
"links.wan.forward.policer.rate" = "5Mbit/s"
[variants.asking]
"flows.asks.enabled" = true
"#;

fn expect(place: &Place, all: &[&str]) -> std::process::Output {
    let options: Vec<&str> = all.iter().flat_map(|e| ["--expect", e]).collect();
    place.file("small.toml", SMALL);
    place.longfat(&[&["run", "small.toml", "--json"], &options[..]].concat())
}

#[test]
fn met_expectations_pass_and_others_fail() {
    let place = Place::new("expect");
    let all = [
        ("up.goodput > 6Mbit/s", [Some(true), Some(false), Some(true)]),
        ("plain/up.goodput > 6Mbit/s", [Some(true), None, None]),
        ("pl/up.goodput>6Mbit/s", [Some(true), Some(false), None]),
        ("up-1.rtt.min >= 20ms", [Some(true); 3]),
        ("up.rtt.p95 < 20ms", [Some(false); 3]),
        ("up.goodput <= 100%", [Some(true); 3]),
        // Flows of opposite directions share no limiter.
        ("total.goodput <= 100%", [Some(false); 3]),
        ("wan.forward.policer.drops > 0", [Some(true); 3]),
        ("wan.forward.link.drops == 0", [Some(true); 3]),
        // A transfer of 20 kB in the other direction makes the flows incomparable.
        ("jain > 0.01", [Some(false); 3]),
        ("timeouts < 1000", [Some(true); 3]),
        ("lost < 100%", [Some(true); 3]),
        // No flow is a call, and only one variant has the flow `asks`.
        ("mos > 4", [Some(false); 3]),
        ("asks.goodput > 0bit/s", [None, None, Some(true)]),
    ];
    let texts: Vec<&str> = all.iter().map(|(text, _)| *text).collect();
    let out = expect(&place, &texts);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!(out.stdout, place.read("longfat-results/small/result.json"));
    let list = object["expectations"].as_array().unwrap();
    let names = ["plain", "plain-slow", "asking"];
    for (text, due) in all {
        for (name, due) in names.iter().zip(due) {
            let found = list.iter().find(|e| e["expected"] == text && e["variant"] == *name);
            assert_eq!(found.map(|e| e["met"].as_bool().unwrap()), due, "{text} in {name}: {found:?}");
        }
    }
    let expectation = |text: &str| list.iter().find(|e| e["expected"] == text).unwrap();
    // Goodput is summed over the connections of a flow; of RTTs the worst counts.
    let flows = object["variants"][0]["flows"].as_array().unwrap();
    let number = |i: usize, path: &str| flows[i].pointer(path).unwrap().as_f64().unwrap();
    let sum = number(0, "/goodput_mbps") + number(1, "/goodput_mbps");
    assert_eq!(expectation("up.goodput > 6Mbit/s")["measured"], sum);
    let worst = number(0, "/rtt_ms/p95").max(number(1, "/rtt_ms/p95"));
    assert_eq!(expectation("up.rtt.p95 < 20ms")["measured"], worst);
    assert!(expectation("mos > 4").get("measured").is_none());
    let lines = stderr(&out);
    assert!(lines.contains("FAIL  plain-slow  up.goodput > 6Mbit/s: "), "{lines}");
    assert!(lines.contains("FAIL  asking      jain > 0.01"), "{lines}");
    // A run that meets every expectation has exit code 0.
    let alike = ["--set", "flows.file.enabled=false", "--variant", "plain", "--out", "alike"];
    let good = place.longfat(&[&["run", "small.toml", "--expect", "jain > 0.01"], &alike[..]].concat());
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    assert!(stdout(&good).contains("\n\npass  plain  jain > 0.01: 0."), "{}", stdout(&good));
}

#[test]
fn invalid_expectations_are_refused_before_anything_runs() {
    let place = Place::new("expect-bad");
    for (text, message) in [
        ("uo.goodput > 6Mbit/s", "there is no flow `uo`"),
        ("uo.goodput > 6Mbit/s", "did you mean `up`?"),
        ("plian/up.goodput > 6Mbit/s", "did you mean `plain`?"),
        ("up.godput > 6Mbit/s", "did you mean `goodput`?"),
        ("up.goodput 6Mbit/s", "a comparison is missing"),
        ("up.goodput > 6", "no unit"),
        ("up.goodput > 6ms", "unknown unit `ms`"),
        ("up.goodput.p95 > 6Mbit/s", "has no `p95`"),
        ("up.rtt > fast", "does not begin with a number"),
        ("lost < 1ms", "is not a share"),
        ("lost < 1", "a share needs its unit: write 1%"),
        ("jain > x", "`x` is not a number"),
        ("up.jain > 1", "covers all flows together"),
        ("wan.forward.police.drops > 0", "did you mean `wan.forward.policer`?"),
        ("file.completion.p95 < 1s", "a flow has one completion time"),
        ("response.min < 1s", "is not recorded"),
        ("", "a comparison is missing"),
        (" > ", "unknown quantity ``"),
    ] {
        let out = expect(&place, &["jain > 0", text]);
        let e = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "{text}: {e}");
        assert!(
            e.contains(message) && e.contains("--> --expect 2, column ") && e.contains('^'),
            "{text}: {e}"
        );
    }
    assert!(!place.0.join("longfat-results").exists(), "nothing was run");
    let e = stderr(&expect(&place, &["up.goodput > 6"]));
    assert!(e.contains("\n1 | up.goodput > 6\n  |              ^\n"), "{e}");
}

#[test]
fn completion_times_can_be_expected() {
    let place = Place::new("expect-times");
    let out = expect(&place, &["file.completion < 1900ms", "completion.max < 1900ms"]);
    let list = json(&stdout(&out))["expectations"].clone();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 6);
    assert!(list.iter().all(|e| e["unit"] == "s"), "{list:?}");
}
