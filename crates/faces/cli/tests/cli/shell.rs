//! `longfat shell` without privileges: the arguments that it refuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn home_line() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/home-line.toml")
}

/// Runs the command with these arguments after the scenario.
fn shell(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
    command.arg("shell").arg(home_line()).args(args).stdin(Stdio::null());
    command.output().expect("the program starts")
}

fn refused(args: &[&str]) -> String {
    let out = shell(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    assert!(out.stdout.is_empty(), "{args:?}");
    String::from_utf8(out.stderr).expect("UTF-8")
}

#[test]
fn an_unknown_host_is_refused_with_the_known_ones() {
    let text = refused(&["--variant", "fq-codel", "--host", "moon", "--", "true"]);
    assert_eq!(text, "error: --host: no such host: `moon`; there are: home, server\n");
    let text = refused(&["--variant", "fq-codel", "--serve", "moon=iperf3 -s", "--", "true"]);
    assert_eq!(text, "error: --serve: no such host: `moon`; there are: home, server\n");
}

#[test]
fn serve_needs_a_host_and_a_command() {
    for wrong in ["iperf3 -s", "server=", "server= "] {
        let text = refused(&["--variant", "fq-codel", "--serve", wrong, "--", "true"]);
        assert!(text.contains(wrong) && text.contains("HOST=COMMAND"), "{text}");
    }
}

#[test]
fn the_default_variant_is_named_with_the_alternatives() {
    let text = refused(&["--variant", "no-queue", "--", "true"]);
    assert!(text.contains("no-queue") && text.contains("deep-queues, fq-codel"), "{text}");
    let text = refused(&["--host", "moon", "--", "true"]);
    assert!(
        text.starts_with("longfat: variant deep-queues; choose another with --variant: fq-codel\n"),
        "{text}"
    );
}

#[test]
fn a_shell_and_a_scenario_cannot_both_read_standard_input() {
    let out = Command::new(env!("CARGO_BIN_EXE_longfat")).args(["shell", "-"]).stdin(Stdio::null()).output();
    let out = out.expect("the program starts");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("standard input"));
}

#[test]
fn an_error_in_the_scenario_names_its_key() {
    let text = refused(&["--set", "links.line.forward.link.rate=fast", "--", "true"]);
    assert!(text.contains("links.line.forward.link.rate"), "{text}");
}

/// The exit code is the command's own, 127 if it is not found, and 2 if this machine does not permit the lab.
#[test]
fn the_exit_code_is_the_commands() {
    let out = shell(&["--variant", "fq-codel", "--", "sh", "-c", "exit 42"]);
    if out.status.code() == Some(2) {
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(text.contains("missing"), "{text}");
        return eprintln!("SKIPPED, this needs root: {text}");
    }
    assert_eq!(out.status.code(), Some(42));
    let out = shell(&["--variant", "fq-codel", "--", "no-such-command"]);
    assert_eq!(out.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no-such-command: command not found"));
}

/// `shell` and `run` list all missing programs before anything is started, with one command that installs
/// them.
#[cfg(target_os = "linux")]
#[test]
fn missing_programs_are_named_at_once() {
    let folder = std::env::temp_dir().join(format!("longfat-missing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = r#"
duration = "1s"
hosts.b.services = [{ kind = "ftp" }]
[links.l]
between = ["a", "b"]
[relays.pep]
host = "b"
tool = "haproxy"
[links.on]
between = ["b", "c"]
[flows.f]
from = "a"
to = "b"
tool = "curl {to}"
[flows.g]
from = "a"
to = "c"
via = ["pep"]
"#;
    std::fs::write(folder.join("s.toml"), text).expect("a file");
    let refused = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.args(args).current_dir(&folder).env("PATH", "/nowhere").stdin(Stdio::null());
        let out = command.output().expect("the program starts");
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        String::from_utf8(out.stderr).expect("UTF-8")
    };
    let shell = refused(&["shell", "s.toml", "--flows", "--", "true"]);
    let run = refused(&["run", "s.toml", "--on", "kernel", "--no-progress"]);
    for printed in [&shell, &run] {
        for wanted in [
            "flows.f.tool: curl is not installed",
            "relays.pep.tool: haproxy is not installed",
            "hosts.b.services.0: ",
        ] {
            assert!(printed.contains(wanted), "no `{wanted}` in {printed}");
        }
        let last = printed.lines().last().unwrap_or_default();
        assert!(last.contains("apt-get install ") && last.contains("curl haproxy iproute2"), "{printed}");
    }
    // Without the flows only daemons are needed.
    let plain = refused(&["shell", "s.toml", "--", "true"]);
    assert!(plain.contains("hosts.b.services.0: ") && !plain.contains("curl"), "{plain}");
    std::fs::remove_dir_all(&folder).expect("it goes");
}
