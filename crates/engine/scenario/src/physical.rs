//! Bounds of quantities: beyond them no path is, and whoever wrote it meant another unit.

use document::{Fault, Node, RefusalCause, Value};
use units::{Bytes, Rate, Span};

/// Twenty times what a port of a router has (800 Gbit/s, IEEE 802.3df).
const FASTEST: Rate = Rate::from_bps(16_000_000_000_000);
/// As long as the longest run.
const LONGEST: Span = Span::from_secs(24 * 3600);
/// A day of the fastest rate is 173 PB; a petabyte is a week of 10 Gbit/s.
const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);

/// Keys whose texts are no quantities.
const WORDS: [&str; 5] = ["name", "tool", "server", "file", "description"];

/// Holds every quantity of the tree against its bound.
pub(crate) fn check(root: &Node) -> Result<(), Fault> {
    ["hosts", "links", "relays", "flows"].iter().filter_map(|key| root.get(key)).try_for_each(walk)
}

fn walk(node: &Node) -> Result<(), Fault> {
    match &node.value {
        Value::Table(t) => {
            let quantities = t.entries.iter().filter(|(key, _)| !WORDS.contains(&key.name.as_str()));
            quantities.map(|(_, node)| node).try_for_each(walk)
        }
        Value::Array(list) => list.iter().try_for_each(walk),
        Value::Text(text) => beyond(text).map_or(Ok(()), |most| {
            let allowed = format!("up to {most}");
            Err(Fault::new(RefusalCause::OutOfRange { found: text.clone(), allowed }, node.at))
        }),
        _ => Ok(()),
    }
}

/// The bound of the quantity that a text is, where it is beyond.
fn beyond(text: &str) -> Option<String> {
    if let Ok(rate) = text.parse::<Rate>() {
        return (rate > FASTEST).then(|| FASTEST.to_string());
    }
    if let Ok(span) = text.parse::<Span>() {
        return (span > LONGEST).then(|| LONGEST.to_string());
    }
    let bytes = text.parse::<Bytes>().ok()?;
    (bytes > LARGEST).then(|| LARGEST.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_path_has_is_beyond() {
        for text in ["1000000000Gbit/s", "17000Gbit/s", "25h", "2000000GB"] {
            assert!(beyond(text).is_some(), "{text}");
        }
        for text in ["16000Gbit/s", "24h", "1000000GB", "cubic", "300km/h", "", "9kB", "30ms"] {
            assert_eq!(beyond(text), None, "{text}");
        }
    }
}
