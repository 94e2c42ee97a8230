//! The `<TrafficShaper>` of OPNsense's `config.xml`: each pipe, queue and rule as the ipfw command
//! that OPNsense generates from it (`service/templates/OPNsense/IPFW/ipfw.conf`).

use super::model::{Dummynet, Kind};
use super::{config, rules};
use crate::{ImportError, Reading};
use roxmltree::{Document, Node, ParsingOptions};

/// The most XML nodes of a file: a full configuration has about ten thousand.
const MAX_NODES: u32 = 1 << 20;
/// The most pipes, queues and rules.
const MAX_ITEMS: usize = 300;
/// Keys of a pipe or queue that limit nothing.
const HARMLESS: [&str; 12] = [
    "number",
    "enabled",
    "origin",
    "description",
    "bandwidthMetric",
    "queueMetric",
    "pipe",
    "codel_enable",
    "pie_enable",
    "buckets",
    "codel_ecn_enable",
    "delay",
];

/// Whether a text is XML.
pub(super) fn is_xml(text: &str) -> bool {
    text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('<')
}

/// Reads the shaper.
///
/// # Errors
/// [`ImportError::Syntax`] with the line at which XML parsing failed.
pub(super) fn read(text: &str, model: &mut Dummynet, reading: &mut Reading) -> Result<(), ImportError> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|e| {
        let line = (e.pos().row as usize).clamp(1, text.lines().count().max(1));
        ImportError::Syntax { line, why: format!("not valid XML: {e}") }
    })?;
    let Some(shaper) = document.descendants().find(|n| n.has_tag_name("TrafficShaper")) else {
        return Ok(());
    };
    let lines = Lines::of(text);
    let file = File { shaper, lines };
    for pipe in file.items("pipe") {
        file.pipe(pipe, model, reading);
    }
    for queue in file.items("queue") {
        file.queue(queue, model, reading);
    }
    let mut rules: Vec<Node> = file.items("rule").collect();
    rules.sort_by_key(|r| value(*r, "sequence").parse::<u64>().unwrap_or(u64::MAX));
    for rule in rules {
        file.rule(rule, model, reading);
    }
    Ok(())
}

/// The positions of the line ends.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect())
    }

    fn line(&self, node: Node) -> usize {
        self.0.partition_point(|newline| *newline < node.range().start) + 1
    }
}

struct File<'a, 'input> {
    shaper: Node<'a, 'input>,
    lines: Lines,
}

/// The text of a child; empty if it is missing.
fn value<'a>(node: Node<'a, '_>, key: &str) -> &'a str {
    let child = node.children().find(|c| c.has_tag_name(key));
    child.and_then(|c| c.text()).map_or("", str::trim)
}

/// Whether a child is 1; `default` if it is missing.
fn is_on(node: Node, key: &str, default: bool) -> bool {
    match value(node, key) {
        "" => default,
        text => text == "1",
    }
}

impl<'a, 'input> File<'a, 'input> {
    /// `<pipes><pipe>`, `<queues><queue>`, `<rules><rule>`.
    fn items(&self, kind: &'static str) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
        let lists =
            self.shaper.children().filter(move |l| l.tag_name().name().strip_suffix('s') == Some(kind));
        lists.flat_map(move |l| l.children().filter(move |i| i.has_tag_name(kind))).take(MAX_ITEMS)
    }

    /// The kind and number of the item with this `uuid`.
    fn target(&self, uuid: &str) -> Option<(Kind, u32)> {
        let with = |kind: &'static str| {
            self.items(kind).find(|i| i.attribute("uuid") == Some(uuid) && !uuid.is_empty())
        };
        let found = with("pipe").map(|i| (Kind::Pipe, i)).or_else(|| with("queue").map(|i| (Kind::Queue, i)));
        found.and_then(|(kind, item)| Some((kind, value(item, "number").parse().ok()?)))
    }

    fn put(&self, kind: Kind, item: Node, words: &[String], model: &mut Dummynet, reading: &mut Reading) {
        let line = self.lines.line(item);
        reading.lines.insert(line);
        let number = value(item, "number");
        let Ok(number) = number.parse::<u32>() else {
            return reading.refuse(
                line,
                number,
                format!("`{number}` is not the number of a {}", kind.word()),
            );
        };
        config::configure(line, kind, number, words, model, reading);
        let name = value(item, "description");
        if let Some(object) = model.objects.iter_mut().find(|o| (o.kind, o.number) == (kind, number)) {
            object.name = Some(name.chars().take(60).collect()).filter(|n: &String| !n.is_empty());
            object.is_enabled = is_on(item, "enabled", true);
        }
    }

    /// `codel`, or the parameters of `fq_codel`: they come after all other options.
    fn codel(item: Node, words: &mut Vec<String>) {
        for (key, word) in [("codel_target", "target"), ("codel_interval", "interval")] {
            if !value(item, key).is_empty() {
                words.extend([word.to_string(), value(item, key).to_string()]);
            }
        }
        words.push(if is_on(item, "codel_ecn_enable", false) { "ecn" } else { "noecn" }.into());
    }

    fn aqm(item: Node, words: &mut Vec<String>) {
        if is_on(item, "codel_enable", false) {
            words.push("codel".into());
            Self::codel(item, words);
        } else if is_on(item, "pie_enable", false) {
            words.push("pie".into());
        }
    }

    /// Reports unknown keys.
    fn others(&self, item: Node, known: &[&str], reading: &mut Reading) {
        let keys = item.children().filter(Node::is_element);
        for key in keys.filter(|k| k.text().is_some_and(|t| !t.trim().is_empty())) {
            let name = key.tag_name().name();
            if !known.contains(&name) && !HARMLESS.contains(&name) {
                reading.unknown(
                    self.lines.line(key),
                    name,
                    format!("`{name}` of a {} is not read", item.tag_name().name()),
                );
            }
        }
    }

    fn pipe(&self, pipe: Node, model: &mut Dummynet, reading: &mut Reading) {
        const KEYS: [&str; 10] = [
            "bandwidth",
            "queue",
            "mask",
            "scheduler",
            "codel_target",
            "codel_interval",
            "fqcodel_quantum",
            "fqcodel_limit",
            "fqcodel_flows",
            "weight",
        ];
        self.others(pipe, &KEYS, reading);
        let metric = value(pipe, "bandwidthMetric");
        let mut words = vec!["bw".to_string(), format!("{}{metric}/s", value(pipe, "bandwidth"))];
        let mut add = |key: &str, word: &str, unit: &str| {
            if !value(pipe, key).is_empty() {
                words.extend([word.to_string(), format!("{}{unit}", value(pipe, key))]);
            }
        };
        let metric = Some(value(pipe, "queueMetric")).filter(|m| *m != "slots").unwrap_or_default();
        add("queue", "queue", metric);
        add("delay", "delay", "");
        if !["", "none"].contains(&value(pipe, "mask")) {
            words.extend(["mask".into(), value(pipe, "mask").into(), "0xffffffff".into()]);
        }
        let scheduler = Some(value(pipe, "scheduler")).filter(|s| !s.is_empty()).unwrap_or("wf2q+");
        words.extend(["type".into(), scheduler.to_string()]);
        if scheduler == "fq_codel" {
            Self::codel(pipe, &mut words);
            for (key, word) in
                [("fqcodel_quantum", "quantum"), ("fqcodel_limit", "limit"), ("fqcodel_flows", "flows")]
            {
                if !value(pipe, key).is_empty() {
                    words.extend([word.to_string(), value(pipe, key).to_string()]);
                }
            }
        } else if scheduler != "fq_pie" {
            Self::aqm(pipe, &mut words);
        }
        self.put(Kind::Pipe, pipe, &words, model, reading);
    }

    fn queue(&self, queue: Node, model: &mut Dummynet, reading: &mut Reading) {
        self.others(queue, &["mask", "weight", "codel_target", "codel_interval"], reading);
        let mut words = Vec::new();
        if let Some((Kind::Pipe, number)) = self.target(value(queue, "pipe")) {
            words.extend(["pipe".to_string(), number.to_string()]);
        }
        if !["", "none"].contains(&value(queue, "mask")) {
            words.extend(["mask".into(), value(queue, "mask").into(), "0xffffffff".into()]);
        }
        if !value(queue, "weight").is_empty() {
            words.extend(["weight".to_string(), value(queue, "weight").to_string()]);
        }
        Self::aqm(queue, &mut words);
        self.put(Kind::Queue, queue, &words, model, reading);
    }

    /// A rule with two interfaces counts as two: from the first to the second, and the reverse direction.
    fn rule(&self, rule: Node, model: &mut Dummynet, reading: &mut Reading) {
        let line = self.lines.line(rule);
        reading.lines.insert(line);
        if !is_on(rule, "enabled", true) {
            return reading
                .fact(line, format!("a rule of the shaper is disabled ({})", value(rule, "description")));
        }
        let uuid = value(rule, "target");
        let Some((kind, number)) = self.target(uuid) else {
            return reading.unknown(line, uuid, "the text does not contain the pipe or queue of this rule");
        };
        let end = |key: &str| {
            let text = Some(value(rule, key)).filter(|t| !t.is_empty()).unwrap_or("any");
            let not = if is_on(rule, &format!("{key}_not"), false) { "not " } else { "" };
            format!("{not}{text}")
        };
        let proto = Some(value(rule, "proto")).filter(|p| !p.is_empty()).unwrap_or("ip");
        let ports =
            [("src_port", "src-port"), ("dst_port", "dst-port"), ("iplen", "iplen"), ("dscp", "dscp")];
        let ports = ports.map(|(key, word)| match value(rule, key) {
            "" | "any" => String::new(),
            text => format!(" {word} {text}"),
        });
        let base = format!(
            "{} {number} {} from {} to {}{}",
            kind.word(),
            proto.split('_').next().unwrap_or_default(),
            end("source"),
            end("destination"),
            ports.concat()
        );
        let (first, second, direction) =
            (value(rule, "interface"), value(rule, "interface2"), value(rule, "direction"));
        let interfaces = match (second, direction) {
            ("", direction) => vec![format!("{direction} via {first}")],
            (second, "in") => vec![format!("recv {first} xmit {second}")],
            (second, "out") => vec![format!("xmit {first} recv {second}")],
            (second, _) => vec![format!("recv {first} xmit {second}"), format!("xmit {first} recv {second}")],
        };
        for interface in interfaces {
            let words: Vec<String> =
                format!("{base} {interface}").split_whitespace().map(str::to_string).collect();
            rules::add(line, &words, model, reading);
        }
    }
}
