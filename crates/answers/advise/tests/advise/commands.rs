//! Checks printed configurations with the programs that read them, if these are installed: nginx and HAProxy
//! have their own tests of a configuration. Commands for a kernel are tested where they run (`make netns`).

use advise::{Situation, named};
use result::{CommandSet, Platform};
use scenario::Experiment;
use std::path::PathBuf;
use std::process::{Command, Output};

const PATH: &str = r#"
[links.a]
between = ["office", "node"]
[links.b]
between = ["node", "origin"]
forward = [{ kind = "link", rate = "20Mbit/s" }]
backward = [{ kind = "link", rate = "20Mbit/s" }]
[flows.f]
from = "origin"
to = "office"
"#;

/// Returns what a cure prints for a platform, with hosts replaced by addresses of this machine.
fn printed(cure: &str, platform: Platform) -> CommandSet {
    let s = Experiment::parse("t.toml", PATH, &[]).unwrap().variants.remove(0).scenario;
    let option = named(cure).unwrap().options(&Situation::new(std::slice::from_ref(&s))).remove(0);
    let mut set = option.commands().find(|c| c.platform == platform).unwrap().clone();
    set.apply.iter_mut().for_each(|line| *line = line.replace(" origin:", " 127.0.0.1:"));
    set
}

fn file(name: &str, lines: &[String]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("longfat-{}-{name}", std::process::id()));
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Runs a program; `None`, with a message, where it is not installed.
fn run(program: &str, args: &[&str]) -> Option<Output> {
    let folders = ["", "/usr/sbin/"];
    let done = folders.iter().find_map(|p| Command::new(format!("{p}{program}")).args(args).output().ok());
    if done.is_none() {
        eprintln!("SKIPPED: {program} is not on this machine");
    }
    done
}

fn output(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout)
}

#[test]
fn nginx_accepts_its_configuration() {
    let path = file("nginx.conf", &printed("proxy", Platform::Nginx).apply);
    let Some(done) = run("nginx", &["-t", "-g", "pid /dev/null;", "-c", path.to_str().unwrap()]) else {
        return;
    };
    if output(&done).contains("unknown directive \"stream\"") {
        eprintln!("SKIPPED: this nginx has no stream module");
        return;
    }
    assert!(done.status.success(), "{}", output(&done));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn haproxy_accepts_its_configuration() {
    let Some(version) = run("haproxy", &["-v"]) else { return };
    let version = output(&version);
    let number = version.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    let mut parts = number.split(['.', '-']).map(|n| n.parse::<u32>().unwrap_or(0));
    let knows_cc = (parts.next(), parts.next()) >= (Some(3), Some(3));
    for cure in ["proxy", "proxy-bbr"] {
        let mut set = printed(cure, Platform::Haproxy);
        if !knows_cc {
            // The requirements say so for older versions.
            assert!(cure == "proxy" || set.needs.contains("3.3"), "{}", set.needs);
            set.apply.iter_mut().for_each(|line| *line = line.replace(" cc bbr", ""));
        }
        let path = file(&format!("{cure}.cfg"), &set.apply);
        let done = run("haproxy", &["-c", "-f", path.to_str().unwrap()]).unwrap();
        assert!(done.status.success(), "{cure}: {}", output(&done));
        std::fs::remove_file(path).unwrap();
    }
}

/// Commands for a shell are valid: `sh -n` parses them.
#[test]
fn a_shell_parses_the_commands() {
    let s = Experiment::parse("t.toml", PATH, &[]).unwrap().variants.remove(0).scenario;
    let situation = Situation::new(std::slice::from_ref(&s));
    let mut seen = 0;
    for option in advise::CURES.iter().flat_map(|c| c.options(&situation)) {
        for set in option.commands().filter(|c| c.platform == Platform::Linux) {
            for lines in [&set.apply, &set.undo] {
                let Some(done) = run("sh", &["-n", "-c", &lines.join("\n")]) else { return };
                assert!(done.status.success(), "{}: {lines:?}: {}", option.name, output(&done));
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "{seen}");
}
