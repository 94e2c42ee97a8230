//! Why a file cannot be read as qlog.

/// Why a file is not a qlog that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QlogError {
    /// A line is not JSON.
    #[error("line {line} is not JSON: {what}")]
    Json {
        /// From 1.
        line: usize,
        /// The parser's message.
        what: String,
    },
    /// It is JSON without traces.
    #[error("not a qlog: line {line} has neither `traces` nor, in a JSON text sequence, `trace`")]
    NoTrace {
        /// From 1.
        line: usize,
    },
    /// An event lacks what every event has.
    #[error("line {line}, event {event}: {what}")]
    Event {
        /// From 1.
        line: usize,
        /// Its name, or its number in the trace where it has none.
        event: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// Traces have no packets.
    #[error("no `packet_sent` or `packet_received` event with a packet number{}", seen(.events))]
    NoPackets {
        /// Names of the events that the traces have, the most frequent first.
        events: Vec<String>,
    },
}

fn seen(events: &[String]) -> String {
    if events.is_empty() {
        ", and no other event".into()
    } else {
        format!("; its events: {}", events.join(", "))
    }
}
