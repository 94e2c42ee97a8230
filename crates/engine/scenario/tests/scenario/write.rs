//! A written scenario parses back to an equal one.

#[path = "write/draw.rs"]
mod draw;

use draw::Draw;
use proptest::prelude::*;
use scenario::Experiment;
use std::path::PathBuf;

/// Reads the files that stages of the tests name.
fn read_file(name: &str) -> Result<String, String> {
    match name {
        "steps.trace" => Ok("0s 20Mbit/s\n1.5s 5Mbit/s\n".into()),
        "mahimahi.trace" => Ok("0\n1\n5\n".into()),
        "delays.trace" => Ok("1ms\n2.5ms\n".into()),
        _ => {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios").join(name);
            std::fs::read_to_string(path).map_err(|e| e.to_string())
        }
    }
}

fn parse(text: &str) -> Result<Experiment, String> {
    Experiment::parse_with("a-name.toml", text, &[], &mut read_file).map_err(|e| e.render())
}

/// Checks that the experiment, and each of its variants alone, is unchanged after writing and parsing.
fn check_round_trip(experiment: &Experiment) -> String {
    let text = experiment.to_toml();
    let read = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for (read, variant) in read.variants.iter().zip(&experiment.variants) {
        assert_eq!(read.scenario.hosts, variant.scenario.hosts, "{}\n{text}", variant.name);
        assert_eq!(read.scenario.links, variant.scenario.links, "{}\n{text}", variant.name);
        assert_eq!(read.scenario.flows, variant.scenario.flows, "{}\n{text}", variant.name);
        assert_eq!(read, variant, "\n{text}");
    }
    assert_eq!(&read, experiment, "\n{text}");
    for variant in &experiment.variants {
        let text = variant.scenario.to_toml();
        let read = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(read.variants.len(), 1);
        assert_eq!(
            (&read.variants[0].name[..], &read.variants[0].scenario),
            ("default", &variant.scenario),
            "\n{text}"
        );
    }
    assert_eq!(parse(&text).unwrap().to_toml(), text, "the second text differs from the first");
    text
}

#[test]
fn every_example_survives_writing_and_parsing() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        examples += 1;
        let experiment = parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        check_round_trip(&experiment);
    }
    assert!(examples >= 8);
}

#[test]
fn a_written_file_leaves_out_defaults_and_has_comments() {
    let text = r#"
name = "two"
description = "A \"quoted\" line"
duration = "1500ms"
seed = 18446744073709551615
[hosts.a]
stack = { profile = "linux", timestamps = false, receive_window = "64512B" }
[links."w.an"]
between = ["a", "b"]
forward = [
  { kind = "loss", enabled = false, probability = 0.5 },
  { kind = "policer", name = "limiter", rate = "20000kbit/s", burst = "9kB" },
  { kind = "delay", delay = "2500us" },
  { kind = "loss", probability = 0.001 },
  { kind = "link", queue = { kind = "fifo", packets = 200 }, rate = "0.02Gbit/s" },
]
backward = [{ kind = "rate-trace", file = "steps.trace", queue = { kind = "fq-codel" } }]
[relays.pep]
host = "b"
cc = { name = "bbr-hsr", T = "40ms", alpha = 0.125 }
[links.lan]
between = ["b", "c"]
[flows.f]
from = "a"
to = "c"
via = ["pep"]
cc = "cubic"
count = 3
stagger = "100ms"
[flows.web]
from = "b"
to = "c"
tool = "sh -c 'echo \"it is\" {{{port}'"
[variants.plain]
[variants.other]
"hosts.b.stack.ecn" = true
"links.\"w.an\".forward.limiter" = { kind = "shaper", rate = "20Mbit/s" }
"links.lan.forward" = [{ kind = "delay", delay = "1ms" }]
"flows.f.cc" = "bbr"
"flows.f.count" = 1
"flows.f.stagger" = "0s"
"flows.web.enabled" = false
"#;
    let written = check_round_trip(&parse(text).unwrap());
    for line in [
        "duration = \"1.5s\"  # How long a run takes, up to 24 h.",
        "description = \"A \\\"quoted\\\" line\"",
        "# A link between two hosts, with the stages that packets pass in each direction.",
        "[links.\"w.an\"]",
        "    # Token buckets that drop or re-mark.",
        "    { kind = \"policer\", name = \"limiter\", rate = \"20Mbit/s\", burst = \"9kB\" },",
        "    { kind = \"delay\", delay = \"2.5ms\" },",
        "    { kind = \"loss\", name = \"loss-2\", probability = 0.001 },",
        "    { kind = \"link\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 200 } },",
        "    { kind = \"rate-trace\", file = \"steps.trace\", queue = { kind = \"fq-codel\" } },",
        "stack = { timestamps = false, receive_window = \"64512B\" }",
        "cc = { name = \"bbr-hsr\", T = \"40ms\" }",
        "stagger = \"100ms\"",
        "\"hosts.b.stack\" = { ecn = true }",
        "\"links.\\\"w.an\\\".forward.limiter\" = { kind = \"shaper\", rate = \"20Mbit/s\" }",
        "\"flows.f.cc\" = \"bbr\"",
        "\"flows.f.count\" = 1",
        "\"flows.web.enabled\" = false",
    ] {
        assert!(written.lines().any(|l| l == line), "{line}\nis not in\n{written}");
    }
    assert!(written.lines().filter(|l| l.starts_with('#')).all(|l| l.chars().count() <= 102), "{written}");
}

#[test]
fn commands_are_quoted_so_that_they_split_into_the_same_words() {
    let text = "[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n";
    for (tool, server) in [
        ("'iperf3'", None),
        ("iperf3 -c {to}", Some("iperf3 -s")),
        ("x '' 'a b' \"it's\" a\\ b '#' '*' '\"' {{ }} '\n' 'ü' ~ '!' '^'", Some("'' y")),
        ("' x'", None),
    ] {
        let server = server.map(|s| format!("server = {s:?}\n")).unwrap_or_default();
        let tool = tool.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let text = format!("{text}tool = \"{tool}\"\n{server}");
        match parse(&text) {
            Ok(experiment) => _ = check_round_trip(&experiment),
            Err(e) => assert!(e.contains("the command is empty"), "{e}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    /// Files with random keys and values that the parser accepts.
    #[test]
    fn random_files_survive_writing_and_parsing(seed: u64) {
        let mut draw = Draw::new(seed);
        let text = draw.file();
        let experiment = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        check_round_trip(&experiment);
    }
}

/// The random files cover every kind of stage, queue and application, every congestion control and every key.
#[test]
fn the_random_files_cover_every_kind_and_key() {
    let drawn: String = (0..600).map(|seed| Draw::new(seed).file()).collect();
    let has = |word: &str| assert!(drawn.contains(word), "{word} is never drawn");
    path::Stage::KINDS.iter().for_each(|kind| has(&format!("kind = \"{kind}\"")));
    path::QueueConfig::KINDS.iter().for_each(|kind| has(&format!("queue = {{ kind = \"{kind}\"")));
    ["bulk", "request", "onoff", "udp", "voice", "probe"]
        .iter()
        .for_each(|kind| has(&format!(" kind = \"{kind}\"")));
    congestion::NAMES.iter().for_each(|name| has(&format!("\"{name}\"")));
    for kind in path::Stage::KINDS {
        path::Stage::fields(kind).iter().for_each(|key| has(&format!(" {key} = ")));
    }
    for change in ["flows.new", "links.new", "links.l0.forward", "hosts.h0.stack", "links.l0.forward.0.delay"]
    {
        has(&format!("\n\"{change}\" = "));
    }
    for key in ["via", "tool", "server", "stagger", "dscp", "max_pacing_rate", "one_at_a_time", "[variants."]
    {
        has(key);
    }
}
