//! Reading qlog files: JSON (main schema section 5: `application/qlog+json`), JSON text sequences (RFC 7464)
//! and one object a line.
//!
//! | version | events | times |
//! |---|---|---|
//! | draft-00 to draft-02 | lists, in the order of `event_fields` | ms or µs (`configuration.time_units`) |
//! | 0.3 | objects | ms, `relative`, `absolute` or `delta` |
//! | 0.4 (`file_schema`) | objects, names with `quic:` | ms, `relative_to_epoch` or `relative_to_previous_event` |

use super::error::QlogError;
use super::event::TraceReader;
use super::pieces::{contained, records};
use super::trace::QlogTrace;
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum length of a file, bytes: a packet takes some 300.
pub const LONGEST_FILE: usize = 1 << 30;
/// Maximum number of event names in an error.
const MAX_EVENT_NAMES: usize = 8;

/// Reads all traces in a file's text. A trace of several connections (`group_id` in its events) becomes one
/// for each.
///
/// # Errors
/// Fails when the text is not a qlog, when no trace in it contains packets, or when all traces are of
/// receivers that do not state how much they received.
pub fn read_qlog(text: &str) -> Result<Vec<QlogTrace>, QlogError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut readers = Vec::new();
    match contained(text)? {
        Some(traces) => {
            for trace in traces {
                let mut group = Group::new(trace.head);
                for piece in trace.events {
                    let value = piece.value()?;
                    group.event(piece, &value)?;
                }
                group.cut(trace.cut_at_line);
                readers.extend(group.readers());
            }
        }
        None => readers.extend(sequence(text)?.readers()),
    }
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (name, n) in readers.iter().flat_map(|r| &r.names) {
        *names.entry(name.clone()).or_default() += n;
    }
    let traces: Vec<QlogTrace> =
        readers.into_iter().map(TraceReader::finish).filter(|t| !t.events.is_empty()).collect();
    if traces.iter().all(|t| t.packets().next().is_none()) {
        let mut events: Vec<(String, u64)> = names.into_iter().collect();
        events.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let events = events.into_iter().take(MAX_EVENT_NAMES).map(|(name, _)| name).collect();
        return Err(QlogError::NoPackets { events });
    }
    if traces.iter().all(|t| t.is_of_receiver() && t.lacks_received_lengths()) {
        return Err(QlogError::NoLengths);
    }
    Ok(traces)
}

/// The events of a trace, grouped by connection.
struct Group {
    head: Value,
    by_id: BTreeMap<String, TraceReader>,
    /// The connection of the event before.
    last_id: String,
    cut_at_line: Option<usize>,
}

impl Group {
    fn new(head: Value) -> Group {
        Group { head, by_id: BTreeMap::new(), last_id: String::new(), cut_at_line: None }
    }

    fn event(&mut self, piece: super::pieces::Piece<'_>, value: &Value) -> Result<(), QlogError> {
        let id = value["group_id"].as_str().unwrap_or_default();
        if !self.by_id.contains_key(id) {
            let reader = self.renamed(value).unwrap_or_else(|| {
                let mut reader = TraceReader::new(&self.head);
                if !id.is_empty() {
                    reader.trace.original_id = Some(id.to_lowercase());
                }
                reader
            });
            self.by_id.insert(id.into(), reader);
        }
        if self.last_id != id {
            self.last_id = id.into();
        }
        let reader = self.by_id.get_mut(id);
        reader.map_or(Ok(()), |reader| reader.event(piece, value))
    }

    /// Returns the reader of the connection that an event continues under a new id. quinn's client calls a
    /// connection by the destination ID that it chose, and by the server's once that has answered.
    fn renamed(&mut self, event: &Value) -> Option<TraceReader> {
        let received = event["name"].as_str().is_some_and(|name| name.ends_with("packet_received"));
        let before = self.by_id.get(&self.last_id)?;
        (received && before.is_clients_beginning()).then(|| self.by_id.remove(&self.last_id)).flatten()
    }

    fn cut(&mut self, line: Option<usize>) {
        self.cut_at_line = line;
    }

    fn readers(self) -> impl Iterator<Item = TraceReader> {
        let cut_at_line = self.cut_at_line;
        self.by_id.into_values().map(move |mut reader| {
            reader.trace.cut_at_line = cut_at_line;
            reader
        })
    }
}

fn sequence(text: &str) -> Result<Group, QlogError> {
    let pieces = records(text);
    let Some((first, events)) = pieces.split_first() else { return Err(QlogError::NoTrace { line: 1 }) };
    let mut head = first.value()?;
    if head.get("trace").is_none() {
        return Err(QlogError::NoTrace { line: first.line });
    }
    let mut group = Group::new(head["trace"].take());
    for (i, piece) in events.iter().enumerate() {
        match piece.value() {
            Ok(value) => group.event(*piece, &value)?,
            // The endpoint stopped in the middle of the last event.
            Err(_) if i + 1 == events.len() => group.cut(Some(piece.line)),
            Err(e) => return Err(e),
        }
    }
    Ok(group)
}
