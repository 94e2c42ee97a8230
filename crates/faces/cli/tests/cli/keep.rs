//! Long work is not lost: what was finished stays, what is there is gone on with, and nothing else is replaced unasked.

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
/// What is the same bytes, be it in one go or two.
#[cfg(target_os = "linux")]
const SAME: [&str; 6] = [
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

/// The last variant takes all day.
#[cfg(target_os = "linux")]
fn endless() -> String {
    SMALL.replace("\"bbr\"", "\"bbr\"\nduration = \"24h\"\nsample = \"0s\"")
}

/// Runs until so many runs are kept, then sends the signal.
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
fn ctrl_c_keeps_what_is_finished_and_resume_gives_the_same_bytes() {
    let place = place("interrupt");
    let out = ended_early(&place, &endless(), &["--repeat", "2", "--json"], 4, "-INT");
    assert_eq!(out.status.code(), Some(130), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!((&object["partial"], object["variants"].as_array().unwrap().len()), (&true.into(), 2));
    let warning = object["warnings"][0].as_str().unwrap();
    assert_eq!(warning, "ended early; missing: long 2 of 2 repeats");
    assert!(stderr(&out).contains(&format!("warning: {warning}; --resume goes on\n")), "{}", stderr(&out));
    assert_eq!(out.stdout, place.read("o/result.json"));
    assert!(place.0.join("o/report.html").exists());

    // It goes on with that file and those settings alone.
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
fn what_is_gone_on_with_is_as_if_nothing_had_happened() {
    let place = place("resume");
    // Killed: nothing is written at the end, what was finished is there all the same.
    let text = SMALL.replace("\"2s\"", "\"60s\"");
    let out = ended_early(&place, &text, &["--repeat", "3"], 2, "-KILL");
    assert_eq!(out.status.code(), None);
    assert!(!place.0.join("o/result.json").exists());
    // A file that was cut short counts for nothing.
    let victim = fs::read_dir(place.0.join("o/runs"))
        .unwrap()
        .flatten()
        .find(|f| f.path().extension().is_some_and(|e| e == "run"));
    let victim = victim.unwrap().path();
    let bytes = fs::read(&victim).unwrap();
    fs::write(&victim, &bytes[..bytes.len() - 9]).unwrap();
    let resumed = run(&place, &["--repeat", "3", "--out", "o", "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let told = stderr(&resumed);
    let there: usize = told.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((1..9).contains(&there) && told.contains("of 9 runs are there already"), "{told}");
    assert!(!place.0.join("o/runs").exists(), "it is complete");
    let whole = run(&place, &["--repeat", "3", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    for name in SAME {
        assert_eq!(place.read(&format!("o/{name}")), place.read(&format!("whole/{name}")), "{name}");
    }
    // Once more there is nothing to do.
    let before = fs::metadata(place.0.join("o/result.json")).unwrap().modified().unwrap();
    let again = run(&place, &["--repeat", "3", "--out", "o", "--resume"]);
    assert!(
        stdout(&again).ends_with("\nall runs were there already: o is as it was\n"),
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
    // Where the second variant's captures should go a file lies.
    fs::create_dir(place.0.join("caps")).unwrap();
    place.file("caps/two", "");
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert_eq!((&object["partial"], &object["variants"][0]["name"]), (&true.into(), &"one".into()));
    assert_eq!(object["warnings"][0], "a run failed; missing: two, long");
    let why = native("two, sim, repeat 1: error: caps/two: ");
    assert!(stderr(&out).contains(&why), "{}", stderr(&out));
    // The cause is gone: what is there is not run again.
    fs::remove_file(place.0.join("caps/two")).unwrap();
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--json", "--resume"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stderr(&out).starts_with("longfat: 1 of 3 runs are there already\n"), "{}", stderr(&out));
    let object = json(&stdout(&out));
    assert!(object.get("partial").is_none() && object.get("warnings").is_none());
    assert_eq!(object["variants"].as_array().unwrap().len(), 3);
}

#[test]
fn nothing_is_left_where_nothing_was_finished() {
    let place = place("nothing");
    fs::create_dir(place.0.join("caps")).unwrap();
    place.file("caps/one", "");
    let out = run(&place, &["--jobs", "1", "--pcap", "caps", "--out", "o"]);
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    assert!(stderr(&out).starts_with(&native("error: caps/one: ")), "{}", stderr(&out));
    assert!(!place.0.join("o").exists());
}

#[test]
fn results_of_other_work_are_not_replaced_unasked() {
    let place = place("other");
    assert_eq!(run(&place, &["--out", "o"]).status.code(), Some(0));
    let before = place.read("o/result.json");
    for (args, told) in [
        (&["--repeat", "2"][..], "repeats: 5, now 2"),
        (&["--seed", "9"], "seed: 1, now 9"),
        (&["--set", "duration=1s"], "--set: none, now duration=1s"),
        (&["--variant", "one"], "variants: one two long, now one"),
    ] {
        let out = run(&place, &[&["--out", "o"], args].concat());
        let e = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {e}");
        assert!(e.contains(told) && e.contains("--out DIR") && e.contains("--force"), "{e}");
        assert_eq!(place.read("o/result.json"), before);
    }
    place.file("small.toml", SMALL.replace("20Mbit/s", "30Mbit/s"));
    assert!(stderr(&run(&place, &["--out", "o"])).contains("text has changed"));
    place.file("small.toml", SMALL.replace("\"small\"", "\"another\""));
    assert!(stderr(&run(&place, &["--out", "o"])).contains("scenario: small, now another"));
    // The same again is no question, and who insists gets it.
    place.file("small.toml", SMALL);
    assert_eq!(run(&place, &["--out", "o"]).status.code(), Some(0));
    assert_eq!(place.read("o/result.json"), before);
    assert_eq!(run(&place, &["--out", "o", "--seed", "9", "--force"]).status.code(), Some(0));
    assert_ne!(place.read("o/result.json"), before);
}

#[test]
#[cfg(target_os = "linux")]
fn all_that_the_kernel_lacks_is_told_before_anything_runs() {
    let place = Place::new("preflight");
    let text = SMALL.to_string()
        + "[variants.tools]\n\"flows.up.tool\" = \"nonesuch {to}\"\n\"flows.up.server\" = \"nothing-here\"\n\
           [variants.tool]\n\"flows.up.tool\" = \"nonesuch {to}\"\n";
    place.file("small.toml", text);
    let out = run(&place, &["--on", "both"]);
    let e = stderr(&out);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""), "{e}");
    assert!(e.contains("error: nothing was run: for --on kernel this machine lacks\n"), "{e}");
    assert!(e.contains("\n  tools, tool: flows.up.tool: program `nonesuch` is not installed"), "{e}");
    assert!(e.contains("\n  tools: flows.up.server: program `nothing-here` is not installed"), "{e}");
    assert!(!place.0.join("longfat-results").exists(), "nothing is left behind");
}
