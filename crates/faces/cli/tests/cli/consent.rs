//! A scenario's programs are started if the scenario is in the current folder, built in or allowed, or after
//! a yes on a terminal; otherwise the command is refused. The scenario's program does not exist, so that a
//! test in which it would be started gets the error that it is missing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
[links.l]
between = ["a", "b"]
[flows.f]
from = "a"
to = "b"
[variants.plain]
[variants.code]
"flows.f.tool" = "no-such-program-anywhere {to}"
"flows.f.server" = "no-such-server \u001b[2J"
"#;
const MISSING: &str = "program `no-such-program-anywhere` is not installed";
const REFUSED: &str = "starts programs on this machine";

/// A working folder, and a scenario in another folder next to it.
struct Place {
    root: PathBuf,
    here: PathBuf,
    elsewhere: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let root = std::env::temp_dir().join(format!("longfat-consent-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (here, there) = (root.join("here"), root.join("there"));
        fs::create_dir_all(&here).unwrap();
        fs::create_dir_all(&there).unwrap();
        fs::write(there.join("s.toml"), SCENARIO).unwrap();
        fs::write(here.join("own.toml"), SCENARIO).unwrap();
        Place { root, here, elsewhere: there.join("s.toml") }
    }

    fn longfat(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.args(args).current_dir(&self.here).stdin(Stdio::null());
        command
    }

    /// Runs a command that must fail, and returns its errors.
    fn error(&self, args: &[&str]) -> String {
        self.failed(self.longfat(args).output().unwrap())
    }

    fn failed(&self, out: Output) -> String {
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(!self.here.join("longfat-results").exists(), "{text}");
        text
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn programs_of_a_scenario_elsewhere_are_refused_and_listed() {
    let p = Place::new("refused");
    let file = text(&p.elsewhere);
    for args in [
        &["run", file, "--on", "kernel"][..],
        &["run", file, "--on", "both"],
        &["shell", file, "--flows", "--variant", "code", "--", "true"],
    ] {
        let error = p.error(args);
        assert!(
            error.contains(REFUSED) && error.contains("--allow-tools") && !error.contains(MISSING),
            "{error}"
        );
        assert!(
            error.contains(&format!("{file}:9: flows.f.tool: no-such-program-anywhere {{to}}\n")),
            "{error}"
        );
        assert!(
            error.contains(&format!("{file}:10: flows.f.server: no-such-server \\u{{1b}}[2J\n")),
            "{error}"
        );
    }
    // A symbolic link in the current folder counts as the file it points to.
    std::os::unix::fs::symlink(&p.elsewhere, p.here.join("link.toml")).unwrap();
    assert!(p.error(&["run", "link.toml", "--on", "kernel"]).contains(REFUSED));
    let mut child = p.longfat(&["run", "-", "--on", "kernel"]);
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SCENARIO.as_bytes()).unwrap();
    let error = p.failed(child.wait_with_output().unwrap());
    assert!(error.contains(REFUSED) && error.contains("stdin:9: flows.f.tool"), "{error}");
}

#[test]
fn a_scenario_from_here_or_allowed_or_without_programs_needs_no_consent() {
    let p = Place::new("allowed");
    let file = text(&p.elsewhere);
    for args in
        [&["run", "own.toml", "--on", "kernel"][..], &["run", file, "--on", "kernel", "--allow-tools"]]
    {
        let error = p.error(args);
        assert!(error.contains(MISSING) && !error.contains(REFUSED), "{error}");
    }
    // The simulator starts no program, and this variant has none.
    let done = p.longfat(&["run", file, "--variant", "plain", "--set", "duration=100ms"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let typed = [
        "run",
        file,
        "--on",
        "kernel",
        "--variant",
        "plain",
        "--set",
        "flows.f.tool=no-such-program-anywhere x",
        "--force",
    ];
    let out = p.longfat(&typed).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(error.contains(MISSING) && !error.contains(REFUSED), "{error}");
}

/// `script` (util-linux) makes the terminal.
#[test]
fn on_a_terminal_the_user_is_asked_and_no_is_the_default() {
    let p = Place::new("prompt");
    for (answer, started) in [("\n", false), ("n\n", false), ("y\n", true)] {
        let line = format!("{} run {} --on kernel", env!("CARGO_BIN_EXE_longfat"), text(&p.elsewhere));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(&p.here);
        let child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return eprintln!("SKIPPED, there is no script(1)") };
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        let output = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(2), "{output}");
        assert!(
            output.contains("start them? [y/N]") && output.contains("flows.f.tool: no-such-program"),
            "{output}"
        );
        assert_eq!(
            (output.contains(MISSING), output.contains("nothing was started")),
            (started, !started),
            "{output}"
        );
    }
}
