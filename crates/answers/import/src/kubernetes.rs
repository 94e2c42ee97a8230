//! Kubernetes: bandwidth limits in pods' annotations, from manifests and from the output and commands of
//! `kubectl`.
//!
//! | annotation | unit | imported as |
//! |---|---|---|
//! | `kubernetes.io/ingress-bandwidth`, `…/egress-bandwidth` | bit/s, 1k to 1P | the bandwidth plugin's `shaper` ([`crate::cni`]) |
//! | `qos.projectcalico.org/ingressBandwidth`, `…/egressBandwidth` | bit/s, 1k to 1P | the same; overrides the first two |
//! | `qos.projectcalico.org/ingressBurst`, `…/egressBurst` | bits; default 4 Gi | the shaper's burst |
//! | `qos.projectcalico.org/ingressPeakrate`, `…/egressPeakrate` | bit/s | the shaper's peak rate |
//! | `qos.projectcalico.org/…PacketRate`, `…MaxConnections`, others | | not simulated |
//!
//! The first two have no burst: the container runtime chooses it, and no file shows it. Numbers are
//! Kubernetes quantities: `k M G T P` are powers of 1000, `Ki Mi …` of 1024, `m` is a thousandth.
//!
//! Source: kubernetes `pkg/util/bandwidth/utils.go` (bounds), `pkg/kubelet/dockershim/network/cni/cni.go`
//! (`IngressBurst = math.MaxInt32`), containerd CRI `sandbox_run.go` (`toCNIBandWidth`: `math.MaxUint32`),
//! CRI-O `server/sandbox_network.go` (`math.MaxUint32*8 - 1`), all in bits; docs.tigera.io "Configure QoS
//! Controls"; docs.cilium.io "Bandwidth Manager": departure times on egress and no bucket, ingress only in
//! newer releases.

use crate::cni::{add_pod, tbf};
use crate::number::{self, Units, quantity};
use crate::yaml::{Yaml, YamlValue};
use crate::{Assumed, Draft, DraftStage, Foreign, ImportError, ImportSource, Reading};
use path::Stage;
use units::Rate;

/// Annotations of Kubernetes.
pub(crate) struct Kubernetes;

/// Prefixes of annotations.
const PREFIXES: [&str; 3] =
    ["kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth", "qos.projectcalico.org/"];
/// The burst that containerd passes to the plugin, bits.
const CONTAINERD_BURST: u64 = u32::MAX as u64;
/// Calico's default burst, bits.
const CALICO_BURST: u64 = 4 << 30;
/// Kubernetes' bounds of a bandwidth, bit/s.
const BOUNDS: (f64, f64) = (1e3, 1e15);
/// Maximum pods and documents of a text.
const MAX_PODS: usize = 100;

/// Suffixes of quantities.
const QUANTITY: &Units = &[
    ("", 1.0),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
];

/// An annotation: its line, its name, its value.
type Note = (usize, String, String);

impl Foreign for Kubernetes {
    const TITLE: &'static str = "Kubernetes annotations";
    const LOOKS_FOR: &'static str = "annotations kubernetes.io/ingress-bandwidth, kubernetes.io/egress-bandwidth, qos.projectcalico.org/…Bandwidth";

    fn looks_like(text: &str) -> usize {
        text.lines().filter(|l| PREFIXES.iter().any(|p| l.contains(p))).count() * 1000
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        for (i, line) in source.text.lines().enumerate() {
            if PREFIXES.iter().any(|p| line.contains(p)) && !line.trim_start().starts_with('#') {
                reading.lines.insert(i + 1);
            }
        }
        let pods = pods(source.text)?;
        let mut draft = Draft::default();
        for (name, notes) in pods.iter().take(MAX_PODS) {
            let into = direction(notes, "ingress", "into the pod", reading);
            let out = direction(notes, "egress", "out of the pod", reading);
            others(notes, reading);
            add_pod(name, pods.len() > 1, out, into, (&mut draft, reading));
        }
        Ok(draft)
    }
}

/// Pods with their annotations, from manifests in YAML or JSON, or from the output of `kubectl describe`.
fn pods(text: &str) -> Result<Vec<(String, Vec<Note>)>, ImportError> {
    if text.trim_start().starts_with('{') {
        let mut found = Vec::new();
        collect(&Yaml::parse_json(text)?, 0, "pod", &mut found);
        return Ok(found);
    }
    if is_printed(text) {
        return Ok(printed(text));
    }
    let mut found = Vec::new();
    for (before, document) in documents(text) {
        let shifted = |e| match e {
            ImportError::Syntax { line, why } => ImportError::Syntax { line: line + before, why },
            e => e,
        };
        collect(&Yaml::parse(&document).map_err(shifted)?, before, "pod", &mut found);
    }
    Ok(found)
}

/// The documents with annotations, each with the number of lines in front of it.
fn documents(text: &str) -> Vec<(usize, String)> {
    let mut all = vec![(0, String::new())];
    for (i, line) in text.lines().enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            all.push((i + 1, String::new()));
        } else if let Some((_, document)) = all.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    all.retain(|(_, document)| PREFIXES.iter().any(|p| document.contains(p)));
    all.truncate(MAX_PODS);
    all
}

/// Finds all maps with such annotations; `name` is the name of their object.
fn collect(part: &Yaml, before: usize, name: &str, found: &mut Vec<(String, Vec<Note>)>) {
    let own = part.get("metadata").and_then(|m| m.get("name")).or_else(|| part.get("name"));
    let name = own.and_then(Yaml::text).filter(|n| !n.is_empty()).unwrap_or(name);
    let mut notes = Vec::new();
    for (key, value) in part.map() {
        let line = key.line;
        if let (Some(key), Some(value)) = (key.text(), value.text())
            && PREFIXES.iter().any(|p| key.starts_with(p))
        {
            notes.push((before + line, key.to_string(), value.to_string()));
        }
    }
    if !notes.is_empty() {
        found.push((name.to_string(), notes));
    }
    match &part.value {
        YamlValue::Map(map) => map.iter().for_each(|(_, value)| collect(value, before, name, found)),
        YamlValue::List(list) => list.iter().for_each(|value| collect(value, before, name, found)),
        YamlValue::Text(_) | YamlValue::Alias => {}
    }
}

/// Whether the text is output of `kubectl` (`Annotations:  key: value`) or a command (`kubectl annotate …
/// key=value`).
fn is_printed(text: &str) -> bool {
    text.lines().any(|l| l.starts_with("Annotations:") || l.contains("kubectl annotate"))
}

fn printed(text: &str) -> Vec<(String, Vec<Note>)> {
    let mut pods: Vec<(String, Vec<Note>)> = Vec::new();
    let mut name = "pod".to_string();
    for (i, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("Name:") {
            name = rest.trim().to_string();
        }
        if line.trim_start().starts_with('#') {
            continue;
        }
        for word in line.match_indices(|c: char| c.is_ascii_lowercase()).map(|(at, _)| at) {
            let before = line[..word].chars().next_back();
            let rest = &line[word..];
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || ".-/".contains(c))
                || !PREFIXES.iter().any(|p| rest.starts_with(p))
            {
                continue;
            }
            let Some((key, value)) = rest.split_once(['=', ':']) else { continue };
            let value = value.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']);
            let note = (i + 1, key.to_string(), value.to_string());
            match pods.last_mut().filter(|(last, _)| *last == name) {
                Some((_, notes)) => notes.push(note),
                None => pods.push((name.clone(), vec![note])),
            }
        }
    }
    pods
}

fn value_of<'n>(notes: &'n [Note], key: &str) -> Option<&'n Note> {
    notes.iter().find(|(_, name, _)| name == key)
}

/// Parses a quantity; refuses it if it is not valid.
fn number(note: &Note, reading: &mut Reading) -> Option<f64> {
    let (line, key, text) = note;
    // `1e6` and `1E6` are quantities too.
    let exponent = text.split_once(['e', 'E']).is_some_and(|(_, e)| e.parse::<i8>().is_ok());
    if let Some(number) = text.parse::<f64>().ok().filter(|n| exponent && n.is_finite() && *n >= 0.0) {
        return Some(number);
    }
    match quantity(text, None, QUANTITY) {
        Ok((number, _)) => Some(number),
        Err(unread) => {
            reading.refuse(*line, format!("{key}: {text}"), unread.why(text, QUANTITY));
            None
        }
    }
}

/// Parses a bandwidth, and refuses it outside of Kubernetes' bounds.
fn bandwidth(note: &Note, reading: &mut Reading) -> Option<Rate> {
    let bits = number(note, reading)?;
    if !(BOUNDS.0..=BOUNDS.1).contains(&bits) {
        let why = format!("`{}` is {bits} bit/s: Kubernetes accepts 1k to 1P (`m` is a thousandth)", note.2);
        reading.refuse(note.0, format!("{}: {}", note.1, note.2), why);
        return None;
    }
    Some(Rate::from_bps(bits as u64))
}

/// The limit of a direction.
fn direction(notes: &[Note], side: &str, says: &str, reading: &mut Reading) -> Option<DraftStage> {
    let plain = value_of(notes, &format!("kubernetes.io/{side}-bandwidth"));
    let Some(calico) = value_of(notes, &format!("qos.projectcalico.org/{side}Bandwidth")) else {
        let plain = plain?;
        let stage = tbf(plain.0, says, bandwidth(plain, reading)?, CONTAINERD_BURST, reading);
        reading.assume(
            "the CNI bandwidth plugin with containerd, whose burst is 512 MiB; dockershim uses 256 MiB and CRI-O 4 GiB, and no \
             annotation sets it; Cilium's bandwidth manager has no burst on egress, and limits ingress only in newer releases",
        );
        return Some(stage);
    };
    if let Some(plain) = plain {
        reading.unknown(plain.0, plain.1.clone(), format!("overridden by `{}`", calico.1));
    }
    let rate = bandwidth(calico, reading)?;
    // If one of these values is refused, the whole limit is left out.
    let burst = match value_of(notes, &format!("qos.projectcalico.org/{side}Burst")) {
        Some(note) => number(note, reading)?,
        None => CALICO_BURST as f64,
    };
    let mut stage = tbf(calico.0, says, rate, burst as u64, reading);
    if let Some(note) = value_of(notes, &format!("qos.projectcalico.org/{side}Peakrate")) {
        let peak = bandwidth(note, reading)?;
        if peak < rate {
            reading.refuse(
                note.0,
                format!("{}: {}", note.1, note.2),
                "a peak rate below the bandwidth is refused",
            );
            return None;
        }
        if let Stage::Shaper(shaper) = &mut stage.stage {
            shaper.peak_rate = Some(peak);
            stage.says += &format!(", peak {}", number::rate(peak.as_bps()));
        }
    }
    Some(stage)
}

/// Reports annotations that are not simulated.
fn others(notes: &[Note], reading: &mut Reading) {
    for (line, key, text) in notes {
        let Some(own) = key.strip_prefix("qos.projectcalico.org/") else { continue };
        let known = ["Bandwidth", "Burst", "Peakrate"];
        if !known.iter().any(|k| own == format!("ingress{k}") || own == format!("egress{k}")) {
            reading.unknown(*line, format!("{key}: {text}"), format!("`{own}` of Calico is not simulated"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ImportError, ImportFormat, Imported, sample};
    use path::Stage;

    fn read(text: &str) -> Result<Imported, ImportError> {
        sample::read("pod.yaml", text, ImportFormat::Kubernetes)
    }

    fn rates(imported: &Imported) -> Vec<[Option<(u64, u64)>; 2]> {
        let shaper = |stages: &[scenario::NamedStage]| {
            stages.iter().find_map(|s| match &s.stage {
                Stage::Shaper(s) => Some((s.rate.as_bps(), s.burst().get())),
                _ => None,
            })
        };
        let links = &imported.experiment.variants[0].scenario.links;
        links.iter().map(|l| [shaper(&l.forward), shaper(&l.backward)]).collect()
    }

    const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: slow
  annotations:
    kubernetes.io/ingress-bandwidth: 10M
    kubernetes.io/egress-bandwidth: \"5M\"
spec: {}
";

    #[test]
    fn a_pod_is_a_path_with_the_burst_of_the_runtime() {
        let imported = read(POD).unwrap_or_else(|e| panic!("{e}"));
        let burst = u64::from(u32::MAX) / 8;
        assert_eq!(rates(&imported), [[Some((5_000_000, burst)), Some((10_000_000, burst))]]);
        assert!(imported.assumed.iter().any(|a| a.contains("CRI-O") && a.contains("Cilium")));
        assert_eq!((imported.lines, imported.understood), (2, 2));
        // 429 s at 10 Mbit/s overflow the kernel's bucket.
        assert!(
            imported.lint.iter().any(|l| l.rule == "burst-overflow" && l.line == 6),
            "{:?}",
            imported.lint
        );
    }

    #[test]
    fn calico_annotations_override_the_plain_ones() {
        let text = "---\nkind: ConfigMap\n---\nmetadata:\n  name: web\nspec:\n  template:\n    metadata:\n      annotations:\n        \
                    qos.projectcalico.org/egressBandwidth: \"100M\"\n        qos.projectcalico.org/egressBurst: 200M\n        \
                    qos.projectcalico.org/egressPeakrate: 1G\n        qos.projectcalico.org/egressPacketRate: 1k\n        \
                    kubernetes.io/egress-bandwidth: 1M\n";
        let imported = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported), [[Some((100_000_000, 25_000_000)), None]]);
        let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
        assert_eq!(missed, [13, 14], "{:?}", imported.not_understood);
    }

    #[test]
    fn output_of_kubectl_and_json_are_read() {
        let printed = "Name:         slow\nLabels:       <none>\nAnnotations:  kubernetes.io/egress-bandwidth: 2M\n              \
                       kubernetes.io/ingress-bandwidth: 1Mi\n";
        let burst = u64::from(u32::MAX) / 8;
        let right = [[Some((2_000_000, burst)), Some((1_048_576, burst))]];
        assert_eq!(rates(&read(printed).unwrap_or_else(|e| panic!("{e}"))), right);
        let json = "{\"metadata\":\t{\"annotations\": {\"kubernetes.io/egress-bandwidth\": \"2e6\",\n \
                    \"kubernetes.io/ingress-bandwidth\": \"1024Ki\"}}}";
        assert_eq!(rates(&read(json).unwrap_or_else(|e| panic!("{e}"))), right);
        let command =
            "kubectl annotate pod x kubernetes.io/egress-bandwidth=2M 'kubernetes.io/ingress-bandwidth=1Mi'";
        assert_eq!(rates(&read(command).unwrap_or_else(|e| panic!("{e}"))), right);
    }

    #[test]
    fn an_unknown_unit_leaves_the_limit_out() {
        let text = POD.replace("10M", "10Mbit");
        let imported = read(&text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported)[0][1], None);
        assert_eq!(imported.refused[0].line, 6);
        assert!(imported.refused[0].why.contains("`Mbit`"), "{:?}", imported.refused);
        // `m` is a thousandth.
        let milli = POD.replace("10M", "10m").replace("5M", "{{ .Values.rate }}");
        let error = read(&milli).unwrap_err().to_string();
        assert!(error.contains("thousandth"), "{error}");
    }

    #[test]
    fn invalid_yaml_is_reported_by_line() {
        let error = read("a: 1\n---\nmetadata:\n  annotations: [\n  kubernetes.io/egress-bandwidth: }\n")
            .unwrap_err();
        assert!(error.to_string().starts_with("line 5"), "{error}");
    }
}
