//! A scenario's programs: started where the scenario lies here, is built in or was allowed; asked for on a terminal;
//! else refused before anything is made. Its program does not exist, so that one that would be started is told as missing.
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
const ASKED: &str = "scenarios are code";

/// A folder to work in, and one beside it with a scenario.
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

    /// Its answer; nothing was written.
    fn answer(&self, args: &[&str]) -> String {
        self.ends_with_2(self.longfat(args).output().unwrap())
    }

    fn ends_with_2(&self, out: Output) -> String {
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
fn what_lies_elsewhere_is_refused_with_its_place_and_its_commands() {
    let p = Place::new("refused");
    let file = text(&p.elsewhere);
    for args in [
        &["run", file, "--on", "kernel"][..],
        &["run", file, "--on", "both"],
        &["shell", file, "--flows", "--variant", "code", "--", "true"],
    ] {
        let told = p.answer(args);
        assert!(told.contains(ASKED) && told.contains("--allow-tools") && !told.contains(MISSING), "{told}");
        assert!(
            told.contains(&format!("{file}:9: flows.f.tool: no-such-program-anywhere {{to}}\n")),
            "{told}"
        );
        assert!(
            told.contains(&format!("{file}:10: flows.f.server: no-such-server \\u{{1b}}[2J\n")),
            "{told}"
        );
    }
    // A link here leads there.
    std::os::unix::fs::symlink(&p.elsewhere, p.here.join("link.toml")).unwrap();
    assert!(p.answer(&["run", "link.toml", "--on", "kernel"]).contains(ASKED));
    let mut child = p.longfat(&["run", "-", "--on", "kernel"]);
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SCENARIO.as_bytes()).unwrap();
    let told = p.ends_with_2(child.wait_with_output().unwrap());
    assert!(told.contains(ASKED) && told.contains("stdin:9: flows.f.tool"), "{told}");
}

#[test]
fn what_lies_here_or_is_allowed_or_starts_nothing_is_not_asked_for() {
    let p = Place::new("allowed");
    let file = text(&p.elsewhere);
    for args in
        [&["run", "own.toml", "--on", "kernel"][..], &["run", file, "--on", "kernel", "--allow-tools"]]
    {
        let told = p.answer(args);
        assert!(told.contains(MISSING) && !told.contains(ASKED), "{told}");
    }
    // The simulator starts none, and neither does another variant.
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
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(told.contains(MISSING) && !told.contains(ASKED), "{told}");
}

/// On a terminal, which `script` (util-linux) makes.
#[test]
fn on_a_terminal_it_is_asked_and_no_is_the_default() {
    let p = Place::new("asked");
    for (answer, started) in [("\n", false), ("n\n", false), ("y\n", true)] {
        let line = format!("{} run {} --on kernel", env!("CARGO_BIN_EXE_longfat"), text(&p.elsewhere));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(&p.here);
        let child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return eprintln!("SKIPPED, there is no script(1)") };
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(
            said.contains("start them? [y/N]") && said.contains("flows.f.tool: no-such-program"),
            "{said}"
        );
        assert_eq!(
            (said.contains(MISSING), said.contains("nothing was started")),
            (started, !started),
            "{said}"
        );
    }
}
