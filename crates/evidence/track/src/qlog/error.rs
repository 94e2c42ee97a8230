//! Why a file cannot be read as qlog.

/// Why a file cannot be read as qlog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QlogError {
    #[error("line {line} is not JSON: {what}")]
    Json {
        /// From 1.
        line: usize,
        /// The parser's message.
        what: String,
    },
    /// The file is JSON, but has no traces.
    #[error("not a qlog: line {line} has neither `traces` nor, in a JSON text sequence, `trace`")]
    NoTrace {
        /// From 1.
        line: usize,
    },
    /// An event lacks a required field.
    #[error("line {line}, event {event}: {what}")]
    Event {
        /// From 1.
        line: usize,
        /// Name of the event; if it has none, its number in the trace.
        event: String,
        /// The problem, and what would be right.
        what: String,
    },
    /// No trace contains a packet.
    #[error("no `packet_sent` or `packet_received` event with a packet number{}", seen(.events))]
    NoPackets {
        /// Names of the events in the traces, the most frequent first.
        events: Vec<String>,
    },
    /// The endpoint received the data, and its log states no sizes.
    #[error(
        "the log of a receiver that does not state the length of received packets; give the sender's log"
    )]
    NoLengths,
}

fn seen(events: &[String]) -> String {
    if events.is_empty() {
        ", and no other event".into()
    } else {
        format!("; its events: {}", events.join(", "))
    }
}
