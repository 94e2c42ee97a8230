//! `longfat import`: the scenario runs, mistakes are reported by line, exit codes.

use crate::place::{Place, json, stderr, stdout};

const TBF: &str = "tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 50ms\n";

#[test]
fn an_imported_scenario_runs() {
    let place = Place::new("import");
    place.file("setup.sh", TBF);
    let out = place.longfat(&["import", "setup.sh", "-o", "s.toml", "--rtt", "10ms"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let report = stdout(&out);
    assert!(report.contains("1 of 1 lines understood\n") && !report.contains("round-trip"), "{report}");
    assert!(report.ends_with("wrote s.toml\nnext: longfat run s.toml\n"), "{report}");
    let run = place.longfat(&["run", "s.toml", "--set", "duration=5s", "--json", "--no-progress"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let goodput = json(&stdout(&run))["variants"][0]["total_goodput_mbps"].as_f64().unwrap();
    // 20 Mbit/s minus headers.
    assert!((18.0..=20.0).contains(&goodput), "{goodput}");
    // An existing file is overwritten only with --force.
    let again = place.longfat(&["import", "setup.sh", "-o", "s.toml"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
}

#[test]
fn exit_code_and_json_report_mistakes() {
    let place = Place::new("import-found");
    place.file("bad.sh", "tc qdisc add dev eth0 root tbf rate 1gbit burst 15kb limit 1mb mood 3\n");
    let out = place.longfat(&["import", "bad.sh"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        stderr(&out).contains("bad.sh:1: ") && stderr(&out).contains("[burst-small]"),
        "{}",
        stderr(&out)
    );
    assert!(stdout(&out).starts_with("# Imported from bad.sh"), "{}", stdout(&out));
    let report = json(&stdout(&place.longfat(&["import", "bad.sh", "--json"])));
    assert_eq!(report["schema"], "longfat-import/1");
    assert_eq!(report["lint"][0]["rule"], "burst-small");
    assert_eq!(report["not_understood"][0]["line"], 1);
    assert!(report["scenario"].as_str().unwrap().contains("kind = \"shaper\""));
    place.file("prose.txt", "Dear Sir or Madam,\n");
    let none = place.longfat(&["import", "prose.txt"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("unknown format"), "{}", stderr(&none));
    assert_eq!(place.longfat(&["import", "missing"]).status.code(), Some(2));
    assert_eq!(place.longfat(&["import", "prose.txt", "--as", "tc"]).status.code(), Some(2));
}

#[test]
fn a_scenario_refers_to_the_imported_trace_in_its_folder() {
    let place = Place::new("import-trace");
    place.file("cell.trace", "0\n2\n4\n6\n8\n10\n");
    let out = place.longfat(&["import", "cell.trace", "-o", "cell.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let run = place.longfat(&["run", "cell.toml", "--set", "duration=3s", "--json", "--no-progress"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(String::from_utf8(place.read("cell.toml")).unwrap().contains("file = \"cell.trace\""));
}

#[test]
fn a_scripts_variable_gets_its_value_from_define() {
    let place = Place::new("import-define");
    place.file("s.sh", "RATE=$2\ntc qdisc add dev $1 root tbf rate ${RATE}mbit burst 32kb latency 50ms\n");
    assert_eq!(place.longfat(&["import", "s.sh"]).status.code(), Some(2));
    let out = place.longfat(&["import", "s.sh", "--define", "1=eth7", "--define", "RATE=5"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(
        stdout(&out).contains("[links.eth7]") && stdout(&out).contains("\"5Mbit/s\""),
        "{}",
        stdout(&out)
    );
}
