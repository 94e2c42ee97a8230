//! iBoxNet profiles (microsoft/internet-in-a-box): a measured path with bottleneck, buffer, delay and cross
//! traffic.
//!
//! Source: the repository's README. Bandwidth in kbit/s, delay in ms, cross traffic in kbit/s for each of 30
//! seconds, imported as a flow of datagrams for each second. Only the direction of the data was measured.

use crate::{Assumed, Draft, DraftFlow, DraftLink, DraftStage, Foreign, ImportError, ImportSource, Reading};
use path::queue::Fifo;
use path::{Link, QueueConfig};
use serde_json::Value;
use transport::{App, Arrival};
use units::{Bytes, Rate, Span};

/// An iBoxNet profile.
pub(crate) struct Ibox;

/// Maximum seconds of cross traffic.
const MAX_CROSS_S: usize = 600;

impl Foreign for Ibox {
    const TITLE: &'static str = "iBox profile";
    const LOOKS_FOR: &'static str = "`config` with `uplink` and `downlink`";

    fn looks_like(text: &str) -> usize {
        let keys = [
            "\"bottleneck_bandwidth\"",
            "\"propagation_delay\"",
            "\"buffer_size_",
            "\"cross_traffic_pattern\"",
        ];
        if !text.trim_start().starts_with('{') {
            return 0;
        }
        keys.iter().filter(|key| text.contains(*key)).count() * 1000
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let root: Value = serde_json::from_str(source.text).map_err(|e| ImportError::Syntax {
            line: e.line().max(1),
            why: format!("not valid JSON: {e}"),
        })?;
        reading
            .lines
            .extend(source.text.lines().enumerate().filter(|(_, l)| l.contains('"')).map(|(i, _)| i + 1));
        Ok(profile(&root, source.text, reading))
    }
}

/// The line number of the n-th occurrence of a key.
fn line_of(text: &str, key: &str, n: usize) -> usize {
    let quoted = format!("\"{key}\"");
    let mut hits = text.lines().enumerate().filter(|(_, l)| l.contains(&quoted)).map(|(i, _)| i + 1);
    hits.nth(n).unwrap_or(1)
}

fn profile(root: &Value, text: &str, reading: &mut Reading) -> Draft {
    const KNOWN: [&str; 6] = [
        "measurement_node",
        "peer_cloud_server",
        "data_flow_direction",
        "link_type",
        "data_source_url",
        "config",
    ];
    for (key, _) in root.as_object().into_iter().flatten() {
        if !KNOWN.contains(&key.as_str()) {
            reading.unknown(line_of(text, key, 0), key.clone(), format!("unknown key `{key}`"));
        }
    }
    let name = |key: &str, default: &str| root[key].as_str().unwrap_or(default).to_string();
    let (node, peer) = (name("measurement_node", "node"), name("peer_cloud_server", "server"));
    let peer = if peer == node { format!("{peer}-server") } else { peer };
    let mut link = DraftLink {
        name: name("link_type", "path"),
        between: [node.clone(), peer.clone()],
        forward: Vec::new(),
        backward: Vec::new(),
        of_assumed_length: false,
        unlimited: false,
    };
    let mut draft = Draft { duration: Some(Span::from_secs(30)), ..Draft::default() };
    for (n, key) in ["uplink", "downlink"].into_iter().enumerate() {
        let direction = &root["config"][key];
        let Some(stage) = bottleneck(direction, key, n, text, reading) else { continue };
        let (from, to) = if n == 0 { (&node, &peer) } else { (&peer, &node) };
        if n == 0 {
            link.forward.push(stage)
        } else {
            link.backward.push(stage)
        }
        for (second, kbps) in
            direction["cross_traffic_pattern"].as_array().into_iter().flatten().take(MAX_CROSS_S).enumerate()
        {
            let Some(kbps) = kbps.as_f64().filter(|k| (1.0..1e9).contains(k)) else { continue };
            let app = App::Udp {
                rate: Rate::from_bps((kbps * 1000.0) as u64),
                size: None,
                duration: Some(Span::from_secs(1)),
                arrival: Arrival::default(),
            };
            let start = Span::from_secs(second as u64);
            let name = format!("cross-{key}-{second}");
            draft.flows.push(DraftFlow { app, start, ..DraftFlow::bulk(name, from, to, 0, "") });
            draft.duration = draft.duration.max(Some(Span::from_secs(second as u64 + 1)));
        }
    }
    let download = root["data_flow_direction"].as_str() == Some("download");
    let (from, to) = if download { (&peer, &node) } else { (&node, &peer) };
    let says = format!("the measured {}", if download { "download" } else { "upload" });
    draft.flows.insert(0, DraftFlow::bulk("data", from, to, 0, says));
    if draft.flows.len() > 1 {
        reading
            .assume("cross traffic is datagrams of 1500 bytes, evenly spaced, with a flow for each second");
    }
    if !link.forward.is_empty() || !link.backward.is_empty() {
        draft.links.push(link);
    }
    draft
}

fn bottleneck(
    direction: &Value,
    key: &str,
    n: usize,
    text: &str,
    reading: &mut Reading,
) -> Option<DraftStage> {
    let line = line_of(text, "bottleneck_bandwidth", n);
    const KNOWN: [&str; 5] = [
        "bottleneck_bandwidth",
        "buffer_size_bytes",
        "buffer_size_packets",
        "propagation_delay",
        "cross_traffic_pattern",
    ];
    for (other, _) in direction.as_object().into_iter().flatten() {
        if !KNOWN.contains(&other.as_str()) {
            reading.unknown(line_of(text, other, 0), other.clone(), format!("unknown key `{other}`"));
        }
    }
    let number = |key: &str, most: f64| direction[key].as_f64().filter(|v| (0.0..=most).contains(v));
    let Some(kbps) = number("bottleneck_bandwidth", 1e9).filter(|k| *k >= 0.001) else {
        reading.unknown(line_of(text, key, 0), key, format!("{key} has no `bottleneck_bandwidth`"));
        return None;
    };
    let delay = Span::from_secs_f64(number("propagation_delay", 1e6).unwrap_or(0.0) / 1e3);
    let bytes = number("buffer_size_bytes", 1e15).filter(|b| *b >= 1.0).map(|b| Bytes::new(b as u64));
    let packets = number("buffer_size_packets", 1e12).filter(|p| *p >= 1.0).map(|p| p as u64);
    // Both describe the same buffer; bytes were measured.
    let queue = match (bytes, packets) {
        (Some(bytes), _) => Fifo { packets: None, bytes: Some(bytes) },
        (None, packets) => Fifo { packets, bytes: None },
    };
    let rate = Rate::from_bps((kbps * 1000.0) as u64);
    let link = Link { rate: Some(rate), delay, queue: QueueConfig::Fifo(queue), ..Link::default() };
    Some(DraftStage::new("bottleneck", line, format!("{key}, {}", crate::number::rate(rate.as_bps())), link))
}

#[cfg(test)]
mod tests {
    use crate::{Assumed, ImportFormat, ImportSource, import};
    use congestion::Control;
    use path::Stage;
    use units::{Bytes, Rate, Span};

    const PROFILE: &str = r#"{
  "measurement_node": "nowhere", "peer_cloud_server": "aws nowhere", "mood": 3,
  "data_flow_direction": "download", "link_type": "cellular",
  "config": {
    "uplink": { "bottleneck_bandwidth": 100000, "buffer_size_packets": 100, "propagation_delay": 0, "cross_traffic_pattern": [] },
    "downlink": { "bottleneck_bandwidth": 6000, "buffer_size_bytes": 30000, "propagation_delay": 24, "cross_traffic_pattern": [500, 0, 700] }
  }
}"#;

    #[test]
    fn a_profile_is_a_link_with_cross_traffic() {
        let read_file = |_: &str| Err("none".to_string());
        let source = ImportSource {
            name: "p.json",
            text: PROFILE,
            own_name: None,
            values: &[],
            read_file: &read_file,
        };
        let assumed = Assumed { rtt: None, line: None, duration: None, cc: Control::default() };
        assert_eq!(ImportFormat::of(PROFILE), Some(ImportFormat::Ibox));
        let imported = import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}"));
        let s = &imported.experiment.variants[0].scenario;
        let Stage::Link(down) = &s.links[0].backward[0].stage else { panic!() };
        assert_eq!((down.rate, down.delay), (Some(Rate::from_bps(6_000_000)), Span::from_millis(24)));
        assert_eq!(down.queue.limits().bytes, Bytes::new(30_000).get());
        let flows: Vec<_> = s.flows.iter().map(|f| (f.name.as_str(), f.start)).collect();
        assert_eq!(
            flows,
            [
                ("data", Span::ZERO),
                ("cross-downlink-0", Span::ZERO),
                ("cross-downlink-2", Span::from_secs(2))
            ]
        );
        assert_eq!(s.hosts[s.flows[0].from].name, "aws-nowhere");
        assert_eq!((s.duration, imported.not_understood.len()), (Span::from_secs(30), 1));
        assert_eq!(imported.not_understood[0].line, 2);
    }
}
