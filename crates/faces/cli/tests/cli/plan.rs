//! `longfat plan`: its text, JSON, plot and errors.

use std::process::{Command, Output};

const POLICED: &str = r#"
name = "policed"
duration = "3s"
[links.wan]
between = ["client", "server"]
forward = [{ kind = "policer", rate = "10Mbit/s", burst = "6kB" }, { kind = "delay", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.f]
from = "client"
to = "server"
"#;

fn plan(text: &str, args: &[&str]) -> Output {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("longfat-plan-{}-{}.toml", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_longfat"))
        .arg("plan")
        .arg(&path)
        .args(["--finalists", "3", "--repeat", "2"])
        .args(args)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    done
}

fn out(done: &Output) -> String {
    String::from_utf8(done.stdout.clone()).unwrap()
}

#[test]
fn the_text_has_the_advice_and_the_commands() {
    let done = plan(POLICED, &["--only", "sender-edge"]);
    let text = out(&done);
    assert_eq!(done.status.code(), Some(0), "{text}");
    assert!(text.starts_with("Do this (sender-edge): a shaper of 9.80 Mbit/s"), "{text}");
    assert!(text.contains("tc qdisc replace dev $DEV root handle 1: tbf rate 9800kbit burst 3000"), "{text}");
    // A plan does not know the interface's present qdisc.
    assert!(text.contains("undo:\n    # previous qdisc unknown"), "{text}");
    assert!(text.contains("\n    tc qdisc del dev $DEV root"), "{text}");
    assert!(text.lines().all(|l| l.starts_with("  ") || !l.contains('\u{1b}')), "{text}");
}

#[test]
fn the_plot_is_well_formed_and_has_every_finalist() {
    let file = std::env::temp_dir().join(format!("longfat-plan-{}.svg", std::process::id()));
    let done = plan(POLICED, &["--only", "sender", "--json", "--svg", file.to_str().unwrap()]);
    let plan: advise::Plan = serde_json::from_slice(&done.stdout).unwrap();
    let svg = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let finalists: Vec<_> = plan.cures.iter().filter(|c| c.finalist).collect();
    assert!(finalists.iter().all(|c| svg.contains(&format!(" {}</text>", c.name))), "{svg}");
    // Every coordinate is a number.
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn json_has_the_cures_and_names_its_schema() {
    let done = plan(POLICED, &["--only", "sender", "--json"]);
    let plan: advise::Plan = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((plan.schema.as_str(), plan.variant.as_str()), (advise::PLAN_SCHEMA, "default"));
    assert!(plan.cures.iter().any(|c| c.name == "bbr" && c.changes == ["flows.f.cc=\"bbr\""]));
}

#[test]
fn invalid_arguments_are_refused_with_what_would_be_right() {
    let error = |args: &[&str], text: &str| {
        let done = plan(text, args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(error(&["--only", "boss"], POLICED).contains("sender-edge"));
    assert!(error(&["--keep", "wall"], POLICED).contains("wan.forward.policer"));
    assert!(error(&["--variant", "x"], POLICED).contains("there are: default"));
    assert!(error(&["--objective", "page time"], POLICED).contains("no flow loads pages"));
    assert!(error(&["--only", "sender", "--commands", "magic"], POLICED).contains("no such cure"));
    let idle = POLICED.replace("to = \"server\"\n", "to = \"server\"\nenabled = false\n");
    assert!(error(&[], &idle).contains("the scenario has no flow"));
}

/// Results of `longfat run` are treated as a measurement: a scenario is fitted to them first.
#[test]
fn a_plan_can_be_made_for_a_result_folder() {
    let folder = std::env::temp_dir().join(format!("longfat-plan-results-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("policed.toml"), POLICED).unwrap();
    let longfat = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_longfat")).current_dir(&folder).args(args).output().unwrap()
    };
    let ran = longfat(&["run", "policed.toml", "--out", "results"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let options = ["--only", "sender", "--finalists", "2", "--repeat", "2", "--json"];
    let done = longfat(&[&["plan", "results", "--variant", "default"], &options[..]].concat());
    let planned: advise::Plan = serde_json::from_slice(&done.stdout).unwrap();
    let wrong = longfat(&["plan", "results", "--variant", "other"]);
    let set = longfat(&["plan", "results", "--set", "duration=1s"]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(planned.variant, "fit");
    assert!(planned.cures.iter().chain(&planned.screened).any(|c| c.name == "bbr"));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("it has: default"));
    assert_eq!((wrong.status.code(), set.status.code()), (Some(2), Some(2)));
}

/// Two flows whose ACKs wait behind the data of the other one cannot be fitted by their sum: a plan from such
/// a fit advises nothing, and says why before anything else.
#[test]
fn a_plan_from_a_bad_fit_advises_nothing() {
    const TWO_WAYS: &str = r#"
name = "line"
duration = "4s"
[links.line]
between = ["home", "server"]
forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 250 } }]
backward = [{ kind = "link", rate = "50Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 1000 } }]
[flows.upload]
from = "home"
to = "server"
[flows.download]
from = "server"
to = "home"
"#;
    let folder = std::env::temp_dir().join(format!("longfat-plan-bad-fit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("line.toml"), TWO_WAYS).unwrap();
    let longfat = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_longfat")).current_dir(&folder).args(args).output().unwrap()
    };
    let ran = longfat(&["run", "line.toml", "--out", "results", "--repeat", "1"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let fit: fit::Fit = serde_json::from_slice(&longfat(&["fit", "results", "--json"]).stdout).unwrap();
    let (captured, fitted) = (fit.compared.captured.goodput_mbps, fit.compared.fitted.goodput_mbps);
    assert!(fitted > 1.2 * captured, "it is bad: {fit:?}");
    let done = longfat(&["plan", "results", "--finalists", "1", "--repeat", "2"]);
    let made = longfat(&["plan", "results", "--finalists", "1", "--repeat", "2", "--json"]);
    std::fs::remove_dir_all(&folder).unwrap();
    let text = out(&done);
    assert!(text.starts_with("No cure is advised. The fit is bad, do not trust it:"), "{text}");
    assert!(!text.contains("Do this") && !text.contains("undo:") && text.contains("as it is"), "{text}");
    let plan: advise::Plan = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!((plan.advised, plan.distrust.as_ref()), (None, Some(&fit.headline)));
    assert_eq!((done.status.code(), made.status.code()), (Some(1), Some(1)));
}

#[test]
fn without_a_helpful_cure_the_exit_code_is_1() {
    let free = POLICED.replace("{ kind = \"policer\", rate = \"10Mbit/s\", burst = \"6kB\" }, ", "");
    let free = free.replace("[flows.f]", "[hosts.client]\nstack = { tso = false }\n[flows.f]");
    let done = plan(&free, &["--only", "receiver"]);
    assert_eq!(done.status.code(), Some(1), "{}", out(&done));
    assert!(out(&done).starts_with("No cure that was tried raises goodput"), "{}", out(&done));
}
