//! Results of the simulator conform to the JSON Schema.

#[path = "../../../../engine/scenario/tests/scenario/validate.rs"]
mod validator;

use crate::common::{parse, run_seed};
use result::{Run, combine, concat, to_json};
use serde_json::{Value, json};

fn file(name: &str) -> scenario::Experiment {
    let path = format!("{}/../../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let sets = [r#"duration="2s""#.to_string()];
    scenario::Experiment::parse(&path, &text, &sets).unwrap_or_else(|e| panic!("{}", e.render()))
}

fn results() -> Vec<Value> {
    let text = |description: &str, variants| {
        let run = Run {
            scenario: "s".into(),
            description: description.into(),
            seed: 1,
            variants,
            ..Run::default()
        };
        serde_json::from_str(&to_json(&run)).unwrap()
    };
    let of_file = |name: &str| {
        let experiment = file(name);
        let play = |v: &scenario::Variant| {
            let outcomes = [1, 2]
                .map(|seed| sim::run(&v.name, &v.scenario, sim::SimOptions { seed, ..Default::default() }));
            combine(&outcomes, &[1, 2])
        };
        text(&experiment.description, experiment.variants.iter().map(play).collect())
    };
    let relayed = r#"duration = "1s"
[links.one]
between = ["a", "r"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "5ms" }]
[links.two]
between = ["r", "b"]
forward = [{ kind = "loss", probability = 0.01 }]
[relays.r]
host = "r"
[flows]
bulk = { from = "a", to = "b", via = ["r"], cc = "bbr" }
ask = { from = "b", to = "a", app = { kind = "request", request = "1kB", response = "1MB" } }
voice = { from = "a", to = "b", app = { kind = "udp", rate = "1Mbit/s" } }
"#;
    assert_eq!(parse(relayed).relays.len(), 1);
    let alone = concat(vec![("x".into(), run_seed(relayed, 1)), ("y".into(), run_seed(relayed, 2))]);
    let plain = text("", vec![run_seed(relayed, 1).variant, alone.variant]);
    vec![of_file("policer-or-shaper"), of_file("home-line"), plain]
}

#[test]
fn results_conform_to_the_schema_and_broken_ones_do_not() {
    let schema: Value = serde_json::from_str(result::schema()).unwrap();
    for good in results() {
        validator::validate(&schema, &good).unwrap();
        let flow = "/variants/0/flows/0";
        for (at, bad) in [
            ("/schema", json!("longfat-result/3")),
            ("/seed", json!(-1)),
            ("/variants", json!({})),
            ("/variants/0/clock", json!("moon")),
            ("/variants/0/path/links/0/between", json!(["a"])),
            ("/variants/0/path/links/0/forward/0/settings", json!({ "rate": 3 })),
            (&format!("{flow}/goodput_mbps"), json!("fast")),
            (&format!("{flow}/sent_packets"), json!(1.5)),
            (&format!("{flow}/rtt_ms/p50"), Value::Null),
        ] {
            let mut broken = good.clone();
            *broken.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = bad;
            assert!(validator::validate(&schema, &broken).is_err(), "{at}");
        }
        for (at, key) in
            [("", "schema"), ("/variants/0", "flows"), (flow, "name"), ("/variants/0/elements/0", "kind")]
        {
            let mut broken = good.clone();
            broken.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(key).unwrap();
            assert!(validator::validate(&schema, &broken).is_err(), "{at}/{key}");
        }
        // A later minor version may add keys.
        let mut newer = good.clone();
        newer["variants"][0]["flows"][0]["colour"] = json!("green");
        validator::validate(&schema, &newer).unwrap();
    }
}
