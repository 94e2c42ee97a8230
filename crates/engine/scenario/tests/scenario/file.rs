//! Valid files: defaults, names, variants, overrides, files of stages, the examples.

use path::Stage;
use proptest::prelude::*;
use scenario::{Experiment, RelayTool, Scenario, Tool};
use std::path::PathBuf;
use transport::{App, Profile};
use units::{Bytes, Rate, Span};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn parse(text: &str, sets: &[&str]) -> Experiment {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    Experiment::parse("dir/test.toml", text, &sets).unwrap_or_else(|e| panic!("{}", e.render()))
}

fn first_scenario(text: &str, sets: &[&str]) -> Scenario {
    parse(text, sets).variants.remove(0).scenario
}

/// File name and text of every example.
fn examples() -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join("scenarios")).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let read =
        |p: PathBuf| (p.file_name().unwrap().to_string_lossy().into(), std::fs::read_to_string(&p).unwrap());
    paths.into_iter().map(read).collect()
}

const SMALL: &str = r#"
[links.wan]
between = ["a", "b"]
forward = [
  { kind = "policer", name = "limiter", rate = "20Mbit/s" },
  { kind = "delay", delay = "2ms" },
  { kind = "delay", delay = "3ms" },
]

[flows.f]
from = "a"
to = "b"
"#;

#[test]
fn a_program_can_generate_a_flow() {
    let s = first_scenario(SMALL, &["flows.f.tool=\"iperf3\"", "flows.f.count=4"]);
    assert_eq!((&s.flows[0].tool, s.flows[0].count), (&Some(Tool::Iperf3), 4));
    let sets = ["flows.f.tool=\"curl 'http://{to}:{port}/a b'\"", "flows.f.server=\"serve {port}\""];
    let words = |w: &[&str]| w.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    let (run, server) = (words(&["curl", "http://{to}:{port}/a b"]), Some(words(&["serve", "{port}"])));
    assert_eq!(first_scenario(SMALL, &sets).flows[0].tool, Some(Tool::Command { run, server }));
    assert_eq!(first_scenario(SMALL, &[]).flows[0].tool, None);
}

#[test]
fn omitted_keys_have_their_defaults() {
    let experiment = parse(SMALL, &[]);
    assert_eq!((experiment.name.as_str(), experiment.description.as_str()), ("test", ""));
    assert_eq!(experiment.variants.len(), 1);
    assert_eq!(experiment.variants[0].name, "default");
    let s = &experiment.variants[0].scenario;
    assert_eq!((s.duration, s.sample), (Span::from_secs(10), Span::from_millis(10)));
    assert_eq!((s.seed, s.one_at_a_time), (1, false));
    let hosts: Vec<&str> = s.hosts.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(hosts, ["a", "b"]);
    assert_eq!(s.hosts[0].stack, transport::Stack::default());
    let stages: Vec<&str> = s.links[0].forward.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(stages, ["limiter", "delay", "delay-2"]);
    assert!(s.links[0].backward.is_empty() && s.relays.is_empty());
    let f = &s.flows[0];
    assert_eq!((f.from, f.to, f.cc.name(), f.count), (0, 1, "cubic", 1));
    assert_eq!((f.start, f.stagger, f.dscp), (Span::ZERO, Span::ZERO, 0));
    assert_eq!(f.app, App::Bulk { duration: None, bytes: None });
    assert!(f.via.is_empty() && f.max_pacing_rate.is_none());
}

#[test]
fn names_are_resolved_to_indexes() {
    let text = r#"
        [hosts.mid]
        stack = { profile = "rfc", receive_window = "64512B" }
        [links]
        near = { between = ["a", "mid"] }
        far = { between = ["mid", "b"] }
        [relays]
        spare = { host = "b", buffer = "1MiB" }
        proxy = { host = "mid", cc = "bbr", tool = "haproxy" }
        [flows.f]
        from = "b"
        to = "a"
        via = ["proxy"]
        max_pacing_rate = "5Mbit/s"
        app = { kind = "onoff", on = "1s", off = "2s" }
    "#;
    let s = first_scenario(text, &[]);
    assert_eq!(s.links[1].between, [1, 2]);
    assert_eq!(s.hosts[1].stack.profile, Profile::Rfc);
    assert_eq!(s.hosts[1].stack.receive_window, Some(Bytes::new(64_512)));
    assert_eq!((s.relays[1].host, s.relays[1].cc.map(|cc| cc.name())), (1, Some("bbr")));
    assert_eq!(s.relays[1].buffer, Bytes::new(4_000_000));
    assert_eq!((s.relays[0].tool, s.relays[1].tool), (RelayTool::Longfat, RelayTool::Haproxy));
    assert_eq!((s.flows[0].from, s.flows[0].to), (2, 0));
    assert_eq!(s.flows[0].via, [1]);
    assert_eq!(s.flows[0].max_pacing_rate, Some(Rate::from_bps(5_000_000)));
}

#[test]
fn overrides_are_applied_after_those_of_the_variant() {
    let variants = r#"
        [variants.plain]
        [variants.quoted]
        "links.wan.forward.limiter.rate" = "5Mbit/s"
        "flows.f.count" = 3
        [variants.bare]
        links.wan.forward.limiter.rate = "5Mbit/s"
        flows.f.count = 3
        [variants.header.flows.f]
        count = 3
        [variants.replaced]
        "links.wan.forward.limiter" = { kind = "shaper", rate = "5Mbit/s" }
        "links.wan.forward.delay-2.enabled" = false
        "hosts.a.stack.mss" = 1400
        "flows.g" = { from = "b", to = "a" }
    "#;
    let e = parse(&format!("{SMALL}{variants}"), &["flows.f.cc=bbr"]);
    let [plain, quoted, bare, header, replaced] = e.variants.as_slice() else { panic!() };
    let rate = |s: &Scenario| match &s.links[0].forward[0].stage {
        Stage::Policer(p) => p.rate.as_mbps(),
        Stage::Shaper(p) => -p.rate.as_mbps(),
        _ => 0.0,
    };
    assert_eq!((rate(&plain.scenario), rate(&quoted.scenario)), (20.0, 5.0));
    assert_eq!(quoted.scenario, bare.scenario);
    assert_eq!((header.scenario.flows[0].count, plain.scenario.flows[0].count), (3, 1));
    assert!(e.variants.iter().all(|v| v.scenario.flows[0].cc.name() == "bbr"));
    let s = &replaced.scenario;
    assert_eq!(rate(s), -5.0);
    let stages: Vec<&str> = s.links[0].forward.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(stages, ["limiter", "delay"]);
    assert_eq!((s.hosts[0].stack.mss, s.flows.len()), (Some(1400), 2));
}

#[test]
fn an_override_is_equivalent_to_an_edit_of_the_file() {
    for (set, from, to) in [
        ("duration=3s", "\n[links.wan]", "duration = \"3s\"\n[links.wan]"),
        ("seed=7", "\n[links.wan]", "seed = 7\n[links.wan]"),
        ("links.wan.forward.limiter.rate=10Mbit/s", "20Mbit/s", "10Mbit/s"),
        ("links.wan.forward.0.rate = \"10Mbit/s\"", "20Mbit/s", "10Mbit/s"),
        ("links.\"wan\".forward.delay.delay='9ms'", "2ms", "9ms"),
        ("links.wan.forward.delay-2.delay=9ms", "3ms", "9ms"),
        (
            "links.wan.forward.1={kind=\"loss\", probability=0.5, name=\"x\"}",
            "{ kind = \"delay\", delay = \"2ms\" }",
            "{ kind = \"loss\", probability = 0.5, name = \"x\" }",
        ),
        ("links.wan.between=[\"b\", \"a\"]", "[\"a\", \"b\"]", "[\"b\", \"a\"]"),
        ("links.wan.between.1=c", "\"b\"]\nforward", "\"c\"]\nforward"),
        (
            "links.wan.backward=[{kind='delay', delay='1s'}]",
            "[flows.f]",
            "backward = [{ kind = \"delay\", delay = \"1s\" }]\n[flows.f]",
        ),
        (
            "flows.f.app={kind=\"udp\",rate=\"1Mbit/s\"}",
            "to = \"b\"",
            "to = \"b\"\napp = { kind = \"udp\", rate = \"1Mbit/s\" }",
        ),
        ("flows.f.enabled=false", "to = \"b\"", "to = \"b\"\nenabled = false"),
        ("hosts.a.stack.profile=rfc", "[flows.f]", "[hosts.a.stack]\nprofile = \"rfc\"\n[flows.f]"),
        ("name=2026-01-01", "\n[links.wan]", "name = \"2026-01-01\"\n[links.wan]"),
        ("description=Two words", "\n[links.wan]", "description = \"Two words\"\n[links.wan]"),
    ] {
        assert!(SMALL.contains(from));
        let edited = SMALL.replacen(from, to, 1);
        let show = |e: Result<Experiment, scenario::DocumentError>| match e {
            Ok(e) => Ok(e),
            Err(e) => Err(e.cause().clone()),
        };
        let by_set = show(Experiment::parse("t.toml", SMALL, &[set.into()]));
        let by_edit = show(Experiment::parse("t.toml", &edited, &[]));
        assert_eq!(by_set, by_edit, "{set}");
        assert_ne!(by_set, show(Experiment::parse("t.toml", SMALL, &[])), "{set}");
    }
}

#[test]
fn the_examples_parse_and_their_flows_have_routes() {
    let examples = examples();
    let names: Vec<&str> = examples.iter().map(|(n, _)| n.as_str()).collect();
    assert!(names.contains(&"policer-or-shaper.toml") && names.contains(&"sdwan-limiter.toml"));
    for (name, text) in &examples {
        let e = Experiment::parse(name, text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
        assert_eq!(format!("{}.toml", e.name), *name);
        for v in &e.variants {
            let routed = |f: &scenario::Flow| v.scenario.route(f.from, f.to).is_some();
            assert!(!v.scenario.flows.is_empty() && v.scenario.flows.iter().all(routed));
        }
    }
}

const TRACED: &str = r#"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "delay", delay = "1ms" }, { kind = "rate-trace", file = "lte.trace" }]
"#;

#[test]
fn the_file_of_a_stage_is_loaded() {
    let mut requested = Vec::new();
    let mut read = |name: &str| {
        requested.push(name.to_string());
        Ok("0\n1\n2\n".to_string())
    };
    let e = Experiment::parse_with("t.toml", TRACED, &[], &mut read).unwrap();
    assert_eq!(requested, ["lte.trace"]);
    let Stage::RateTrace(trace) = &e.variants[0].scenario.links[0].forward[1].stage else { panic!() };
    assert_eq!((trace.file.is_none(), trace.opportunities.as_slice()), (true, &[0, 1, 2][..]));
}

#[test]
fn an_unusable_file_of_a_stage_is_an_error_at_its_name() {
    let e = Experiment::parse("t.toml", TRACED, &[]).unwrap_err().to_string();
    assert!(e.ends_with("cannot read the file `lte.trace`: files cannot be read here"), "{e}");
    let mut missing = |_: &str| Err("no such file".to_string());
    let e = Experiment::parse_with("t.toml", TRACED, &[], &mut missing).unwrap_err();
    assert_eq!(
        e.to_string(),
        "t.toml:4:77: links.wan.forward.rate-trace.file: cannot read the file `lte.trace`: no such file"
    );
    let mut nonsense = |_: &str| Ok("fast\n".to_string());
    let e = Experiment::parse_with("t.toml", TRACED, &[], &mut nonsense).unwrap_err().to_string();
    assert!(
        e.starts_with("t.toml:4:77: links.wan.forward.rate-trace.file: in the file `lte.trace`: "),
        "{e}"
    );
}

/// Edits a text: removes characters starting at `at`, and inserts a snippet there.
fn mutate(text: &str, at: usize, remove: usize, insert: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = at % (chars.len() + 1);
    let end = (at + remove).min(chars.len());
    chars[..at].iter().chain(&insert.chars().collect::<Vec<_>>()).chain(&chars[end..]).collect()
}

const SNIPPETS: &[&str] = &[
    "",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "=",
    ".",
    "\n",
    ",",
    "0",
    "-1",
    "9999999999999999999",
    "1e400",
    "nan",
    "\u{0}",
    "ä",
    "\u{feff}",
    "kind",
    "name = \"\"",
    "enabled = false",
    "[[links]]",
    "[variants.x]",
    "\"links.wan.forward.0\" = 1\n",
    "1979-05-27",
    "\"18446744073709551615s\"",
    "via = [\"f\"]",
    "count = 4294967295\n",
    "stagger = \"5000000h\"\n",
    "\"\"\"",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1500 }))]

    #[test]
    fn no_mutated_file_makes_the_parser_panic(
        example in 0usize..3,
        edits in prop::collection::vec((any::<usize>(), 0usize..30, 0..SNIPPETS.len()), 1..5),
        set in (any::<usize>(), 0usize..10, 0..SNIPPETS.len()),
    ) {
        let examples = examples();
        let mut text = examples.get(example).map_or(SMALL, |(_, t)| t.as_str()).to_string();
        for (at, remove, insert) in edits {
            text = mutate(&text, at, remove, SNIPPETS[insert]);
        }
        let good = "links.wan.forward.limiter.rate=\"10Mbit/s\"";
        let set = mutate(good, set.0, set.1, SNIPPETS[set.2]);
        for sets in [vec![], vec![set]] {
            if let Err(e) = Experiment::parse("t.toml", &text, &sets) {
                let (shown, line) = (e.render(), e.to_string());
                prop_assert!(!shown.is_empty() && !line.is_empty());
                prop_assert!(e.line() >= 1 && e.column() >= 1);
            }
        }
    }
}
