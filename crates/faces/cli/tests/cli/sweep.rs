//! `longfat sweep`: its dataset, resuming, and errors.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
name = "line"
duration = "1s"
measure = "400ms..1s"
[links.wan]
between = ["a", "b"]
forward = [
    { kind = "policer", rate = "5Mbit/s", burst = "30kB" },
    { kind = "delay", name = "way", delay = "10ms" },
]
backward = [{ kind = "delay", name = "way", delay = "10ms" }]
[flows.up]
from = "a"
to = "b"
count = 2
[variants.cubic]
[variants.reno]
"flows.up.cc" = "reno"
"#;
const AXES: [&str; 4] =
    ["--vary", "rate:links.wan.forward.policer.rate=2..8Mbit/s:lin:3", "--vary", "flows.up.count=1,2"];

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = std::env::temp_dir().join(format!("longfat-sweep-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("line.toml"), SCENARIO).unwrap();
        Place(dir)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.current_dir(&self.0).args(args);
        command
    }

    fn longfat(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn sweep(&self, out: &str, more: &[&str]) -> Output {
        let mut args = vec!["sweep", "line.toml", "--out", out];
        args.extend(more);
        self.longfat(&args)
    }

    fn files(&self, out: &str) -> Vec<Vec<u8>> {
        let files = ["cells.parquet", "flows.parquet", "sweep.json", "report.html"];
        files.map(|f| fs::read(self.0.join(out).join(f)).unwrap_or_else(|e| panic!("{f}: {e}"))).to_vec()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every row has the numbers that `longfat run` prints for the same settings.
#[test]
fn a_cell_is_what_run_gives() {
    let place = Place::new("same");
    let grid = sweep_rows(&place);
    assert_eq!(grid.len(), 12);
    for row in &grid {
        let [rate, count] = [&row["values"][0], &row["values"][1]].map(|v| v.as_str().unwrap());
        let rate = format!("links.wan.forward.policer.rate={rate}");
        let count = format!("flows.up.count={count}");
        let variant = row["variant"].as_str().unwrap();
        let args = [
            "run",
            "line.toml",
            "--json",
            "--repeat",
            "1",
            "--set",
            &rate,
            "--set",
            &count,
            "--variant",
            variant,
            "--force",
        ];
        let run = &json(&place.longfat(&args))["variants"][0];
        let cell = &row["figures"];
        assert_eq!(cell["total_goodput_mbps"], run["total_goodput_mbps"], "{row}");
        let flows = cell["flows"].as_array().unwrap();
        assert_eq!(flows.len(), run["flows"].as_array().unwrap().len());
        for (flow, by_run) in flows.iter().zip(run["flows"].as_array().unwrap()) {
            for key in ["name", "cc", "goodput_mbps", "sent_packets", "retransmitted_packets", "timeouts"] {
                assert_eq!(flow[key], by_run[key], "{key} of {row}");
            }
            assert_eq!(flow["rtt_ms"][3], by_run["rtt_ms"]["p95"]);
        }
    }
}

/// Returns all rows of a sweep from its kept batches, which remain because the dataset cannot be written.
fn sweep_rows(place: &Place) -> Vec<Value> {
    let out = place.0.join("rows");
    fs::create_dir_all(out.join("cells.parquet")).unwrap();
    let done = place.sweep("rows", &AXES);
    assert_eq!(done.status.code(), Some(2), "a folder is in the dataset's place: {}", stderr(&done));
    let parts =
        fs::read_dir(out.join("parts")).unwrap().map(|e| fs::read_to_string(e.unwrap().path()).unwrap());
    let lines: Vec<String> = parts.flat_map(|p| p.lines().map(String::from).collect::<Vec<_>>()).collect();
    lines
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .filter(|v: &Value| v.get("cell").is_some())
        .collect()
}

#[test]
fn the_dataset_does_not_depend_on_jobs_or_interruptions() {
    let place = Place::new("resume");
    let whole = place.sweep("whole", &AXES);
    assert!(whole.status.success(), "{}", stderr(&whole));
    let one = [&AXES[..], &["--jobs", "1"]].concat();
    assert!(place.sweep("one", &one).status.success());
    assert_eq!(place.files("whole"), place.files("one"));
    // Killed repeatedly while it runs, then run to its end.
    let args = [&["sweep", "line.toml", "--out", "killed", "--jobs", "1"], &AXES[..]].concat();
    let mut kept = 0;
    for _ in 0..20 {
        let mut child = place.command(&args).spawn().unwrap();
        let parts = |place: &Place| fs::read_dir(place.0.join("killed/parts")).map_or(0, Iterator::count);
        let (before, since) = (parts(&place), Instant::now());
        while parts(&place) <= before && child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < Duration::from_secs(60), "no batch was kept");
            sleep(Duration::from_millis(1));
        }
        drop(child.kill());
        child.wait().unwrap();
        kept = kept.max(parts(&place));
    }
    assert!(kept > 0, "it was over before it was killed");
    assert!(place.sweep("killed", &AXES).status.success());
    assert_eq!(place.files("whole"), place.files("killed"));
    assert!(!place.0.join("killed/parts").exists());
    // Running it again changes nothing.
    assert!(place.sweep("killed", &AXES).status.success());
    assert_eq!(place.files("whole"), place.files("killed"));
}

#[test]
fn a_bad_value_is_a_row_and_a_bad_axis_is_an_error() {
    let place = Place::new("bad");
    let done = place.sweep("rows", &["--vary", "flows.up.cc=cubic,nonsense", "--json"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((summary["cells"].as_u64(), summary["failed"].as_u64()), (Some(4), Some(2)));
    let text = place.sweep("rows", &["--vary", "flows.up.cc=cubic,nonsense"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("nonsense"));
    for (args, why) in [
        (&["--vary", "flows.up.cc=nonsense,more"][..], "nonsense"),
        (&["--vary", "flows.down.cc=bbr"], "down"),
        (&["--vary", "flows.up.cc"], "`=` is missing"),
        (&["--vary", "flows.up.cc=bbr", "--variant", "other"], "no variant is called `other`"),
        (&["--vary", "flows.up.count=1..2:log:many"], "not a number of values"),
    ] {
        let done = place.sweep("none", args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(stderr(&done).contains(why), "{args:?}: {}", stderr(&done));
        assert!(!place.0.join("none").exists(), "nothing was run");
    }
    // Another grid replaces it only with --force.
    let other = place.sweep("rows", &["--vary", "flows.up.count=1,2"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("a sweep of something else"), "{}", stderr(&other));
    assert!(place.sweep("rows", &["--vary", "flows.up.count=1,2", "--force"]).status.success());
    assert!(Path::new(&place.0.join("rows/cells.parquet")).exists());
}
