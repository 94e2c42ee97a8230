//! A run as JSON, and back.

use crate::{FlowKind, Run, SCHEMA};
use serde::{Deserialize, Serialize};

/// Why a text is no result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No JSON, or keys missing or of another type; names line and column.
    #[error("not a longfat result: {0}")]
    Json(#[source] serde_json::Error),
    /// Another schema, or another version of it.
    #[error("schema is `{found}`, expected `{SCHEMA}`")]
    Schema {
        /// What the text says it is.
        found: String,
    },
}

/// A run or a diagnosis as one JSON object and a newline; the same one gives the same bytes.
pub fn to_json(object: &impl Serialize) -> String {
    // Strings, numbers and options only: nothing in them can fail to serialise.
    let mut text = serde_json::to_string_pretty(object).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads what [`to_json`] wrote. Unknown keys are ignored, so that a newer minor version reads too.
pub fn read_json(text: &str) -> Result<Run, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    // The schema first: its mismatch explains whatever else would be wrong.
    let head: Head = serde_json::from_str(text).map_err(ReadError::Json)?;
    if head.schema != SCHEMA {
        return Err(ReadError::Schema { found: head.schema });
    }
    let mut run: Run = serde_json::from_str(text).map_err(ReadError::Json)?;
    for flow in run.variants.iter_mut().flat_map(|v| &mut v.flows) {
        // Results from before flows had kinds name the control `udp`, and a delay as if it were a round trip.
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
    use crate::{ElementResult, FlowResult, RttSummary, VariantResult};

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
    fn what_is_written_reads_back_to_the_last_bit() {
        let text = to_json(&run());
        assert_eq!(read_json(&text).unwrap(), run());
        assert_eq!(to_json(&read_json(&text).unwrap()), text);
    }

    #[test]
    fn keys_stand_in_the_documented_order_and_absent_ones_are_left_out() {
        let text = to_json(&run());
        assert!(text.starts_with(
            "{\n  \"schema\": \"longfat-result/1\",\n  \"scenario\": \"test\",\n  \"seed\": 7,"
        ));
        for absent in ["repeats", "completed", "limit_mbps", "one_at_a_time", "lost_packets"] {
            assert!(!text.contains(absent), "{absent}");
        }
    }

    #[test]
    fn another_schema_is_named() {
        let e = read_json(r#"{"schema": "longfat-result/9", "variants": 3}"#).unwrap_err().to_string();
        assert_eq!(e, "schema is `longfat-result/9`, expected `longfat-result/1`");
        assert!(read_json("[1, 2").unwrap_err().to_string().contains("line 1"));
        assert!(
            read_json("{\"schema\": \"longfat-result/1\",\n\"seed\": -1}")
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
    }
}
