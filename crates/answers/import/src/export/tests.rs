//! Scenarios exported as topologies, and read back.

use super::*;
use crate::{Assumed, ImportFormat, ImportSource, import};
use congestion::Control;
use path::{Link, QueueConfig, Shaper, Stage};
use std::collections::{BTreeMap, BTreeSet};
use units::{Choices, Rate, Span, Stream};

fn read(text: &str) -> Experiment {
    Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{}", e.render()))
}

fn exported(experiment: &Experiment) -> Exported {
    to_containerlab(experiment, &[], "img", StagesAs::Commands).unwrap_or_else(|e| panic!("{e}"))
}

fn fates(exported: &Exported) -> Vec<(&str, ExportFate)> {
    exported.parts.iter().map(|p| (p.key.as_str(), p.fate)).collect()
}

/// One link whose first direction has these stages.
fn one_way(stages: Vec<Stage>) -> Experiment {
    let mut experiment = read("[links.l]\nbetween = [\"a\", \"b\"]\n");
    let named =
        |(n, stage): (usize, Stage)| NamedStage { name: format!("s{n}"), stage, file: None, assumed: false };
    experiment.variants[0].scenario.links[0].forward = stages.into_iter().enumerate().map(named).collect();
    experiment
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
fn hosts_links_and_impairments_are_written() {
    let exp = exported(&read(NET));
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
        assert!(exp.yaml.lines().any(|l| l == line), "no {line} in\n{}", exp.yaml);
    }
    use ExportFate::{Approximated, Carried, LeftOut};
    let fates = fates(&exp);
    for right in [
        ("links.lan.forward.policer", Approximated),
        ("links.wan.forward.link", Carried),
        ("links.wan.forward.loss", Carried),
        ("links.wan.backward.shaper", Carried),
        ("links.wan.backward.shaper.queue", Approximated),
        ("links.wan.backward.outage", LeftOut),
        ("hosts.pc.customer", Carried),
        ("hosts.gw.services.0", LeftOut),
        ("hosts.far.stack", LeftOut),
        ("flows.f", LeftOut),
        ("duration", LeftOut),
    ] {
        assert!(fates.contains(&right), "{right:?} in {fates:#?}");
    }
    assert!(exp.yaml.contains("# left out: flows.f: a topology has no traffic: 1 × cubic"), "{}", exp.yaml);
    let others = to_containerlab(&read(NET), &["fast".into()], "img", StagesAs::Commands).unwrap();
    assert!(
        others
            .unlike()
            .any(|p| p.key == "variants.fast" && p.how.contains("only one variant is written: default"))
    );
}

/// Stages that are written key by key; for the others one sentence covers the whole stage.
const BY_KEY: [&str; 7] = ["link", "delay", "jitter", "loss", "duplicate", "shaper", "policer"];
/// Enough draws to cover each kind and key.
const DRAWS: u64 = 3000;

fn drawn(seed: u64, name: &str) -> Vec<u8> {
    let mut stream = Stream::new(seed, name);
    (0..400).map(|_| stream.below(256) as u8).collect()
}

/// The stage with one key removed, for each key of the stage and of its queue whose value differs from the
/// default.
fn without_each_key(stage: &Stage) -> Vec<(String, Stage)> {
    let whole = serde_json::to_value(stage).unwrap();
    let mut all = Vec::new();
    for inner in [None, Some("queue")] {
        let at = inner.map_or(Some(&whole), |key| whole.get(key)).and_then(|v| v.as_object());
        for key in at.into_iter().flatten().map(|(key, _)| key).filter(|key| *key != "kind") {
            let mut less = whole.clone();
            let from = if let Some(inner) = inner { &mut less[inner] } else { &mut less };
            from.as_object_mut().unwrap().remove(key);
            let Ok(less) = serde_json::from_value::<Stage>(less) else { continue };
            if less.check().is_ok() && less != *stage {
                all.push((format!("{}{key}", inner.map_or(String::new(), |i| format!("{i}."))), less));
            }
        }
    }
    all
}

/// Every kind of stage and queue in the registries is accounted for; for the kinds written key by key,
/// removing a key changes the file or the account of the stage.
#[test]
fn every_kind_and_every_key_is_accounted_for() {
    let mut kinds = BTreeSet::new();
    let mut keys = BTreeMap::new();
    for seed in 0..DRAWS {
        let stage = Stage::draw(&mut Choices(&drawn(seed, "stage")));
        if stage.check().is_err() {
            continue;
        }
        let export = |stage: &Stage| match to_containerlab(
            &one_way(vec![stage.clone()]),
            &[],
            "img",
            StagesAs::Commands,
        ) {
            Ok(exported) => (exported.yaml, exported.parts),
            Err(nothing) => (nothing.to_string(), nothing.parts),
        };
        let (yaml, parts) = export(&stage);
        let own: Vec<_> = parts.iter().filter(|p| p.key.starts_with("links.l.forward.s0")).collect();
        let first = own.first().unwrap_or_else(|| panic!("{stage:?} is dropped in silence"));
        assert!(first.key == "links.l.forward.s0" && own.iter().all(|p| !p.how.is_empty()), "{own:?}");
        kinds.insert(stage.kind());
        if !BY_KEY.contains(&stage.kind()) {
            assert_ne!(first.fate, ExportFate::Carried, "{stage:?}: its keys are ignored");
            continue;
        }
        // A stage that is left out has no keys; without a rate, the queue has no effect.
        if first.fate == ExportFate::LeftOut || matches!(&stage, Stage::Link(Link { rate: None, .. })) {
            continue;
        }
        for (key, less) in without_each_key(&stage) {
            let (seen, shown): &mut (u64, u64) = keys.entry(format!("{}.{key}", stage.kind())).or_default();
            *seen += 1;
            *shown += u64::from(export(&less) != (yaml.clone(), parts.clone()));
        }
    }
    // Half of the draws of a switch equal its default.
    for (key, (seen, shown)) in &keys {
        assert!(shown * 2 >= *seen, "{key} shows in {shown} of {seen} stages");
    }
    assert_eq!(kinds.len(), Stage::KINDS.len(), "{kinds:?}");
    for key in [
        "link.queue.packets",
        "link.mtu",
        "shaper.peak_rate",
        "shaper.latency",
        "policer.per_flow",
        "jitter.every",
        "loss.loss_bad",
    ] {
        assert!(keys.contains_key(key), "{key} of {keys:?}");
    }
}

#[test]
fn every_queue_is_a_discipline_or_a_fifo_with_its_length() {
    for kind in QueueConfig::KINDS {
        let queue: QueueConfig =
            serde_json::from_value(serde_json::json!({ "kind": kind, "packets": 250 })).unwrap();
        let rate = Rate::from_bps(5_000_000);
        let link = Link { rate: Some(rate), queue: queue.clone(), ..Link::default() };
        let shaper = Shaper { queue: Some(queue), ..Shaper::new(rate) };
        for stages in [vec![link.clone().into()], vec![shaper.clone().into()]] {
            let exp = exported(&one_way(stages));
            assert!(exp.parts.iter().any(|p| p.key == "links.l.forward.s0.queue"), "{kind}: {:?}", exp.parts);
            let below = exp.yaml.contains("parent 2: handle 3: ");
            assert_eq!(below, *kind != "fifo", "{kind}: {}", exp.yaml);
        }
        // Below an existing TBF, the queue of a link becomes a FIFO, and its length is reported.
        let exp = exported(&one_way(vec![Shaper::new(Rate::from_bps(9_000_000)).into(), link.into()]));
        let how = &exp.parts.iter().find(|p| p.key == "links.l.forward.s1.queue").unwrap().how;
        assert!(*kind == "fifo" || how.contains("250 packets, 606 ms of delay when full"), "{kind}: {how}");
    }
}

#[test]
fn a_scenario_without_writable_stages_is_an_error() {
    let outage = r#"links = { l = { between = ["a", "b"], forward = [{ kind = "outage", at = ["1s"], lasts = "1s" }] } }"#;
    let error = to_containerlab(&read(outage), &[], "img", StagesAs::Commands).unwrap_err();
    assert!(error.to_string().contains("links.l.forward.outage"), "{error}");
    // A scenario without stages has only bare links.
    assert_eq!(exported(&one_way(vec![])).unlike().count(), 0);
}

#[test]
fn a_queue_below_a_tbf_is_read_back() {
    let queue = QueueConfig::FqCoDel(path::queue::FqCoDel { packets: 600, ..Default::default() });
    let link = Link {
        rate: Some(Rate::from_bps(5_000_000)),
        delay: Span::from_millis(10),
        queue: queue.clone(),
        ..Link::default()
    };
    let yaml = exported(&one_way(vec![link.into()])).yaml;
    let read_file = |_: &str| Err("none".to_string());
    let source =
        ImportSource { name: "n.clab.yml", text: &yaml, own_name: None, values: &[], read_file: &read_file };
    let assumed = Assumed { rtt: Some(Span::ZERO), line: None, duration: None, cc: Control::default() };
    let back = import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    let stages = &back.experiment.variants[0].scenario.links[0].forward;
    assert!(
        stages.iter().any(|s| matches!(&s.stage, Stage::Shaper(s) if s.queue() == queue)),
        "{stages:?}\n{yaml}"
    );
    assert!(
        stages.iter().any(|s| matches!(&s.stage, Stage::Delay(d) if d.delay == Span::from_millis(10))),
        "{stages:?}"
    );
}

/// The topology read back has the delays, losses and limits of the scenario.
#[test]
fn a_topology_is_read_back_as_its_scenario() {
    let text = r#"
        [links]
        one = { between = ["a", "b"], forward = [{ kind = "link", rate = "5Mbit/s", delay = "10ms" }], backward = [{ kind = "link", rate = "7Mbit/s", delay = "15ms" }] }
        two = { between = ["b", "c"], forward = [{ kind = "link", rate = "3Mbit/s", delay = "2.5ms" }], backward = [{ kind = "loss", probability = 0.005 }] }
    "#;
    let experiment = read(text);
    let scenario = &experiment.variants[0].scenario;
    let yaml = exported(&experiment).yaml;
    let read_file = |_: &str| Err("none".to_string());
    let source =
        ImportSource { name: "n.clab.yml", text: &yaml, own_name: None, values: &[], read_file: &read_file };
    let assumed = Assumed { rtt: Some(Span::ZERO), line: None, duration: None, cc: Control::default() };
    assert_eq!(ImportFormat::of(&yaml), Some(ImportFormat::Containerlab));
    let back = import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    let back = &back.experiment.variants[0].scenario;
    // For a direction: the lowest rate, all delays, the losses.
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
    // A direction without a rate is read back with an assumed one: a topology cannot express that there is
    // none.
    let read_back = |was: &[scenario::NamedStage], is: &[scenario::NamedStage]| {
        let (was, is) = (sum(was), sum(is));
        assert_eq!(was, (was.0.and(is.0), is.1, is.2), "{yaml}");
    };
    for (was, is) in scenario.links.iter().zip(&back.links) {
        read_back(&was.forward, &is.forward);
        read_back(&was.backward, &is.backward);
    }
}

#[test]
fn attached_stages_need_no_commands_and_name_the_nodes() {
    let experiment = read(NET);
    let exported = to_containerlab(&experiment, &[], "img", StagesAs::Attached).unwrap();
    assert!(!exported.yaml.contains("tc "), "{}", exported.yaml);
    let attach = Experiment::parse("attach.toml", &exported.attach.unwrap(), &[]).unwrap();
    let (had, has) = (&experiment.variants[0].scenario, &attach.variants[0].scenario);
    assert_eq!(had.links, has.links);
    let with_stages = had.links.iter().filter(|l| !l.forward.is_empty() || !l.backward.is_empty());
    let names: Vec<&String> = with_stages.map(|l| &l.name).collect();
    assert_eq!(has.attachments.iter().map(|a| &a.name).collect::<Vec<_>>(), names);
    for a in &has.attachments {
        let node = &has.hosts[has.links[a.link].between[0]].name;
        assert!(a.target.starts_with(&format!("clab:{}/{node}:eth", has.name)), "{}", a.target);
    }
}
