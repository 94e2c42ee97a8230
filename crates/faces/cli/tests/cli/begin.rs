//! The commands for beginners: `examples`, `new`, `completions`, `man`.

use crate::place::{Place, json, native, stderr, stdout};
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn examples_are_listed_shown_and_copied() {
    let place = Place::new("examples");
    let list = stdout(&place.longfat(&["examples"]));
    assert!(
        list.starts_with("call ") && list.contains("\ncc-primer ") && list.contains("\nhome-line  "),
        "{list}"
    );
    assert!(list.lines().all(|l| l.chars().count() <= 80), "{list}");
    let all = json(&stdout(&place.longfat(&["examples", "--json"])));
    assert!(all["examples"].as_array().unwrap().len() >= 8);
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/home-line.toml"))
        .unwrap();
    assert_eq!(stdout(&place.longfat(&["examples", "show", "home-line"])), text);
    let copy = |args: &[&str]| place.longfat(&[&["examples", "copy", "home-line"], args].concat());
    assert_eq!(stdout(&copy(&[])), "home-line.toml\n");
    fs::create_dir(place.0.join("folder")).unwrap();
    assert_eq!(stdout(&copy(&["folder"])), native("folder/home-line.toml\n"));
    assert_eq!(place.read("folder/home-line.toml"), text.as_bytes());
    // An existing file is overwritten only with --force.
    place.file("home-line.toml", "mine");
    let refused = copy(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--force"), "{}", stderr(&refused));
    assert_eq!(place.read("home-line.toml"), b"mine");
    assert_eq!(copy(&["--force"]).status.code(), Some(0));
    assert_eq!(place.read("home-line.toml"), text.as_bytes());
    let unknown = place.longfat(&["examples", "show", "hone-line"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `home-line`?"), "{}", stderr(&unknown));
}

#[test]
fn an_example_runs_by_its_name_unless_a_file_has_that_name() {
    let place = Place::new("by-name");
    let run = |name| place.longfat(&["run", name, "--set", "duration=1s", "--json", "--force"]);
    for name in ["home-line", "home-line.toml"] {
        let out = run(name);
        assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
        assert!(stderr(&out).starts_with(&format!("longfat: no file {name}: ")), "{}", stderr(&out));
        assert_eq!(json(&stdout(&out))["scenario"], "home-line");
    }
    place.file("home-line", "nonsense");
    assert!(stderr(&run("home-line")).contains("not valid TOML"));
    let near = run("home-lime");
    assert_eq!(near.status.code(), Some(2));
    let error = stderr(&near);
    assert!(
        error.starts_with("error: home-lime: ") && error.contains("did you mean `home-line`?"),
        "{error}"
    );
}

#[test]
fn a_new_scenario_runs() {
    let place = Place::new("new");
    let args = ["new", "--rate", "10Mbit/s", "--burst", "9kB", "--duration", "1s", "-o", "mine.toml"];
    let out = place.longfat(&args);
    assert_eq!(
        stdout(&out),
        "wrote mine.toml: policer-cubic, policer-bbr, shaper-cubic, shaper-bbr, edge-shaper-cubic, edge-shaper-bbr\n\
         next: longfat run mine.toml\n"
    );
    let text = String::from_utf8(place.read("mine.toml")).unwrap();
    assert!(text.starts_with('#') && text.contains("\"9kB\""), "commented: {text}");
    let run = place.longfat(&["run", "mine.toml", "--json"]);
    assert_eq!((run.status.code(), stderr(&run).contains("warning")), (Some(0), false), "{}", stderr(&run));
    // An existing file is not overwritten.
    let again = place.longfat(&args);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    // To standard output, with a warning on standard error.
    let out = place.longfat(&["new", "--burst", "900B", "-o", "-"]);
    assert!(stdout(&out).contains("[variants.policer-cubic]"), "{}", stdout(&out));
    assert!(stderr(&out).starts_with("warning: links.wan.forward.limiter.burst: "), "{}", stderr(&out));
}

#[test]
fn invalid_answers_are_refused() {
    let place = Place::new("new-bad");
    let refused = |args: &[&str]| {
        let out = place.command().arg("new").args(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", stdout(&out));
        stderr(&out)
    };
    assert!(refused(&[]).contains("--yes"));
    assert!(refused(&["--rate", "20"]).contains("no unit"));
    assert!(refused(&["--cc", "cubik"]).contains("cubic"));
    assert!(refused(&["--goal", "speed"]).contains("goodput"));
    assert!(refused(&["--loss", "120%"]).contains("0% to 100%"));
    assert!(refused(&["--name", "my path"]).contains("cannot be a name"));
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 0, "nothing is written");
}

#[test]
fn completions_have_the_commands_and_options() {
    let place = Place::new("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = stdout(&place.longfat(&["completions", shell]));
        for word in ["examples", "resume", "expect"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let text = stdout(&place.longfat(&["completions", "bash"]));
    let checked = Command::new("bash").args(["-n", "-c", &text]).output();
    if cfg!(windows) && checked.is_err() {
        eprintln!("SKIPPED: no bash to check its completions");
        return;
    }
    let checked = checked.unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new("man");
    assert!(stdout(&place.longfat(&["man"])).contains(".TH longfat 1"));
    assert!(stdout(&place.longfat(&["man", "run"])).contains("\\-\\-resume"));
    let out = place.longfat(&["man", "--out", "pages"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    for name in ["longfat", "longfat-run", "longfat-examples-copy", "longfat-cc-load"] {
        assert!(place.read(&format!("pages/{name}.1")).len() > 300, "{name}");
    }
    let unknown = place.longfat(&["man", "runn"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("there are: run"), "{}", stderr(&unknown));
}
