//! The messages of the protocol. Everything in a [`Request`] comes from a stranger, and everything in a
//! [`Reply`] from a server that may lie: numbers are checked where they are used.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A session's id, 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(pub [u8; 16]);

/// A message from the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Request {
    /// First message of a control connection.
    Hello { version: u32 },
    /// Answer to the challenge, in hexadecimal digits; empty if the server asks for none.
    Prove { proof: String },
    /// First message of a stream connection: the session that it belongs to.
    Attach { session: SessionId },
    /// Requests that the server sends on this number of attached streams for this time.
    Download { streams: u32, ms: u32 },
    /// Announces that the client sends on this number of attached streams for this time.
    Upload { streams: u32, ms: u32 },
    /// Requests a train of datagrams from the server.
    Train { train: TrainOrder },
    /// Forgets the datagrams that have arrived: a train from the client begins.
    Clear,
    /// Requests the list of datagrams that have arrived since the last [`Request::Clear`].
    Collect,
    /// Requests that the server measures the path to another server, as a client of that one.
    Onward { host: String, port: u16 },
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// Answer to [`Request::Hello`]. The challenge, in hexadecimal digits, is absent where no token is
    /// needed.
    Hello {
        version: u32,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        challenge: Option<String>,
    },
    /// The session is open.
    Session { session: SessionId, limits: SessionLimits },
    /// A stream is attached, a test begins, or datagrams were forgotten.
    Ready,
    /// A test of streams has ended.
    Done(StreamsReport),
    /// A train has been sent.
    TrainSent {
        /// When each datagram was sent, µs since the first.
        sent_us: Vec<u64>,
        /// Datagrams that had to wait for room in the sender's buffer: its own device is the limit.
        waited: u32,
    },
    /// The datagrams that arrived.
    Arrivals {
        arrivals: Vec<Arrival>,
        /// Datagrams that arrived and that the server lost because it was late.
        dropped: u32,
    },
    /// The measurement of the path to another server, as JSON.
    Measured { measurement: String },
    /// Why there is no measurement of the path to another server.
    NotMeasured { why: String },
    /// The request is refused; the connection ends.
    Refused { why: String },
}

/// Limits that the server sets for a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLimits {
    /// Maximum rate of a test, bit/s; absent where there is no limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<u64>,
    /// Maximum duration of the session, s.
    pub seconds: u32,
    /// Bytes that the session may transfer in both directions together.
    pub bytes: u64,
}

/// A train of datagrams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainOrder {
    /// Number of the first datagram.
    pub first: u32,
    /// Payload of each datagram, bytes; the list is repeated until `count` are sent.
    pub sizes: Vec<u16>,
    /// TOS or traffic class of each datagram; the list is repeated like `sizes`.
    pub tos: Vec<u8>,
    /// Number of datagrams.
    pub count: u32,
    /// Rate of the payload, bit/s.
    pub rate: u64,
    /// Whether to forbid fragments.
    pub whole: bool,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u64, u16, u8)", into = "(u32, u64, u16, u8)")]
pub struct Arrival {
    /// Number of the datagram.
    pub number: u32,
    /// Time of arrival, µs since the first arrival.
    pub at_us: u64,
    /// Payload, bytes.
    pub size: u16,
    /// TOS or traffic class as it arrived.
    pub tos: u8,
}

/// Outcome of a test of streams at one end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamsReport {
    /// The kernel's counters of each stream at this end, in the order in which the streams were attached.
    pub streams: Vec<StreamCounters>,
    /// Bytes received by this end in each interval of [`crate::BIN_MS`]; empty at the sending end.
    pub bins: Vec<u64>,
    /// Share of the test in which this end had data and waited for room in the send buffers; absent at the
    /// receiving end.
    #[serde(default)]
    pub waited_share: Option<f64>,
}

/// The counters that the kernel keeps of a connection (`TCP_INFO`). A counter that a kernel lacks is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamCounters {
    /// Address and port of the client's end, as this end sees it.
    pub client: String,
    /// Congestion control.
    pub control: String,
    /// Bytes that arrived in order.
    pub received: u64,
    /// Payload bytes acknowledged.
    pub acked: u64,
    /// Data segments sent and retransmitted.
    pub segments: u64,
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Minimum and smoothed RTT, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<f64>,
    /// Time with data outstanding, s, and the parts of it with the receiver's window and with the send
    /// buffer full.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_limited_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffer_limited_s: Option<f64>,
    /// Payload of a full segment that this end sends, bytes.
    pub mss: u32,
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Does not show the id, which is as good as a password while the session lasts.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

impl FromStr for SessionId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SessionId, Self::Err> {
        let bytes = from_hex(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(SessionId).ok_or("a session's id has 32 hexadecimal digits")
    }
}

impl TryFrom<String> for SessionId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<SessionId, Self::Error> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.to_string()
    }
}

impl From<(u32, u64, u16, u8)> for Arrival {
    fn from((number, at_us, size, tos): (u32, u64, u16, u8)) -> Arrival {
        Arrival { number, at_us, size, tos }
    }
}

impl From<Arrival> for (u32, u64, u16, u8) {
    fn from(a: Arrival) -> (u32, u64, u16, u8) {
        (a.number, a.at_us, a.size, a.tos)
    }
}

/// Writes bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads hexadecimal digits; `None` for any other text.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_32_hexadecimal_digits() {
        let id = SessionId(std::array::from_fn(|i| 17 * i as u8));
        assert_eq!(id.to_string(), "00112233445566778899aabbccddeeff");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(format!("{id:?}"), "SessionId(..)", "logs do not show it");
        let wrong = ["", "0", "00112233445566778899aabbccddeef", "zz112233445566778899aabbccddeeff", "ää"];
        assert!(wrong.iter().all(|text| text.parse::<SessionId>().is_err()));
    }
}
