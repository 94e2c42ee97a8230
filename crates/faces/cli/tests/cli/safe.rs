//! Results are complete or absent, other files are left alone, and output cannot control a terminal.
#![cfg(unix)]

use crate::place::{Place, stderr, stdout};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SMALL: &str = r#"
name = "small"
duration = "1s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "5ms" }]
backward = [{ kind = "delay", delay = "5ms" }]
[flows.up]
from = "a"
to = "b"
"#;

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.file("small.toml", SMALL);
    place
}

fn hidden(place: &Place) -> Vec<String> {
    let names = fs::read_dir(&place.0).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_folder_with_files_of_two_runs_is_refused() {
    let place = place("mix");
    for (seed, out) in [("1", "one"), ("1", "same"), ("2", "two")] {
        let done = place.longfat(&["run", "small.toml", "--seed", seed, "--out", out]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    }
    assert_eq!(place.read("one/result.json"), place.read("same/result.json"));
    for name in [
        "result.json",
        "flows.parquet",
        "states.parquet",
        "elements.parquet",
        "retransmissions.parquet",
        "responses.parquet",
        "provenance.json",
        "report.html",
    ] {
        let mine = place.read(&format!("one/{name}"));
        assert_eq!(place.longfat(&["report", "one", "-o", "page.html"]).status.code(), Some(0));
        fs::copy(place.0.join("two").join(name), place.0.join("one").join(name)).unwrap();
        let out = place.longfat(&["report", "one", "-o", "page.html"]);
        assert_eq!(out.status.code(), Some(2), "{name}");
        assert!(stderr(&out).contains("files of two runs"), "{name}: {}", stderr(&out));
        place.file(&format!("one/{name}"), mine);
    }
}

#[test]
fn the_page_does_not_overwrite_its_inputs() {
    let place = place("over");
    place.longfat(&["run", "small.toml", "--out", "o"]);
    for name in ["result.json", "flows.parquet", "scenario.toml"] {
        let before = place.read(&format!("o/{name}"));
        for target in [format!("o/{name}"), format!("./o/../o/{name}")] {
            let out = place.longfat(&["report", "o", "-o", &target]);
            assert_eq!(out.status.code(), Some(2), "{target}");
            assert!(stderr(&out).contains("is part of the result"), "{}", stderr(&out));
        }
        assert_eq!(place.read(&format!("o/{name}")), before);
    }
}

#[test]
fn symbolic_links_are_not_followed_and_pipes_do_not_block() {
    let place = place("links");
    fs::create_dir(place.0.join("victim")).unwrap();
    symlink("victim", place.0.join("link")).unwrap();
    let out = place.longfat(&["run", "small.toml", "--out", "link"]);
    assert_eq!((out.status.code(), place.0.join("victim").read_dir().unwrap().count()), (Some(2), 0));
    assert!(stderr(&out).contains("symbolic link"), "{}", stderr(&out));
    // Links and pipes inside the folder are replaced.
    place.file("mine", "mine");
    fs::create_dir(place.0.join("o")).unwrap();
    symlink("../mine", place.0.join("o/flows.parquet")).unwrap();
    assert!(Command::new("mkfifo").arg(place.0.join("o/result.json")).status().unwrap().success());
    let out = place.longfat(&["run", "small.toml", "--out", "o"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert_eq!(place.read("mine"), b"mine");
    assert!(place.0.join("o/result.json").is_file());
    assert!(Command::new("mkfifo").arg(place.0.join("page")).status().unwrap().success());
    for target in ["page", "link", "o"] {
        let out = place.longfat(&["report", "o", "-o", target]);
        assert_eq!(out.status.code(), Some(2), "{target}");
    }
    assert!(hidden(&place).is_empty(), "{:?}", hidden(&place));
}

/// An old file stays until the new one is complete, and a symbolic link is not followed.
#[test]
fn captures_and_diagnoses_are_replaced_only_when_complete() {
    let place = place("whole");
    let run = ["run", "small.toml", "--pcap", "p", "--force"];
    assert_eq!(place.longfat(&run).status.code(), Some(0));
    let capture = "p/default/a.pcap";
    let old = place.read(capture);
    // Interrupted while it writes: a half-written capture would be shorter.
    let long = [&run[..], &["--set", "duration=1h"]].concat();
    let mut child =
        place.interruptible().args(&long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !place.0.join("p/default/.a.pcap.longfat-new").exists() && begun.elapsed() < Duration::from_secs(20)
    {
        thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(place.read(capture) == old, "the old capture stays");
    assert_eq!(place.0.join("p/default").read_dir().unwrap().count(), 2, "no unfinished file is left");
    fs::copy(place.0.join(capture), place.0.join("mine.pcap")).unwrap();
    fs::remove_file(place.0.join(capture)).unwrap();
    symlink("../../mine.pcap", place.0.join(capture)).unwrap();
    let out = place.longfat(&run);
    assert!(out.status.code() == Some(2) && stderr(&out).contains("symbolic link"), "{}", stderr(&out));
    assert!(place.read("mine.pcap") == old, "the link's target is unchanged");

    let files = ["diagnosis.json", "flows.parquet", "packets.parquet"].map(|name| format!("d/{name}"));
    assert_eq!(place.longfat(&["diagnose", "mine.pcap", "--out", "d"]).status.code(), Some(0));
    let before = files.each_ref().map(|name| place.read(name));
    for wrong in [&["small.toml"][..], &["mine.pcap", "--flow", "99"], &["none"]] {
        let out = place.longfat(&[&["diagnose", "--out", "d"], wrong].concat());
        assert_eq!(out.status.code(), Some(2), "{wrong:?}");
        assert!(files.each_ref().map(|name| place.read(name)) == before, "{wrong:?}");
    }
    assert_eq!(place.0.join("d").read_dir().unwrap().count(), 3);
}

#[test]
fn a_users_own_files_in_the_results_folder_are_kept() {
    let place = place("own");
    fs::create_dir_all(place.0.join("o/notes")).unwrap();
    place.file("o/notes/a", "mine").file("o/b.txt", "mine too");
    for seed in ["1", "2"] {
        let out = place.longfat(&["run", "small.toml", "--out", "o", "--force", "--seed", seed]);
        assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    }
    assert_eq!((place.read("o/notes/a"), place.read("o/b.txt")), (b"mine".to_vec(), b"mine too".to_vec()));
    assert!(hidden(&place).is_empty(), "{:?}", hidden(&place));
    // The current folder itself can be the results folder.
    let out = place
        .command()
        .current_dir(place.0.join("o"))
        .args(["run", "../small.toml", "--out", ".", "--force"])
        .output();
    let out = out.unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert_eq!(place.longfat(&["report", "o"]).status.code(), Some(0));
    assert!(hidden(&place).is_empty() && !place.0.join("o/.longfat-new").exists());
}

/// A second run is refused at once, and the leftovers of a killed run are no obstacle.
#[test]
fn only_one_run_at_a_time_writes_to_a_folder() {
    let place = place("race");
    let long = SMALL.replace("\"1s\"", "\"24h\"\nsample = \"0s\"");
    place.file("long.toml", long);
    let mut first = place.command();
    let first = first.args(["run", "long.toml", "--out", "o"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    let begun = Instant::now();
    while !place.0.join(".o.longfat-new").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
    let out = place.longfat(&["run", "small.toml", "--out", "o"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).contains("another run is writing to o"), "{}", stderr(&out));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!hidden(&place).is_empty(), "a killed run does not clean up");
    let out = place.longfat(&["run", "small.toml", "--out", "o"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(hidden(&place).is_empty(), "{:?}", hidden(&place));
}

#[test]
fn a_scenario_reads_files_of_its_folder_only_and_errors_do_not_quote_them() {
    let place = place("files");
    let text = |file: &str| {
        let jitter = format!("{{ kind = \"jitter\", distribution = \"trace\", file = {file:?} }}");
        SMALL.replace("{ kind = \"delay\", delay = \"5ms\" }", &jitter)
    };
    fs::create_dir(place.0.join("in")).unwrap();
    place.file("secret", "s3cret:x\n").file("in/wrong", "5ms\ns3cret\n").file("in/right", "5ms\n");
    symlink("../secret", place.0.join("in/link")).unwrap();
    let run = |file: &str, more: &[&str]| {
        place.file("in/s.toml", text(file));
        let out = place.longfat(&[&["run", "in/s.toml"], more].concat());
        assert!(!stderr(&out).contains("s3cret"), "{}", stderr(&out));
        (out.status.code(), stderr(&out))
    };
    assert_eq!(run("right", &[]).0, Some(0));
    for file in ["../secret", "link", "/etc/shadow", "/proc/self/environ"] {
        let (code, error) = run(file, &[]);
        assert!(code == Some(2) && error.contains("outside the scenario's folder"), "{file}: {error}");
    }
    let (code, error) = run("wrong", &[]);
    assert!(code == Some(2) && error.contains("line 2: the text there does not begin"), "{error}");
    let (code, error) = run("link", &["--allow-files"]);
    assert!(code == Some(2) && error.contains("line 1"), "{error}");
    assert_eq!(place.longfat(&["run", "home-line", "--out", "example"]).status.code(), Some(0));
}

/// Foreign text with ESC, C1 controls, a carriage return and a bidirectional override.
#[test]
fn output_cannot_control_the_terminal() {
    const EVIL: &str = "\x1b]0;t\x07\u{9b}2J\u{202e}\r";
    let place = place("escape");
    let evil = |out: std::process::Output| {
        let (code, text) = (out.status.code(), stdout(&out) + &stderr(&out));
        let bad = text.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
        assert_eq!(bad, None, "{text:?}");
        (code, text)
    };
    // File names and arguments.
    let name = format!("x{EVIL}");
    for args in [&["run", &name][..], &["report", &name], &["diagnose", &name], &["examples", "show", &name]]
    {
        let (code, text) = evil(place.longfat(args));
        assert!(code == Some(2) && text.contains("\\u{1b}") || text.contains('\u{fffd}'), "{args:?}: {text}");
    }
    let (code, text) = evil(place.longfat(&["run", &format!("--{name}")]));
    // clap removes escape sequences of colours and titles itself.
    assert!(code == Some(2) && text.contains("--x\\u{9b}2J\\u{202e}\\u{d}"), "{text}");
    // Values and keys of a scenario, and of --set.
    let quoted = "\\u001b]0;t\\u0007\\u009b2J\\u202e\\r";
    for (from, to) in [
        ("\"20Mbit/s\"", format!("\"20{quoted}\"")),
        ("\"20Mbit/s\"", format!("\"{quoted}\"")),
        ("rate =", format!("\"{quoted}\" =")),
        ("\"link\"", format!("\"{quoted}\"")),
        ("[flows.up]", format!("[flows.\"{quoted}\"]")),
        ("to = \"b\"", format!("to = \"{quoted}\"")),
        ("\"small\"", format!("\"{quoted}\"")),
        ("\"1s\"", format!("\"1{quoted}s\"")),
        ("name = ", "name = \x1b[2J ".to_string()),
    ] {
        place.file("bad.toml", SMALL.replace(from, &to));
        let (code, text) = evil(place.longfat(&["run", "bad.toml"]));
        assert!(code == Some(2) && text.contains("bad.toml"), "{to}: {text}");
    }
    evil(place.longfat(&["run", "small.toml", "--set", &format!("flows.up.cc={EVIL}")]));
    evil(place.longfat(&["run", "small.toml", "--variant", EVIL]));
    evil(place.longfat(&["run", "small.toml", "--expect", EVIL]));
    // The name of a capture, and names in foreign results.
    let file = place.0.join(std::ffi::OsStr::from_bytes(name.as_bytes()));
    fs::write(
        &file,
        [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[255, 255, 0, 0, 1, 0, 0, 0]].concat(),
    )
    .unwrap();
    evil(place.longfat(&["diagnose", &name]));
    evil(place.longfat(&["diagnose", &name, "--json"]));
    place.longfat(&["run", "small.toml", "--out", "o"]);
    let result = String::from_utf8(place.read("o/result.json")).unwrap();
    place.file(
        "o/result.json",
        result.replace("\"default\"", &format!("\"default{}\"", "\\u001b[2J\\u009b\\u202e")),
    );
    let (_, text) = evil(place.longfat(&["run", "small.toml", "--out", "o", "--resume"]));
    assert!(text.contains("default\u{fffd}[2J"), "{text}");
}

#[test]
fn impossible_sizes_are_refused_before_anything_runs() {
    let place = Place::new("budget");
    let many =
        SMALL.replace("to = \"b\"", "to = \"b\"\ncount = 1000").replace("\"1s\"", "\"1s\"\nsample = \"1us\"");
    let out = place.file("many.toml", many).longfat(&["run", "many.toml", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let run = result::read_json(&stdout(&out)).unwrap();
    assert!(
        run.warnings.iter().any(|w| w.contains("every 1us") && w.contains("sampled every")),
        "{:?}",
        run.warnings
    );
    for (from, to, key) in [
        ("20Mbit/s", "1000000000Gbit/s", "links.wan.forward.link.rate"),
        ("\"5ms\"", "\"48h\"", "links.wan.forward.link.delay"),
        (
            "to = \"b\"",
            "to = \"b\"\napp = { kind = \"bulk\", bytes = \"9000000000GB\" }",
            "flows.up.app.bytes",
        ),
    ] {
        let out = place.file("far.toml", SMALL.replace(from, to)).longfat(&["run", "far.toml"]);
        let error = stderr(&out);
        let right = out.status.code() == Some(2) && error.contains("far.toml:") && error.contains(key);
        assert!(right && error.contains("allowed: up to "), "{error}");
    }
    let out = place.file("small.toml", SMALL).longfat(&[
        "run",
        "small.toml",
        "--repeat",
        "100000",
        "--set",
        "duration=24h",
    ]);
    assert!(
        out.status.code() == Some(2) && stderr(&out).contains("packets, the limit is"),
        "{}",
        stderr(&out)
    );
}
