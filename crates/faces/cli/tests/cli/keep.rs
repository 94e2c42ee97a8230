//! Finished runs survive an interruption and are resumed, and other results are never overwritten without
//! --force.

use crate::place::{Place, json, native, stderr, stdout};
use std::fs;
use std::process::Output;
#[cfg(target_os = "linux")]
use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SMALL: &str = r#"
name = "small"
duration = "2s"
sample = "100ms"
[links.wan]
between = ["office", "dc"]
forward = [{ kind = "loss", probability = 0.001 }, { kind = "link", rate = "20Mbit/s", delay = "5ms", queue = { kind = "fifo", packets = 100 } }]
backward = [{ kind = "delay", delay = "5ms" }]
[flows.up]
from = "office"
to = "dc"
[variants.one]
[variants.two]
"flows.up.cc" = "reno"
[variants.long]
"flows.up.cc" = "bbr"
"#;
/// Files that are byte-identical whether the command was interrupted or not.
#[cfg(target_os = "linux")]
const IDENTICAL_FILES: [&str; 6] = [
    "result.json",
    "flows.parquet",
    "elements.parquet",
    "states.parquet",
    "retransmissions.parquet",
    "report.html",
];

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.file("small.toml", SMALL);
    place
}

fn run(place: &Place, args: &[&str]) -> Output {
    place.longfat(&[&["run", "small.toml"], args].concat())
}

/// A scenario whose last variant takes all day.
#[cfg(target_os = "linux")]
fn endless() -> String {
    SMALL.replace("\"bbr\"", "\"bbr\"\nduration = \"24h\"\nsample = \"0s\"")
}

/// Runs until `runs` runs are kept, then sends the signal.
#[cfg(target_os = "linux")]
fn ended_early(place: &Place, text: &str, args: &[&str], runs: usize, signal: &str) -> Output {
    place.file("small.toml", text);
    let mut command = place.interruptible();
    command.args(["run", "small.toml", "--jobs", "1", "--out", "o"]).args(args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let kept = || {
        let files = fs::read_dir(place.0.join("o/runs")).into_iter().flatten().flatten();
        files.filter(|f| f.path().extension().is_some_and(|e| e == "run")).count()
    };
    let begun = Instant::now();
    while kept() < runs {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} runs are kept", kept());
        thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_keeps_finished_runs_and_resume_needs_the_same_scenario_and_settings() {
    let place = place("interrupt");
    let out = ended_early(&place, &endless(), &["--repeat", "2", "--json"], 4, "-INT");
    assert_eq!(out.status.code(), Some(130), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!((&object["partial"], object["variants"].as_array().unwrap().len()), (&true.into(), 2));
    let warning = object["warnings"][0].as_str().unwrap();
    assert_eq!(warning, "ended early; missing: long 2 of 2 repeats");
    assert!(stderr(&out).contains(&format!("warning: {warning}; --resume continues\n")), "{}", stderr(&out));
    assert_eq!(out.stdout, place.read("o/result.json"));
    assert!(place.0.join("o/report.html").exists());

    // Other settings or another scenario text cannot be resumed.
    let refused = run(&place, &["--repeat", "3", "--out", "o", "--resume"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("repeats: 2, now 3"), "{}", stderr(&refused));
    place.file("small.toml", SMALL);
    let refused = run(&place, &["--repeat", "2", "--out", "o", "--resume"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the scenario's text has changed"), "{}", stderr(&refused));
}

#[test]
#[cfg(target_os = "linux")]
fn a_resumed_run_gives_the_same_bytes_as_an_uninterrupted_one() {
    let place = place("resume");
    // A killed command writes no results, but its finished runs are kept.
    let text = SMALL.replace("\"2s\"", "\"60s\"");
    let out = ended_early(&place, &text, &["--repeat", "3"], 2, "-KILL");
    assert_eq!(out.status.code(), None);
    assert!(!place.0.join("o/result.json").exists());
    // A truncated file is ignored.
    let victim = fs::read_dir(place.0.join("o/runs"))
        .unwrap()
        .flatten()
        .find(|f| f.path().extension().is_some_and(|e| e == "run"));
    let victim = victim.unwrap().path();
    let bytes = fs::read(&victim).unwrap();
    fs::write(&victim, &bytes[..bytes.len() - 9]).unwrap();
    let resumed = run(&place, &["--repeat", "3", "--out", "o", "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let notice = stderr(&resumed);
    let finished: usize = notice.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((1..9).contains(&finished) && notice.contains("of 9 runs are complete already"), "{notice}");
    assert!(!place.0.join("o/runs").exists(), "it is complete");
    let whole = run(&place, &["--repeat", "3", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    for name in IDENTICAL_FILES {
        assert_eq!(place.read(&format!("o/{name}")), place.read(&format!("whole/{name}")), "{name}");
    }
    // Resuming a complete folder changes nothing.
    let before = fs::metadata(place.0.join("o/result.json")).unwrap().modified().unwrap();
    let again = run(&place, &["--repeat", "3", "--out", "o", "--resume"]);
    assert!(
        stdout(&again).ends_with("\nall runs are complete already: o is unchanged\n"),
        "{}",
        stdout(&again)
    );
    assert_eq!(fs::metadata(place.0.join("o/result.json")).unwrap().modified().unwrap(), before);
    let table = |out: &Output| stdout(out).rsplit_once("\n\n").unwrap().0.to_string();
    assert_eq!(table(&again), table(&whole));
}

#[test]
fn a_run_that_fails_leaves_the_others() {
    let place = place("failure");
    // The second variant's captures cannot be written: a file is in the place of their folder.
    fs::create_dir(place.0.join("caps")).unwrap();
    place.file("caps/two", "");
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!((&object["partial"], &object["variants"][0]["name"]), (&true.into(), &"one".into()));
    assert_eq!(object["warnings"][0], "a run failed; missing: two, long");
    let why = native("two, sim, repeat 1: error: caps/two: ");
    assert!(stderr(&out).contains(&why), "{}", stderr(&out));
    // Once the cause is removed, only the missing runs are made.
    fs::remove_file(place.0.join("caps/two")).unwrap();
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--json", "--resume"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stderr(&out).starts_with("longfat: 1 of 3 runs are complete already\n"), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert!(object.get("partial").is_none() && object.get("warnings").is_none());
    assert_eq!(object["variants"].as_array().unwrap().len(), 3);
}

#[test]
fn no_folder_is_left_if_no_run_was_finished() {
    let place = place("nothing");
    fs::create_dir(place.0.join("caps")).unwrap();
    place.file("caps/one", "");
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--out", "o"]);
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    assert!(stderr(&out).starts_with(&native("error: caps/one: ")), "{}", stderr(&out));
    assert!(!place.0.join("o").exists());
}

#[test]
fn other_results_are_replaced_only_with_force() {
    let place = place("other");
    assert_eq!(run(&place, &["--out", "o"]).status.code(), Some(0));
    let before = place.read("o/result.json");
    for (args, difference) in [
        (&["--repeat", "2"][..], "repeats: 5, now 2"),
        (&["--seed", "9"], "seed: 1, now 9"),
        (&["--set", "duration=1s"], "--set: none, now duration=1s"),
        (&["--variant", "one"], "variants: one two long, now one"),
    ] {
        let out = run(&place, &[&["--out", "o"], args].concat());
        let e = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {e}");
        assert!(e.contains(difference) && e.contains("--out DIR") && e.contains("--force"), "{e}");
        assert_eq!(place.read("o/result.json"), before);
    }
    place.file("small.toml", SMALL.replace("20Mbit/s", "30Mbit/s"));
    assert!(stderr(&run(&place, &["--out", "o"])).contains("text has changed"));
    place.file("small.toml", SMALL.replace("\"small\"", "\"another\""));
    assert!(stderr(&run(&place, &["--out", "o"])).contains("scenario: small, now another"));
    // The same command is accepted again, and another one with --force.
    place.file("small.toml", SMALL);
    assert_eq!(run(&place, &["--out", "o"]).status.code(), Some(0));
    assert_eq!(place.read("o/result.json"), before);
    assert_eq!(run(&place, &["--out", "o", "--seed", "9", "--force"]).status.code(), Some(0));
    assert_ne!(place.read("o/result.json"), before);
}

#[test]
#[cfg(target_os = "linux")]
fn everything_missing_for_the_kernel_is_listed_before_anything_runs() {
    let place = Place::new("preflight");
    let text = SMALL.to_string()
        + "[variants.tools]\n\"flows.up.tool\" = \"nonesuch {to}\"\n\"flows.up.server\" = \"nothing-here\"\n\
           [variants.tool]\n\"flows.up.tool\" = \"nonesuch {to}\"\n";
    place.file("small.toml", text);
    let out = run(&place, &["--on", "both"]);
    let e = stderr(&out);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""), "{e}");
    assert!(e.contains("error: nothing was run: --on kernel lacks on this machine:\n"), "{e}");
    assert!(e.contains("\n  tools, tool: flows.up.tool: program `nonesuch` is not installed"), "{e}");
    assert!(e.contains("\n  tools: flows.up.server: program `nothing-here` is not installed"), "{e}");
    assert!(!place.0.join("longfat-results").exists(), "nothing is left behind");
}
