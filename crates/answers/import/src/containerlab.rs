//! containerlab topologies with impaired links.
//!
//! containerlab has no key for impairments (srl-labs/containerlab#1398), so users put them in these places:
//!
//! | place | example |
//! |---|---|
//! | a node's `exec` | `- tc qdisc add dev eth1 root netem delay 10ms` |
//! | a stage's `exec` | `- command: containerlab tools netem set -n r1 -i eth1 --delay 10ms` |
//! | a link's own key, for tools that read it | `impairments: { delay: 10ms, loss: 1, rate: 10000 }`, rate in kbit/s |
//!
//! netem applies to egress: a node's impairments apply to packets that leave its interface; a link's own key
//! applies to both directions.

use crate::shell::Shell;
use crate::tc::{self, TcModel};
use crate::yaml::{Yaml, YamlValue};
use crate::{Assumed, Draft, DraftFlow, DraftLink, DraftStage, Foreign, ImportError, ImportSource, Reading};
use std::collections::BTreeMap;

/// A containerlab topology.
pub(crate) struct Containerlab;

/// Maximum links.
const MAX_LINKS: usize = 500;

impl Foreign for Containerlab {
    const TITLE: &'static str = "containerlab topology";
    const LOOKS_FOR: &'static str =
        "tc or `containerlab tools netem set` in `exec`, and `impairments` of links";

    fn looks_like(text: &str) -> usize {
        let keys = ["topology:", "nodes:", "links:", "kind:", "endpoints:", "- endpoints:", "image:"];
        let hits = |key: &&str| text.lines().filter(|l| l.trim_start().starts_with(*key)).count();
        if hits(&"topology:") == 0 || hits(&"nodes:") == 0 {
            return 0;
        }
        // Its content may look like another format.
        keys.iter().map(hits).sum::<usize>() + 1000
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let root = Yaml::parse(source.text)?;
        for (i, line) in source.text.lines().enumerate() {
            let trimmed = line.trim();
            if !trimmed.is_empty() && !trimmed.starts_with('#') {
                reading.lines.insert(i + 1);
            }
        }
        let Some(topology) = root.get("topology") else {
            return Err(ImportError::Syntax { line: root.line, why: "there is no `topology`".into() });
        };
        Ok(topology_of(topology, reading))
    }
}

/// A link of the topology; its ends are node and interface.
struct LabLink<'y> {
    line: usize,
    ends: [(String, String); 2],
    impairments: Option<&'y Yaml>,
}

fn topology_of(topology: &Yaml, reading: &mut Reading) -> Draft {
    aliases(topology, reading);
    let links: Vec<LabLink> = match topology.get("links") {
        Some(links) => links.list().take(MAX_LINKS).filter_map(|link| lab_link(link, reading)).collect(),
        None => Vec::new(),
    };
    let mut models: BTreeMap<String, TcModel> = BTreeMap::new();
    let nodes = topology.get("nodes").into_iter().flat_map(Yaml::map);
    let names: Vec<&str> = nodes.filter_map(|(name, _)| name.text()).collect();
    for (name, node) in topology.get("nodes").into_iter().flat_map(Yaml::map) {
        let mut commands = Vec::new();
        commands_of(node, &mut commands);
        let name = name.text().unwrap_or_default().to_string();
        for (line, command) in commands {
            impair(line, &command, (&name, &names), &mut models, reading);
        }
    }
    let mut draft = Draft::default();
    for link in &links {
        let mut directions = [Vec::new(), Vec::new()];
        for (i, (node, interface)) in link.ends.iter().enumerate() {
            if let Some(model) = models.get(node) {
                directions[i] = tc::egress_stages(interface, model, reading);
            }
        }
        if let Some(own) = link.impairments {
            directions.iter_mut().for_each(|stages| stages.extend(own_key(own, reading)));
        }
        let [forward, backward] = directions;
        let [(a, _), (b, _)] = &link.ends;
        let impaired = !forward.is_empty() || !backward.is_empty();
        let name = format!("{a}-{b}");
        if impaired {
            draft.flows.push(DraftFlow::bulk(
                format!("{a}-to-{b}"),
                a,
                b,
                0,
                format!("link in line {}", link.line),
            ));
            draft.flows.push(DraftFlow::bulk(
                format!("{b}-to-{a}"),
                b,
                a,
                0,
                format!("link in line {}", link.line),
            ));
        }
        let between = [a.clone(), b.clone()];
        draft.links.push(DraftLink {
            name,
            between,
            forward,
            backward,
            of_assumed_length: false,
            unlimited: false,
        });
    }
    for (node, model) in &models {
        for device in model.devices() {
            if !links.iter().any(|l| l.ends.iter().any(|(n, i)| n == node && i == device)) {
                let line = model.qdiscs.iter().find(|q| q.device == device).map_or(1, |q| q.line);
                reading.unknown(line, device, format!("no link ends at {node}:{device}"));
            }
        }
    }
    if !draft.flows.is_empty() {
        reading.assume(
            "a bulk flow in each direction of each impaired link; 1 Gbit/s without a configured rate",
        );
    }
    draft
}

/// Reports aliases, which are not resolved.
fn aliases(part: &Yaml, reading: &mut Reading) {
    match &part.value {
        YamlValue::Alias => reading.unknown(part.line, "*", "YAML aliases are not resolved"),
        YamlValue::List(list) => list.iter().for_each(|p| aliases(p, reading)),
        YamlValue::Map(map) => map.iter().for_each(|(_, p)| aliases(p, reading)),
        YamlValue::Text(_) => {}
    }
}

/// Reads a link: `endpoints: ["a:eth1", "b:eth1"]`, or maps with `node` and `interface`.
fn lab_link<'y>(link: &'y Yaml, reading: &mut Reading) -> Option<LabLink<'y>> {
    let end = |e: &Yaml| match e.text() {
        Some(text) => text.split_once(':').map(|(node, interface)| (node.to_string(), interface.to_string())),
        None => Some((e.get("node")?.text()?.into(), e.get("interface")?.text()?.into())),
    };
    let ends: Vec<_> = link.get("endpoints").into_iter().flat_map(Yaml::list).filter_map(end).collect();
    match <[(String, String); 2]>::try_from(ends) {
        Ok(ends) if ends[0].0 != ends[1].0 => {
            Some(LabLink { line: link.line, ends, impairments: link.get("impairments") })
        }
        _ => {
            reading.unknown(link.line, "link", "a link without two nodes as endpoints is not simulated");
            None
        }
    }
}

/// The commands of all `exec` of a node, with their lines.
fn commands_of(part: &Yaml, out: &mut Vec<(usize, String)>) {
    for (key, value) in part.map() {
        if key.text() != Some("exec") {
            commands_of(value, out);
            continue;
        }
        for command in value.list() {
            let text = command.text().or_else(|| command.get("command").and_then(Yaml::text));
            out.extend(text.map(|text| (command.line, text.to_string())));
        }
        // Commands by phase: `on-enter`, `on-exit`.
        commands_of_phases(value, out);
    }
    part.list().for_each(|p| commands_of(p, out));
}

fn commands_of_phases(value: &Yaml, out: &mut Vec<(usize, String)>) {
    for (_, phase) in value.map() {
        for command in phase.list() {
            let text = command.text().or_else(|| command.get("command").and_then(Yaml::text));
            out.extend(text.map(|text| (command.line, text.to_string())));
        }
    }
}

/// Reads a command of a node. Nodes are known by their name, or as containers by `clab-LAB-NAME`.
fn impair(
    line: usize,
    command: &str,
    (node, names): (&str, &[&str]),
    models: &mut BTreeMap<String, TcModel>,
    reading: &mut Reading,
) {
    let (statements, _) = Shell::default().statements(line, command);
    for statement in statements {
        let words = &statement.words;
        let Some(at) = words.windows(2).position(|w| w[0] == "netem" && w[1] == "set") else {
            // `sh -c "tc …"` has the command as one word.
            let inner = words.iter().find(|w| w.contains("tc ") && w.contains(' ')).cloned();
            let text = inner.unwrap_or_else(|| words.join(" "));
            let model = models.entry(node.into()).or_default();
            if !tc::read_command(line, &text, model, reading) {
                reading.unknown(line, command, "not a command that impairs a link");
            }
            continue;
        };
        let mut node = node.to_string();
        let (mut interface, mut netem) = (String::new(), Vec::new());
        let mut options = words[at + 2..].iter().flat_map(|w| w.split('=')).map(str::to_string);
        while let Some(option) = options.next() {
            let value = options.next().unwrap_or_default();
            match option.as_str() {
                "-n" | "--node" => {
                    let ends = |name: &&&str| value == ***name || value.ends_with(&format!("-{name}"));
                    node = names
                        .iter()
                        .filter(ends)
                        .max_by_key(|n| n.len())
                        .map_or(value.clone(), |n| n.to_string());
                }
                "-i" | "--interface" => interface = value,
                "--delay" => netem.push(format!("delay {value}")),
                "--jitter" => netem.push(format!("jitter {value}")),
                "--loss" => netem.push(format!("loss {value}")),
                "--corruption" => netem.push(format!("corrupt {value}")),
                // In kbit/s.
                "--rate" => netem.push(format!("rate {value}kbit")),
                other => reading.unknown(line, other, format!("unknown option `{other}` of netem set")),
            }
        }
        let text = format!("tc qdisc replace dev {interface} root netem {}", netem.join(" "));
        tc::read_command(line, &text, models.entry(node).or_default(), reading);
    }
}

/// Reads `impairments: { delay: 10ms, jitter: 1ms, loss: 1, rate: 10000 }`.
fn own_key(own: &Yaml, reading: &mut Reading) -> Vec<DraftStage> {
    let mut netem = Vec::new();
    for (key, value) in own.map() {
        let (Some(name), Some(text)) = (key.text(), value.text()) else { continue };
        match name {
            "delay" | "jitter" | "loss" => netem.push(format!("{name} {text}")),
            "corruption" | "corrupt" => netem.push(format!("corrupt {text}")),
            "rate" if text.bytes().all(|b| b.is_ascii_digit()) => netem.push(format!("rate {text}kbit")),
            "rate" => netem.push(format!("rate {text}")),
            other => reading.unknown(key.line, other, format!("unknown impairment `{other}`")),
        }
    }
    let mut model = TcModel::default();
    let text = format!("tc qdisc add dev link root netem {}", netem.join(" "));
    tc::read_command(own.line, &text, &mut model, reading);
    tc::egress_stages("link", &model, reading)
}

#[cfg(test)]
mod tests {
    use crate::{Assumed, ImportFormat, ImportSource, import};
    use congestion::Control;
    use units::Span;

    const LAB: &str = r#"name: wan
topology:
  nodes:
    r1:
      kind: linux
      image: frr
      exec:
        - ip addr add 10.0.0.1/24 dev eth1
        - tc qdisc add dev eth1 root netem delay 10ms loss 0.1%
    r2:
      kind: linux
      stages:
        configure:
          exec:
            on-exit:
              - command: containerlab tools netem set -n r2 -i eth1 --delay 30ms --rate 5000
                target: host
    r3: { kind: linux }
  links:
    - endpoints: ["r1:eth1", "r2:eth1"]
    - endpoints: ["r2:eth2", "r3:eth1"]
      impairments:
        delay: 5ms
        rate: 2000
        mood: bad
"#;

    #[test]
    fn impairments_are_found_in_all_places() {
        let read_file = |_: &str| Err("none".to_string());
        let source = ImportSource {
            name: "wan.clab.yml",
            text: LAB,
            own_name: None,
            values: &[],
            read_file: &read_file,
        };
        let assumed = Assumed { rtt: None, line: None, duration: None, cc: Control::default() };
        assert_eq!(ImportFormat::of(LAB), Some(ImportFormat::Containerlab));
        let imported = import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}"));
        let links = &imported.experiment.variants[0].scenario.links;
        let kinds = |stages: &[scenario::NamedStage]| -> Vec<&str> {
            stages.iter().map(|s| s.stage.kind()).collect()
        };
        assert_eq!(kinds(&links[0].forward), ["loss", "delay", "link"]);
        assert_eq!(kinds(&links[0].backward), ["link", "delay"]);
        assert_eq!(kinds(&links[1].forward), ["link", "delay"]);
        let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
        assert_eq!(missed, [8, 25], "{:?}", imported.not_understood);
        assert_eq!(imported.experiment.variants[0].scenario.flows.len(), 4);
    }

    #[test]
    fn invalid_yaml_is_reported_by_line() {
        let read_file = |_: &str| Err("none".to_string());
        let text = "topology:\n  nodes: [a\n  links: }\n";
        let source = ImportSource { name: "x", text, own_name: None, values: &[], read_file: &read_file };
        let assumed = Assumed { rtt: Some(Span::ZERO), line: None, duration: None, cc: Control::default() };
        let e = import(&source, Some(ImportFormat::Containerlab), &assumed).unwrap_err();
        assert!(e.to_string().contains("line "), "{e}");
    }
}
