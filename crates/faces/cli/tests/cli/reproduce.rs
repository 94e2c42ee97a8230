//! `longfat reproduce`: its text, files, exit codes and errors.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
duration = "2s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.up]
from = "a"
to = "b"
"#;

const STUDY: &str = r#"
title = "A line"
source = "nowhere, 2026"
about = "One flow."
[[tables]]
name = "line"
title = "A rate"
place = "table 1"
scenario = "own"
columns = [{ name = "mbps", title = "goodput", measure = "up.goodput" }]
rows = [{ name = "up", title = "up", published = { mbps = 9.5 } }]
[[claims]]
name = "fills"
says = "It fills the line."
place = "text"
holds = "line.up.mbps >= 8"
"#;

fn longfat(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longfat")).arg("reproduce").args(args).output().unwrap()
}

fn out(done: &Output) -> String {
    String::from_utf8(done.stdout.clone()).unwrap() + std::str::from_utf8(&done.stderr).unwrap()
}

/// A temporary folder with a study and its scenario, removed at the end.
struct StudyFolder(PathBuf);

impl StudyFolder {
    fn new(name: &str, study: &str, scenario: &str) -> StudyFolder {
        let folder = std::env::temp_dir().join(format!("longfat-reproduce-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mine.toml"), study).unwrap();
        fs::write(folder.join("own.toml"), scenario).unwrap();
        StudyFolder(folder)
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for StudyFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn studies_are_listed_and_unknown_names_get_a_suggestion() {
    let done = longfat(&["--list"]);
    assert_eq!(done.status.code(), Some(0));
    for study in ["cc-primer", "hsr-bbr", "overseas-office", "policer-or-shaper", "sdwan-limiter"] {
        assert!(out(&done).contains(study), "{study}");
    }
    let done = longfat(&["policer-or-shapr"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(out(&done).contains("did you mean `policer-or-shaper`"), "{}", out(&done));
    let done = longfat(&["policer-or-shaper/floods"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(out(&done).contains("did you mean `flood`"), "{}", out(&done));
}

#[test]
fn a_built_in_table_is_judged() {
    let done = longfat(&["policer-or-shaper/flood", "--most-repeats", "1"]);
    let text = out(&done);
    assert_eq!(done.status.code(), Some(0), "{text}");
    assert!(text.contains("simulator: of 1 claims 1 hold"), "{text}");
    let done = longfat(&["policer-or-shaper/flood", "--most-repeats", "1", "--json"]);
    assert!(out(&done).contains("\"verdict\": \"holds\""), "{}", out(&done));
}

#[test]
fn a_study_file_runs_and_its_saved_json_is_shown_again() {
    let folder = StudyFolder::new("own", STUDY, SCENARIO);
    let done = longfat(&[&folder.path("mine.toml"), "--json", "--html", &folder.path("page.html")]);
    assert_eq!(done.status.code(), Some(0), "{}", out(&done));
    fs::write(folder.path("kept.json"), &done.stdout).unwrap();
    assert!(fs::read_to_string(folder.path("page.html")).unwrap().contains("It fills the line."));
    let kept = folder.path("kept.json");
    let again = longfat(&["--from", &kept, "--markdown", &folder.path("again.md")]);
    assert_eq!(again.status.code(), Some(0), "{}", out(&again));
    assert!(fs::read_to_string(folder.path("again.md")).unwrap().contains("| up | 9.50 / 9."));
    assert_eq!(longfat(&["--from", &kept, "--from", &kept]).status.code(), Some(2));
    let table = longfat(&[&format!("{}/none", folder.path("mine.toml"))]);
    assert!(out(&table).contains("no table `none`"), "{}", out(&table));
}

#[test]
fn a_claim_that_does_not_hold_has_exit_code_1_and_a_wrong_study_2() {
    let folder = StudyFolder::new("wrong", &STUDY.replace(">= 8", ">= 80"), SCENARIO);
    let done = longfat(&[&folder.path("mine.toml")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(out(&done).contains("does not hold"), "{}", out(&done));
    fs::write(folder.path("mine.toml"), STUDY.replace("line.up.mbps >=", "line.up.mbp >=")).unwrap();
    let done = longfat(&[&folder.path("mine.toml")]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        out(&done).contains("mine.toml:16:9") && out(&done).contains("did you mean `mbps`"),
        "{}",
        out(&done)
    );
    fs::write(folder.path("mine.toml"), STUDY.replace("\"own\"", "\"../own\"")).unwrap();
    let done = longfat(&[&folder.path("mine.toml")]);
    assert_eq!(done.status.code(), Some(2), "{}", out(&done));
}

/// A study file may come from an untrusted source.
#[test]
fn on_the_kernel_a_study_must_not_start_programs() {
    let tool = SCENARIO.replace("to = \"b\"", "to = \"b\"\ntool = \"touch /tmp/started\"");
    let folder = StudyFolder::new("tool", STUDY, &tool);
    let done = longfat(&[&folder.path("mine.toml"), "--on", "kernel"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(out(&done).contains("line.up starts a program"), "{}", out(&done));
}
