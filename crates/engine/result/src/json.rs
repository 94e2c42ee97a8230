//! Writes results as JSON and reads them back.

use crate::{FlowKind, Run, SCHEMA};
use serde::{Deserialize, Serialize};

/// Why a text is not a valid result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or a key is missing or has the wrong type; the message names line and column.
    #[error("not a longfat result: {0}")]
    Json(#[source] serde_json::Error),
    /// Another schema, or another version of the schema.
    #[error("schema is `{found}`, expected `{SCHEMA}`")]
    Schema { found: String },
}

/// A run or a diagnosis as one JSON object and a newline; equal input gives equal bytes.
pub fn to_json(object: &impl Serialize) -> String {
    // The types contain only strings, numbers, options, lists and maps, which always serialise.
    let mut text = serde_json::to_string_pretty(object).unwrap_or_default();
    text.push('\n');
    text
}

/// The schema of longfat 0.1. Its keys with other names are aliases of those of today.
const FIRST_SCHEMA: &str = "longfat-result/1";

/// Reads what [`to_json`] wrote, also in version 1 of the schema. Unknown keys are ignored, so that newer
/// minor versions can be read.
pub fn read_json(text: &str) -> Result<Run, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    // The schema is checked first, since a mismatch explains all other errors.
    let head: Head = serde_json::from_str(text).map_err(ReadError::Json)?;
    if head.schema != SCHEMA && head.schema != FIRST_SCHEMA {
        return Err(ReadError::Schema { found: head.schema });
    }
    let mut run: Run = serde_json::from_str(text).map_err(ReadError::Json)?;
    run.schema = SCHEMA.into();
    for flow in run.variants.iter_mut().flat_map(|v| &mut v.flows) {
        // Older results lack `kind`: their congestion control is `udp`, and they report a delay as RTT.
        if flow.cc == "udp" && flow.kind == FlowKind::Tcp {
            flow.kind = if flow.app == "probe" { FlowKind::Probe } else { FlowKind::Datagrams };
            (flow.rtt_ms, flow.rtt_acks_ms) = Default::default();
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementResult, FlowResult, RttSummary, RunWarning, TooBigPackets, VariantResult};

    fn run() -> Run {
        let flow = FlowResult {
            name: "bulk".into(),
            from: "office".into(),
            to: "dc".into(),
            cc: "cubic".into(),
            goodput_mbps: 0.1 + 0.2,
            sent_packets: u64::MAX,
            rtt_ms: RttSummary { min: 30.0, max: 1e-7, ..RttSummary::default() },
            ..Default::default()
        };
        let variant = VariantResult {
            name: "a \"quoted\" name\n".into(),
            flows: vec![flow],
            elements: vec![ElementResult {
                name: "wan.forward.policer".into(),
                kind: "policer".into(),
                ..Default::default()
            }],
            ..Default::default()
        };
        Run { scenario: "test".into(), seed: 7, variants: vec![variant], ..Run::default() }
    }

    #[test]
    fn a_written_result_reads_back_to_the_last_bit() {
        let text = to_json(&run());
        assert_eq!(read_json(&text).unwrap(), run());
        assert_eq!(to_json(&read_json(&text).unwrap()), text);
    }

    #[test]
    fn keys_are_in_the_documented_order_and_empty_ones_are_omitted() {
        let text = to_json(&run());
        assert!(text.starts_with(
            "{\n  \"schema\": \"longfat-result/2\",\n  \"scenario\": \"test\",\n  \"seed\": 7,"
        ));
        for absent in ["repeats", "completed", "limit_mbps", "one_at_a_time", "lost_packets"] {
            assert!(!text.contains(absent), "{absent}");
        }
    }

    #[test]
    fn a_result_of_version_1_is_read_with_its_former_keys() {
        let mut new = run();
        new.variants[0].elements[0].too_big =
            Some(TooBigPackets { icmp_sent: true, ..TooBigPackets::default() });
        new.warning_data = vec![RunWarning { kind: "w".into(), ..RunWarning::default() }];
        let old = to_json(&new)
            .replace("longfat-result/2", "longfat-result/1")
            .replace("icmp_sent", "told")
            .replace("warning_data", "warned");
        assert!(old.contains("\"told\": true") && old.contains("\"warned\""), "{old}");
        assert_eq!(read_json(&old).unwrap(), new);
    }

    #[test]
    fn a_wrong_schema_or_type_is_reported_with_its_place() {
        let e = read_json(r#"{"schema": "longfat-result/9", "variants": 3}"#).unwrap_err().to_string();
        assert_eq!(e, "schema is `longfat-result/9`, expected `longfat-result/2`");
        assert!(read_json("[1, 2").unwrap_err().to_string().contains("line 1"));
        assert!(
            read_json("{\"schema\": \"longfat-result/1\",\n\"seed\": -1}")
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
    }
}
