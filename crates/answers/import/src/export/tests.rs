//! Topologies of scenarios, and scenarios of these topologies.

use super::*;
use crate::{Assumed, ImportFormat, ImportSource, import};
use congestion::Control;
use path::{Link, Stage};
use scenario::Experiment;
use units::Span;

fn read(text: &str) -> Scenario {
    let e = Experiment::parse("t.toml", text, &[]);
    e.unwrap_or_else(|e| panic!("{}", e.render())).variants.remove(0).scenario
}

const NET: &str = r#"
name = "net"
[hosts]
pc = { customer = "red", addresses = ["192.168.0.1/24"] }
other = { customer = "blue", addresses = ["192.168.0.1/24"] }
gw = { services = [{ kind = "bgp", as = 1 }] }
far = { services = [{ kind = "bgp", as = 2 }], stack = { sack = false } }
[links]
lan = { between = ["pc", "gw"], forward = [{ kind = "policer", rate = "20Mbit/s", burst = "9000B" }] }
blue = { between = ["other", "gw"] }
[links.wan]
between = ["gw", "far"]
forward = [{ kind = "link", rate = "5Mbit/s", delay = "10ms" }, { kind = "loss", probability = 0.01 }]
backward = [{ kind = "shaper", rate = "2Mbit/s", burst = "10kB", queue = { kind = "fifo", packets = 10 } }, { kind = "delay", delay = "30ms" }, { kind = "outage", at = ["1s"], lasts = "1s" }]
[flows.f]
from = "pc"
to = "far"
"#;

#[test]
fn hosts_links_and_what_impairs_them_are_said() {
    let told = to_containerlab(&read(NET), "img");
    for line in [
        "name: \"net\"",
        "    - endpoints: [\"gw:eth3\", \"far:eth1\"]",
        "        - \"tc qdisc add dev eth3 root handle 1: netem delay 10000us loss 1% rate 5000000bit limit 1005\"",
        "        - \"tc qdisc add dev eth1 root handle 1: netem delay 30000us limit 100000\"",
        "        - \"tc qdisc add dev eth1 parent 1: handle 2: tbf rate 2000000bit burst 10000b limit 25140b\"",
        "        - \"tc filter add dev eth1 parent ffff: protocol all matchall action police rate 20000000bit burst 9000b conform-exceed drop\"",
        "        - \"ip rule add iif eth2 lookup 101\"",
        "        - \"ip route replace 192.168.0.1/32 via 100.64.0.0 dev eth1 src 10.0.0.2 table 100\"",
    ] {
        assert!(told.yaml.lines().any(|l| l == line), "no {line} in\n{}", told.yaml);
    }
    let keys: Vec<&str> = told.unsaid.iter().map(|u| u.key.as_str()).collect();
    assert!(keys.contains(&"links.wan.backward.outage") && keys.contains(&"flows.f"), "{keys:?}");
    assert!(keys.contains(&"hosts.gw.services.0") && keys.contains(&"hosts.far.stack"), "{keys:?}");
    assert!(told.yaml.contains("# not said: flows.f: a topology has no traffic"));
}

/// What is read of the topology delays, loses and limits as the scenario does.
#[test]
fn a_topology_is_read_back_as_what_it_was_made_of() {
    let text = r#"
        [links]
        one = { between = ["a", "b"], forward = [{ kind = "link", rate = "5Mbit/s", delay = "10ms" }], backward = [{ kind = "link", rate = "7Mbit/s", delay = "15ms" }] }
        two = { between = ["b", "c"], forward = [{ kind = "link", rate = "3Mbit/s", delay = "2.5ms" }], backward = [{ kind = "loss", probability = 0.005 }] }
    "#;
    let scenario = read(text);
    let yaml = to_containerlab(&scenario, "img").yaml;
    let beside = |_: &str| Err("none".to_string());
    let source =
        ImportSource { name: "n.clab.yml", text: &yaml, own_name: None, values: &[], beside: &beside };
    let assumed = Assumed { rtt: Some(Span::ZERO), line: None, duration: None, cc: Control::default() };
    assert_eq!(ImportFormat::of(&yaml), Some(ImportFormat::Containerlab));
    let back = import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    let back = &back.experiment.variants[0].scenario;
    // Of a direction: the lowest rate, all delays, the losses.
    let sum = |stages: &[scenario::NamedStage]| {
        let (mut rate, mut delay, mut loss) = (None, Span::ZERO, None);
        for s in stages.iter().filter(|s| !s.assumed) {
            match &s.stage {
                Stage::Link(Link { rate: r, delay: d, .. }) => {
                    rate = rate.or(*r);
                    delay += *d;
                }
                Stage::Delay(d) => delay += d.delay,
                Stage::Loss(l) => loss = l.probability,
                other => panic!("{other:?}"),
            }
        }
        (rate, delay, loss)
    };
    // A direction without a rate is read as a link of some rate: the topology cannot say that there is none.
    let read_back = |was: &[scenario::NamedStage], is: &[scenario::NamedStage]| {
        let (was, is) = (sum(was), sum(is));
        assert_eq!(was, (was.0.and(is.0), is.1, is.2), "{yaml}");
    };
    for (was, is) in scenario.links.iter().zip(&back.links) {
        read_back(&was.forward, &is.forward);
        read_back(&was.backward, &is.backward);
    }
}
