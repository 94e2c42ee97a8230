//! The CNI bandwidth plugin: a pod's limits as a container runtime passes them to the plugin, and network
//! configurations with such limits.
//!
//! | key | imported as |
//! |---|---|
//! | `ingressRate`, `ingressBurst` (bits per second, *bits*) | `shaper` of the pod's incoming traffic |
//! | `egressRate`, `egressBurst` | `shaper` of the pod's outgoing traffic |
//! | a queue of 25 ms of the rate plus the burst | `latency = 25 ms` |
//! | 0, or no rate | no limit |
//! | `capabilities: { bandwidth: true }` alone | nothing: each pod brings its numbers |
//!
//! Source: containernetworking/plugins, `plugins/meta/bandwidth` (`main.go`: `BandwidthEntry`,
//! `validateRateAndBurst`; `ifb_creator.go`: `createTBF`, `latencyInMillis`, `time2Tick`). Departures: from
//! 1.5 on the plugin sets up an `htb` with the same rate and burst and the interface's queue, instead of the
//! `tbf`; unshaped subnets are not simulated.

use crate::number::{self, quantity};
use crate::yaml::{Yaml, YamlValue};
use crate::{Assumed, BoxPort, Draft, DraftStage, Foreign, ImportError, ImportSource, PortFlow, Reading};
use path::Shaper;
use units::{Bytes, Rate, Span};

/// The CNI bandwidth plugin.
pub(crate) struct CniBandwidth;

/// The latency of the plugin's queue, without the burst.
const LATENCY: Span = Span::from_millis(25);
/// Maximum duration of a bucket in the kernel, seconds: 32 bits of ticks of 64 ns (`psched`, `time2Tick`).
const MAX_BUCKET_S: f64 = 274.877_906_94;
/// Maximum pods or plugins of a text.
const MAX_PODS: usize = 100;
/// The keys of both directions; into the pod first.
const KEYS: [(&str, &str, &str); 2] =
    [("ingressRate", "ingressBurst", "into the pod"), ("egressRate", "egressBurst", "out of the pod")];

impl Foreign for CniBandwidth {
    const TITLE: &'static str = "CNI bandwidth plugin";
    const LOOKS_FOR: &'static str =
        "`ingressRate`, `ingressBurst`, `egressRate`, `egressBurst` of a plugin of type `bandwidth`";

    fn looks_like(text: &str) -> usize {
        if !text.trim_start().starts_with(['{', '[']) {
            return 0;
        }
        let keys = ["\"ingressRate\"", "\"egressRate\"", "\"ingressBurst\"", "\"egressBurst\""];
        let plugin = text.contains("\"cniVersion\"") || text.contains("\"bandwidth\"");
        keys.iter().filter(|key| text.contains(*key)).count() * 1000 + usize::from(plugin) * 10
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let root = Yaml::parse_json(source.text)?;
        let said = source.text.lines().enumerate().filter(|(_, l)| l.contains('"')).map(|(i, _)| i + 1);
        reading.lines.extend(said);
        let mut entries = Vec::new();
        entries_of(&root, "pod", &mut entries, reading);
        let mut draft = Draft::default();
        for (name, entry) in entries.iter().take(MAX_PODS) {
            let [into, out] =
                KEYS.map(|(rate, burst, direction)| limit(entry, rate, burst, direction, reading));
            add_pod(name, entries.len() > 1, out, into, (&mut draft, reading));
        }
        if draft.stages().next().is_some() {
            reading.assume(
                "the plugin's tbf, as before release 1.5; newer releases use an htb with the same rate and burst and the \
                 interface's queue (1000 packets) instead of 25 ms",
            );
        }
        Ok(draft)
    }
}

/// Finds all objects with limits; `name` is the name of their network.
fn entries_of<'y>(part: &'y Yaml, name: &str, found: &mut Vec<(String, &'y Yaml)>, reading: &mut Reading) {
    let name = part.get("name").and_then(Yaml::text).filter(|n| !n.is_empty()).unwrap_or(name);
    let has = |key: &str| part.get(key).is_some();
    if KEYS.iter().any(|(rate, burst, _)| has(rate) || has(burst)) {
        found.push((name.to_string(), part));
    } else if part.get("type").and_then(Yaml::text) == Some("bandwidth") && !has("runtimeConfig") {
        let why = "no rates here: the container runtime takes them from each pod's annotations \
                   (kubernetes.io/ingress-bandwidth, kubernetes.io/egress-bandwidth)";
        reading.unknown(part.line, "bandwidth", why);
    }
    for subnets in ["shapedSubnets", "unshapedSubnets"] {
        if let Some(list) = part.get(subnets).filter(|list| list.list().next().is_some()) {
            reading.unknown(
                list.line,
                subnets,
                format!("`{subnets}` is not simulated: every packet is shaped"),
            );
        }
    }
    match &part.value {
        YamlValue::Map(map) => map.iter().for_each(|(_, value)| entries_of(value, name, found, reading)),
        YamlValue::List(list) => list.iter().for_each(|value| entries_of(value, name, found, reading)),
        YamlValue::Text(_) | YamlValue::Alias => {}
    }
}

/// The limit of a direction, checked like the plugin does.
fn limit(
    entry: &Yaml,
    rate_key: &str,
    burst_key: &str,
    direction: &str,
    reading: &mut Reading,
) -> Option<DraftStage> {
    let mut number = |key: &str| -> Option<(usize, u64)> {
        let Some(value) = entry.get(key) else { return Some((0, 0)) };
        let text = value.text().unwrap_or_default();
        let whole = text.bytes().all(|b| b.is_ascii_digit());
        match quantity(text, None, &[("", 1.0)]) {
            Ok((number, _)) if whole => Some((value.line, number as u64)),
            _ => {
                let why =
                    format!("`{key}` is `{text}`: the plugin accepts whole numbers of bits without a unit");
                reading.refuse(value.line, format!("{key}: {text}"), why);
                None
            }
        }
    };
    let (rate, burst) = (number(rate_key)?, number(burst_key)?);
    let line = if rate.0 > 0 { rate.0 } else { burst.0 };
    match (rate.1, burst.1) {
        (0, 0) => return None,
        (_, 0) => {
            let why = format!(
                "`{rate_key}` without `{burst_key}`: the plugin refuses this, and the pod does not start"
            );
            reading.refuse(line, rate_key, why);
            return None;
        }
        (0, _) => {
            let why = format!(
                "`{burst_key}` without `{rate_key}`: the plugin refuses this, and the pod does not start"
            );
            reading.refuse(line, burst_key, why);
            return None;
        }
        (rate, _) if rate < 8 => {
            reading.refuse(
                line,
                rate_key,
                format!("`{rate_key}` of {rate} bit/s is less than a byte per second"),
            );
            return None;
        }
        (_, burst) if burst / 8 >= u32::MAX.into() => {
            reading.refuse(
                line,
                burst_key,
                format!("`{burst_key}` of 4 GiB or more is refused by the plugin"),
            );
            return None;
        }
        _ => {}
    }
    Some(tbf(line, direction, Rate::from_bps(rate.1), burst.1, reading))
}

/// Converts a plugin's rate and burst (bits) to a token bucket whose queue holds 25 ms of the rate and the
/// burst.
pub(crate) fn tbf(
    line: usize,
    direction: &str,
    rate: Rate,
    burst_bits: u64,
    reading: &mut Reading,
) -> DraftStage {
    let burst = Bytes::new((burst_bits / 8).max(1));
    let shaper = Shaper { burst: Some(burst), latency: Some(LATENCY), ..Shaper::new(rate) };
    let says =
        format!("{direction}, {} with a burst of {}", number::rate(rate.as_bps()), number::size(burst.get()));
    let lasts = number::seconds(burst.get(), rate);
    if lasts > MAX_BUCKET_S {
        let text = format!(
            "{says}: this burst lasts {lasts:.0} s at that rate, but the kernel's field wraps around at 275 s, and the rest depends \
             on the machine; use a burst of at most a second"
        );
        reading.fault(line, "burst-overflow", text);
    }
    DraftStage::new("tbf", line, says, shaper)
}

/// Adds a pod with its limits as a path: `out` limits outgoing traffic, `into` incoming traffic.
pub(crate) fn add_pod(
    name: &str,
    one_of_many: bool,
    out: Option<DraftStage>,
    into: Option<DraftStage>,
    (draft, reading): (&mut Draft, &Reading),
) {
    let flow = |stage: &Option<DraftStage>, name: &str| {
        stage.iter().map(|s| PortFlow { name: name.into(), dscp: 0, says: s.says.clone() }).collect()
    };
    let port = BoxPort {
        name: if one_of_many { name.to_string() } else { "eth0".into() },
        out_flows: flow(&out, "upload"),
        into_flows: flow(&into, "download"),
        out: out.into_iter().collect(),
        into: into.into_iter().collect(),
        ..BoxPort::default()
    };
    let mut path = Draft::of_box(name, vec![port], reading);
    draft.links.append(&mut path.links);
    draft.flows.append(&mut path.flows);
}

#[cfg(test)]
mod tests {
    use crate::{ImportError, ImportFormat, Imported, sample};
    use path::Stage;
    use scenario::NamedStage;

    fn read(text: &str) -> Result<Imported, ImportError> {
        sample::read("10-net.json", text, ImportFormat::CniBandwidth)
    }

    fn tbf(stages: &[NamedStage]) -> (u64, u64, u64) {
        let Stage::Shaper(s) = &stages[0].stage else { panic!("{stages:?}") };
        (s.rate.as_bps(), s.burst().get(), s.queue().limits().bytes)
    }

    const POD: &str = include_str!("../tests/inputs/03b-cni-bandwidth.json");

    #[test]
    fn a_burst_in_bits_is_a_tbf_in_each_direction() {
        let imported = read(POD).unwrap_or_else(|e| panic!("{e}"));
        let scenario = &imported.experiment.variants[0].scenario;
        let [link] = scenario.links.as_slice() else { panic!("one path") };
        // 2147483647 bits, and 25 ms of 10 Mbit/s.
        let right = (10_000_000, 268_435_455, 268_435_455 + 31_250);
        assert_eq!((tbf(&link.forward), tbf(&link.backward)), (right, right));
        let names: Vec<&str> = scenario.flows.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["eth0-out-upload", "eth0-in-download"]);
        let large = imported.lint.iter().find(|l| l.rule == "burst-large").expect("a finding");
        assert!(large.text.contains("268.4 MB") && large.text.contains("214.7 s"), "{}", large.text);
        assert!((imported.refused.len(), imported.not_understood.len()) == (0, 0), "{imported:?}");
    }

    #[test]
    fn values_of_a_runtime_are_read() {
        let text = "{\n\t\"name\": \"a\", \"type\": \"bandwidth\",\n\t\"runtimeConfig\": {\"bandwidth\":\n\t{\"ingressRate\": 123000, \
                    \"ingressBurst\": 98400, \"unshapedSubnets\": [\"192.0.2.0/24\"]}}}";
        let imported = read(text).unwrap_or_else(|e| panic!("{e}"));
        let link = &imported.experiment.variants[0].scenario.links[0];
        assert_eq!((tbf(&link.backward).0, tbf(&link.backward).1), (123_000, 12_300));
        assert_eq!(imported.not_understood[0].line, 4);
    }

    #[test]
    fn values_that_the_plugin_refuses_are_refused() {
        for (text, says) in [
            (
                "{\"type\":\"bandwidth\",\"ingressRate\":\"10M\",\"ingressBurst\":\"1\"}",
                "whole numbers of bits",
            ),
            ("{\"type\":\"bandwidth\",\"ingressRate\":1000000}", "without `ingressBurst`"),
            ("{\"type\":\"bandwidth\",\"egressRate\":8000000,\"egressBurst\":34359738360}", "4 GiB"),
            ("{\"type\":\"bandwidth\",\"capabilities\":{\"bandwidth\":true}}", "annotations"),
            ("{\"type\":\"bandwidth\",\n\"egressRate\":8000000 \"egressBurst\":1}", "line 2"),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_bucket_that_overflows_in_the_kernel_is_reported() {
        let text = "{\"type\":\"bandwidth\",\"egressRate\":1000000,\"egressBurst\":2147483647}";
        let imported = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert!(imported.lint.iter().any(|l| l.rule == "burst-overflow" && l.text.contains("2147 s")));
    }
}
