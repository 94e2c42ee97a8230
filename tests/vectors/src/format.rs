//! The contents of a vector file after it was read and checked.

use crate::observe::Want;
use congestion::CaState;
use units::Span;

/// One file: an algorithm, a topic, its vectors.
#[derive(Clone, Debug)]
pub struct File {
    /// The file's name, for messages.
    pub name: String,
    /// The algorithm's name in the registry.
    pub algorithm: String,
    /// The subject of the vectors.
    pub topic: String,
    /// The document from which the numbers follow.
    pub source: String,
    /// At least one vector.
    pub vectors: Vec<Vector>,
}

/// One script.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The behaviour that the script shows.
    pub name: String,
    /// Line where it begins.
    pub line: usize,
    /// The algorithm and its parameters as written: a name, or a table with `name`.
    pub cc: toml::Value,
    /// Derivation of the expected numbers.
    pub derivation: String,
    /// The connection at the start.
    pub start: Start,
    /// The events and expectations.
    pub steps: Vec<Step>,
}

/// An established connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Initial window, packets.
    pub cwnd: u32,
    /// Payload bytes of a packet.
    pub mss: u32,
    /// RTT of the handshake: srtt and the smallest RTT so far.
    pub rtt: Option<Span>,
    /// Upper bound of cwnd, packets.
    pub clamp: u32,
    /// Seed of the algorithm's random choices.
    pub seed: u64,
}

impl Default for Start {
    fn default() -> Start {
        Start { cwnd: 10, mss: 1460, rtt: None, clamp: u32::MAX, seed: 1 }
    }
}

/// One line of the script.
#[derive(Clone, Debug)]
pub struct Step {
    /// Line of the step.
    pub line: usize,
    /// The step's contents.
    pub action: Action,
}

/// An event, or an expectation.
#[derive(Clone, Debug)]
pub enum Action {
    /// Time moves to this long after the start.
    At(Span),
    /// Time passes.
    Wait(Span),
    /// Values are set by the script.
    Set(Change),
    /// Packets are sent.
    Send(u32),
    /// ACKs arrive.
    Ack(Ack),
    /// Recovery or CWR or Disorder begins.
    Enter(CaState),
    /// Recovery, CWR or Disorder ends.
    Leave,
    /// A retransmission timeout.
    TimeOut,
    /// The reduction was spurious.
    Undo,
    /// A pause of the application.
    Idle(Span),
    /// The window is restarted after idle time with this many packets.
    Restart(u32),
    /// Expected values by key ([`crate::KEYS`]).
    Expect(Vec<(&'static str, Want)>),
}

/// Values that a script may set; `None` leaves them unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Congestion window, packets.
    pub cwnd: Option<u32>,
    /// Slow-start threshold, packets; `u32::MAX` is "infinite".
    pub ssthresh: Option<u32>,
    /// Packets in flight.
    pub inflight: Option<u32>,
    /// Whether the window limited the last round.
    pub cwnd_limited: Option<bool>,
    /// The application has nothing more to send: what is in flight now counts as application-limited.
    pub app_limited: Option<bool>,
    /// Upper bound of the pacing rate, bytes per second.
    pub max_pacing_rate: Option<u64>,
    /// Time from now until the next packet may leave.
    pub departure: Option<Span>,
}

/// An ACK, or several equal ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// Packets newly acknowledged or SACKed.
    pub acked: u32,
    /// Number of such ACKs.
    pub times: u32,
    /// Time that passes before each.
    pub every: Span,
    /// RTT of the newest packet; `None` if only retransmitted packets were acknowledged.
    pub rtt: Option<Span>,
    /// Packets delivered over `interval`; default `acked`. `None` with `valid = false`.
    pub delivered: Option<u32>,
    /// Interval of the rate sample; default `rtt`, zero without one.
    pub interval: Span,
    /// Packets delivered when the newest one was sent; `None`: those delivered before this ACK minus those
    /// in flight.
    pub prior_delivered: Option<u64>,
    /// The newest packet was sent after everything before this ACK had been delivered, so this ACK ends a
    /// round trip. Determines `prior_delivered`.
    pub round: bool,
    /// Packets in flight after the ACK; default: those before, minus `acked` and `losses`.
    pub inflight: Option<u32>,
    /// Packets newly marked lost.
    pub losses: u32,
    /// Number of disjoint ranges of sequence numbers that the losses form.
    pub ranges: u32,
    /// Packets in flight when the newest packet had been sent, and when those now lost had been; `None`:
    /// those in flight before the ACK.
    pub tx_in_flight: Option<u32>,
    /// Packets marked lost since the newest packet was sent, including these; default `losses`.
    pub lost: u32,
    /// The newest packet was sent while the application was the limit.
    pub app_limited: bool,
    /// The ACK carries an ECN echo.
    pub ece: bool,
    /// The newest packet had been retransmitted.
    pub retrans: bool,
    /// The ACK was probably delayed by the receiver.
    pub delayed: bool,
}
