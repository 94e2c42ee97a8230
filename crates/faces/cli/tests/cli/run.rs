//! `longfat run`: exit codes, output and files.

use crate::place::{Place, json, native, on_terminal, stderr, stdout};
use std::path::Path;
use std::process::Command;

const SMALL: &str = r#"
name = "small"
duration = "2s"
seed = 7
sample = "100ms"

[links.wan]
between = ["office", "dc"]
forward = [{ kind = "policer", rate = "20Mbit/s", burst = "30kB" }, { kind = "delay", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]

[flows.bulk]
from = "office"
to = "dc"
cc = "cubic"

[variants.policer]
[variants.three]
"flows.bulk.count" = 3
"#;

#[test]
fn a_run_prints_a_table_and_writes_a_folder() {
    let place = Place::new("table");
    let out = place.file("small.toml", SMALL).longfat(&["run", "small.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let text = stdout(&out);
    assert!(text.starts_with("“policer” achieves ") && text.contains("\nvariant"), "{text}");
    assert!(text.contains("\npolicer ") && text.contains("\nthree "), "{text}");
    assert!(text.ends_with(&native("\nresults in longfat-results/small (open report.html)\n")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\x1b'), "no colour into a pipe");
    for name in ["flows.parquet", "elements.parquet"] {
        let bytes = place.read(&format!("longfat-results/small/{name}"));
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
    }
    let page = String::from_utf8(place.read("longfat-results/small/report.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("id=\"series-1\""),
        "a page with both variants' series"
    );
    assert_eq!(place.read("longfat-results/small/scenario.toml"), SMALL.as_bytes());
    let result = String::from_utf8(place.read("longfat-results/small/result.json")).unwrap();
    let run = result::read_json(&result).unwrap();
    assert_eq!((run.seed, run.variants.len(), run.variants[1].flows.len()), (7, 2, 3));
    let provenance = json(std::str::from_utf8(&place.read("longfat-results/small/provenance.json")).unwrap());
    assert_eq!(provenance["longfat"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(provenance["command"][1], "run");
}

#[test]
fn output_has_the_terminals_width_and_colour_unless_no_color_is_set() {
    let place = Place::new("terminal");
    place.file("small.toml", SMALL);
    let Some(text) = on_terminal(&place, 80, "", "run small.toml") else { return };
    assert!(text.contains("\x1b[1m"), "heads are bold on a terminal");
    for columns in [60, 80, 120] {
        let text = on_terminal(&place, columns, "1", "run small.toml").unwrap();
        assert!(!text.contains("\x1b["), "{text:?}");
        assert!(text.lines().all(|l| l.trim_end().chars().count() <= columns as usize), "{columns}: {text}");
    }
}

#[test]
fn json_is_one_object_and_reproducible() {
    let place = Place::new("json");
    place.file("small.toml", SMALL);
    let run = |jobs, out| place.longfat(&["run", "small.toml", "--json", "--jobs", jobs, "--out", out]);
    let (first, second) = (run("1", "a"), run("2", "b"));
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert_eq!(first.stdout, second.stdout);
    for name in ["result.json", "flows.parquet", "elements.parquet", "report.html"] {
        assert_eq!(place.read(&format!("a/{name}")), place.read(&format!("b/{name}")), "{name}");
    }
    assert_eq!(first.stdout, place.read("a/result.json"));
    assert!(stderr(&first).ends_with("results in a (open report.html)\n"));
    let object = json(&stdout(&first));
    assert_eq!(object["schema"], "longfat-result/2");
    assert_eq!(object["variants"][0]["flows"][0]["name"], "bulk");
    assert_eq!(object["variants"][0]["clock"], "sim");
}

#[test]
fn bad_input_names_line_and_key_and_exits_with_2() {
    let place = Place::new("bad");
    let refused = |text: &str, args: &[&str]| {
        let out = place.file("bad.toml", text).longfat(&[&["run", "bad.toml"], args].concat());
        assert_eq!(out.status.code(), Some(2), "{}", stdout(&out));
        assert!(out.stdout.is_empty(), "{}", stdout(&out));
        assert!(!place.0.join("longfat-results").exists(), "nothing is left behind");
        stderr(&out)
    };
    let e = refused(&SMALL.replace("cc = \"cubic\"", "cc = \"cubik\""), &[]);
    assert!(e.contains("bad.toml:15") && e.contains("flows.bulk.cc") && e.contains("cubic"), "{e}");
    let e = refused(&SMALL.replace("\"2s\"", "2"), &[]);
    assert!(e.contains("bad.toml:3") && e.contains("duration"), "{e}");
    let e = refused("duration = ", &[]);
    assert!(e.contains("bad.toml:1"), "{e}");
    let e = refused(SMALL, &["--set", "flows.bulk.cc=cubik"]);
    assert!(e.contains("--set") && e.contains("flows.bulk.cc"), "{e}");
    let e = refused(SMALL, &["--variant", "nobody"]);
    assert!(e.contains("`nobody`") && e.contains("policer, three"), "{e}");
    let e = refused(SMALL, &["--on", "kernel", "--set", "flows.bulk.tool=nonesuch {to}"]);
    // On other systems the first error is that Linux is needed.
    let why = if cfg!(target_os = "linux") { "nonesuch" } else { "this needs Linux" };
    assert!(e.contains(why), "{e}");
    assert!(refused(SMALL, &["--pcap-stages"]).contains("--pcap"));
    assert!(refused(SMALL, &["--repeat", "0"]).contains("--repeat"));
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let place = Place::new("missing");
    let out = place.longfat(&["run", "missing.toml"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).starts_with("error: missing.toml: "), "{}", stderr(&out));
    let out =
        place.file("small.toml", SMALL).file("taken", "").longfat(&["run", "small.toml", "--out", "taken/x"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).contains("taken/x"), "{}", stderr(&out));
}

#[test]
fn repeats_have_seeds_and_intervals() {
    let place = Place::new("repeat");
    place.file("small.toml", SMALL);
    let out = place.longfat(&[
        "run",
        "small.toml",
        "--json",
        "--repeat",
        "3",
        "--seed",
        "40",
        "--variant",
        "three",
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!(object["seed"], 40);
    assert_eq!(object["variants"].as_array().unwrap().len(), 1);
    let repeats = &object["variants"][0]["repeats"];
    assert_eq!((&repeats["n"], &repeats["seeds"]), (&3.into(), &vec![40, 41, 42].into()));
    assert_eq!(repeats["total_goodput_mbps"]["mean"], object["variants"][0]["total_goodput_mbps"]);
    assert!(object["variants"][0]["flows"][2]["repeats"]["goodput_mbps"]["ci95"].is_number());
}

/// The default of --repeat is 5 for a short scenario; a long one, --pcap and --repeat 1 make a single run.
#[test]
fn a_short_scenario_is_repeated_by_default_and_a_long_one_warns_that_it_is_not() {
    let place = Place::new("repeat-default");
    place.file("small.toml", SMALL);
    let run = |out: &str, args: &[&str]| {
        let base = ["run", "small.toml", "--variant", "policer", "--json", "--out", out];
        let done = place.longfat(&[&base, args].concat());
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        (json(&stdout(&done)), stderr(&done))
    };
    let (default, printed) = run("default", &[]);
    let repeats = &default["variants"][0]["repeats"];
    assert_eq!((&repeats["n"], &repeats["seeds"]), (&5.into(), &vec![7, 8, 9, 10, 11].into()));
    assert_eq!(repeats["values"]["goodput"].as_array().map(Vec::len), Some(5));
    assert!(!printed.contains("one run"), "{printed}");
    let (five, _) = run("five", &["--repeat", "5"]);
    assert_eq!(five["variants"], default["variants"]);
    for args in [&["--repeat", "1"][..], &["--pcap", "caps"]] {
        let (once, printed) = run(args[0].trim_start_matches('-'), args);
        assert!(once["variants"][0]["repeats"].is_null() && !printed.contains("one run"), "{printed}");
    }
    // A path without a rate limit would carry what windows allow, 28 million packets in 100 s, so make it
    // lossy.
    let loses = "links.wan.forward.policer={ kind = \"loss\", probability = 0.3 }";
    let (long, printed) = run("long", &["--set", "duration=100s", "--set", "sample=1s", "--set", loses]);
    assert!(long["variants"][0]["repeats"].is_null());
    assert!(
        printed.contains("warning: one run per variant") && printed.contains("`--repeat 3`"),
        "{printed}"
    );
    let kinds: Vec<&str> =
        long["warning_data"].as_array().unwrap().iter().filter_map(|w| w["kind"].as_str()).collect();
    assert!(kinds.contains(&"once"), "{kinds:?}");
}

#[test]
fn flows_are_measured_one_at_a_time_when_the_scenario_says_so() {
    let place = Place::new("alone");
    let down = "\n[flows.down]\nfrom = \"dc\"\nto = \"office\"\ncc = \"cubic\"\n";
    let text = SMALL
        .replace("seed = 7", "seed = 7\none_at_a_time = true")
        .replace("\n[variants.policer]", &format!("{down}\n[variants.policer]"));
    let out = place.file("two.toml", &text).longfat(&["run", "two.toml", "--json", "--variant", "policer"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let run = result::read_json(&stdout(&out)).unwrap();
    let names: Vec<&str> = run.variants[0].flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["bulk", "down"]);
    assert!(run.variants[0].one_at_a_time);
    assert!(run.variants[0].elements.iter().all(|e| e.name.ends_with("@bulk") || e.name.ends_with("@down")));
    let table = stdout(&place.longfat(&["run", "two.toml", "--force"]));
    assert!(table.lines().any(|l| l.starts_with("variant  flow")), "{table}");
}

#[test]
fn a_path_that_delivers_nothing_has_exit_code_1() {
    let place = Place::new("no");
    let text = SMALL.replace(
        "{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }",
        "{ kind = \"loss\", probability = 1.0 }",
    );
    let out = place.file("no.toml", &text).longfat(&["run", "no.toml"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    assert!(stderr(&out).contains("no data arrived in: policer, three"), "{}", stderr(&out));
}

#[test]
fn each_run_has_its_own_folder_of_captures() {
    let place = Place::new("pcap");
    place.file("small.toml", SMALL);
    let out = place.longfat(&["run", "small.toml", "--variant", "policer", "--pcap", "caps"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    for host in ["office", "dc"] {
        let bytes = place.read(&format!("caps/policer/{host}.pcap"));
        assert_eq!(bytes[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    }
    let twice =
        ["run", "small.toml", "--variant", "policer", "--pcap", "many", "--repeat", "2", "--out", "twice"];
    let out = place.longfat(&twice);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(place.0.join("many/policer-repeat1/dc.pcap").exists());
    assert!(place.0.join("many/policer-repeat2/dc.pcap").exists());
}

#[test]
fn captures_between_stages_have_the_packets_that_passed_each_stage() {
    let place = Place::new("stages");
    let args = ["run", "small.toml", "--variant", "policer", "--pcap", "caps", "--pcap-stages", "--json"];
    let out = place.file("small.toml", SMALL).longfat(&args);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let packets = |file: &str| {
        let bytes = place.read(&format!("caps/policer/{file}.pcap"));
        let (mut at, mut n) = (24, 0);
        while let Some(kept) = bytes.get(at + 8..at + 12) {
            at += 16 + u32::from_le_bytes(kept.try_into().unwrap()) as usize;
            n += 1;
        }
        n
    };
    for element in json(&stdout(&out))["variants"][0]["elements"].as_array().unwrap() {
        assert_eq!(packets(element["name"].as_str().unwrap()), element["passed_packets"].as_u64().unwrap());
    }
}

/// tshark finds no malformed packet and no wrong checksum, and the first packet is a SYN.
#[test]
fn tshark_reads_the_captures() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED tshark_reads_the_captures: tshark is not installed");
        return;
    }
    let place = Place::new("tshark");
    place.file("small.toml", SMALL).longfat(&["run", "small.toml", "--variant", "policer", "--pcap", "caps"]);
    let tshark = |args: &[&str]| {
        let file = place.0.join("caps/policer/office.pcap");
        let out = Command::new("tshark").arg("-r").arg(file).args(args).output().unwrap();
        assert!(out.status.success(), "{}", stderr(&out));
        stdout(&out)
    };
    assert_eq!(
        tshark(&["-Y", "_ws.malformed or tcp.checksum.status == \"Bad\"", "-o", "tcp.check_checksum:TRUE"]),
        ""
    );
    let flags = tshark(&["-T", "fields", "-e", "tcp.flags.str", "-c", "2"]);
    assert!(flags.lines().next().unwrap().ends_with("S·"), "{flags}");
}

#[test]
fn schemas_are_json() {
    let place = Place::new("schema");
    let out = place.longfat(&["schema"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(json(&stdout(&out))["properties"]["links"].is_object());
    let out = place.longfat(&["schema", "result"]);
    assert_eq!(json(&stdout(&out))["properties"]["schema"]["const"], "longfat-result/2");
    assert_eq!(place.longfat(&["schema", "cake"]).status.code(), Some(2));
}

#[test]
fn a_scenario_is_read_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let place = Place::new("stdin");
    let mut child = Command::new(env!("CARGO_BIN_EXE_longfat"))
        .args(["run", "-", "--json"])
        .current_dir(&place.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(json(&stdout(&out))["scenario"], "small");
    assert!(Path::new(&place.0).join("longfat-results/small/result.json").exists());
}
