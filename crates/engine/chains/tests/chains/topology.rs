//! A scenario's topology in results.

use chains::topology;
use result::Topology;
use scenario::Experiment;

const TEXT: &str = r#"
[links.wan]
between = ["office", "dc"]
forward = [
  { kind = "link", name = "dsl", rate = "20Mbit/s", delay = "2500us", queue = { kind = "fifo", packets = 200 } },
  { kind = "loss", model = "list", packets = [3, 5] },
  { kind = "loss", probability = 0.01, enabled = false },
]
backward = [{ kind = "rate-trace", file = "up.trace", delay = "10ms" }]
[links.lan]
between = ["dc", "server"]
forward = [{ kind = "jitter", distribution = "trace", file = "lan.delays", reorder = true }]
[relays.pep]
host = "dc"
[flows.f]
from = "office"
to = "server"
"#;

fn example() -> Topology {
    let mut read = |name: &str| match name {
        "up.trace" => Ok("0s 10Mbit/s\n1s 5Mbit/s\n".to_string()),
        _ => Ok("1ms\n2ms\n".to_string()),
    };
    let file = Experiment::parse_with("t.toml", TEXT, &[], &mut read).unwrap_or_else(|e| panic!("{e}"));
    topology(&file.variants[0].scenario)
}

#[test]
fn settings_are_spelt_as_in_a_scenario() {
    let t = example();
    assert_eq!(t.hosts, ["office", "dc", "server"]);
    let [wan, lan] = t.links.as_slice() else { panic!("{t:?}") };
    assert_eq!((wan.name.as_str(), wan.between.join("-")), ("wan", "office-dc".to_string()));
    let named: Vec<_> = wan.forward.iter().map(|s| (s.name.as_str(), s.kind.as_str())).collect();
    assert_eq!(named, [("dsl", "link"), ("loss", "loss")], "disabled stages are left out");
    let settings = |stage: &result::topology::PathStage| {
        stage.settings.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        settings(&wan.forward[0]),
        "delay = 2.5ms; queue.kind = fifo; queue.packets = 200; rate = 20Mbit/s"
    );
    let lost = &wan.forward[1].settings;
    assert_eq!((lost["model"].as_str(), lost["packets"].as_str()), ("list", "[3,5]"));
    // The name of the file instead of its content; no defaults.
    assert_eq!(settings(&wan.backward[0]), "delay = 10ms; file = up.trace");
    assert_eq!(settings(&lan.forward[0]), "distribution = trace; file = lan.delays; reorder = true");
    assert!(lan.backward.is_empty());
    assert_eq!((t.relays[0].name.as_str(), t.relays[0].host.as_str()), ("pep", "dc"));
}
