//! Plausibility limits of quantities: a larger value is a wrong unit or a typing error.

use document::{Fault, Node, RefusalCause, Value};
use units::{Bytes, Rate, Span};

/// Twenty times the rate of a router port of 800 Gbit/s (IEEE 802.3df).
const MAX_RATE: Rate = Rate::from_bps(16_000_000_000_000);
/// The maximum length of a run.
const MAX_SPAN: Span = Span::from_secs(24 * 3600);
/// One petabyte: 10 Gbit/s for nine days.
const MAX_BYTES: Bytes = Bytes::new(1_000_000_000_000_000);

/// Keys with texts that are not quantities.
const TEXT_KEYS: [&str; 5] = ["name", "tool", "server", "file", "description"];

/// Checks every quantity of the tree against its limit.
pub(crate) fn check(root: &Node) -> Result<(), Fault> {
    ["hosts", "links", "relays", "flows"].iter().filter_map(|key| root.get(key)).try_for_each(walk)
}

fn walk(node: &Node) -> Result<(), Fault> {
    match &node.value {
        Value::Table(t) => {
            let quantities = t.entries.iter().filter(|(key, _)| !TEXT_KEYS.contains(&key.name.as_str()));
            quantities.map(|(_, node)| node).try_for_each(walk)
        }
        Value::Array(list) => list.iter().try_for_each(walk),
        Value::Text(text) => exceeded_limit(text).map_or(Ok(()), |most| {
            let allowed = format!("up to {most}");
            Err(Fault::new(RefusalCause::OutOfRange { found: text.clone(), allowed }, node.at))
        }),
        _ => Ok(()),
    }
}

/// The limit that the quantity in `text` exceeds, if it does.
fn exceeded_limit(text: &str) -> Option<String> {
    if let Ok(rate) = text.parse::<Rate>() {
        return (rate > MAX_RATE).then(|| MAX_RATE.to_string());
    }
    if let Ok(span) = text.parse::<Span>() {
        return (span > MAX_SPAN).then(|| MAX_SPAN.to_string());
    }
    let bytes = text.parse::<Bytes>().ok()?;
    (bytes > MAX_BYTES).then(|| MAX_BYTES.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_quantities_exceed_a_limit() {
        for text in ["1000000000Gbit/s", "17000Gbit/s", "25h", "2000000GB"] {
            assert!(exceeded_limit(text).is_some(), "{text}");
        }
        for text in ["16000Gbit/s", "24h", "1000000GB", "cubic", "300km/h", "", "9kB", "30ms"] {
            assert_eq!(exceeded_limit(text), None, "{text}");
        }
    }
}
