//! What a vector file says, once read and checked.

use crate::observe::Want;
use congestion::CaState;
use units::Span;

/// One file: an algorithm, a topic, its vectors.
#[derive(Clone, Debug)]
pub struct File {
    /// The file's name, for messages.
    pub name: String,
    /// The registry's name of the algorithm.
    pub algorithm: String,
    /// What the vectors are about.
    pub topic: String,
    /// Which document the numbers follow from.
    pub source: String,
    /// At least one.
    pub vectors: Vec<Vector>,
}

/// One script.
#[derive(Clone, Debug)]
pub struct Vector {
    /// What it shows.
    pub name: String,
    /// Where it begins.
    pub line: usize,
    /// The algorithm and its parameters as written: a name, or a table with `name`.
    pub cc: toml::Value,
    /// How the expected numbers are worked out.
    pub derivation: String,
    /// The connection it begins with.
    pub start: Start,
    /// What happens.
    pub steps: Vec<Step>,
}

/// The connection as established.
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
    /// Where it is written.
    pub line: usize,
    /// What it says.
    pub action: Action,
}

/// What happens, or what must be seen.
#[derive(Clone, Debug)]
pub enum Action {
    /// Time moves to this long after the start.
    At(Span),
    /// Time passes.
    Wait(Span),
    /// Set by hand.
    Set(Change),
    /// Packets leave.
    Send(u32),
    /// ACKs arrive.
    Ack(Ack),
    /// Recovery or CWR or Disorder begins.
    Enter(CaState),
    /// It ends.
    Leave,
    /// A retransmission timeout.
    TimeOut,
    /// The reduction was spurious.
    Undo,
    /// A pause of the application.
    Idle(Span),
    /// The window is restarted after idle time, at so many packets.
    Restart(u32),
    /// What must be seen: keys of [`crate::KEYS`].
    Expect(Vec<(&'static str, Want)>),
}

/// What a script may set by hand; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Congestion window, packets.
    pub cwnd: Option<u32>,
    /// Slow-start threshold, packets; `u32::MAX` is "infinite".
    pub ssthresh: Option<u32>,
    /// Packets in flight.
    pub inflight: Option<u32>,
    /// Whether the window was the limit in the last round.
    pub cwnd_limited: Option<bool>,
    /// The application has nothing more to send: what is in flight now counts as limited by it.
    pub app_limited: Option<bool>,
    /// Upper bound of the pacing rate, bytes per second.
    pub max_pacing_rate: Option<u64>,
    /// How long from now the next packet may leave.
    pub departure: Option<Span>,
}

/// An ACK, or several alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// Packets newly acknowledged or SACKed.
    pub acked: u32,
    /// How many such ACKs.
    pub times: u32,
    /// Time that passes before each.
    pub every: Span,
    /// RTT of the newest packet; `None` when only retransmitted ones were acknowledged.
    pub rtt: Option<Span>,
    /// Packets delivered over `interval`; default `acked`. `None` with `valid = false`.
    pub delivered: Option<u32>,
    /// Interval of the rate sample; default `rtt`, zero without one.
    pub interval: Span,
    /// Packets delivered when the newest one was sent; `None`: what was delivered before this ACK
    /// less what was in flight.
    pub prior_delivered: Option<u64>,
    /// The newest packet was sent after everything before this ACK had been delivered, so this ACK
    /// ends a round trip. Decides `prior_delivered`.
    pub round: bool,
    /// Packets in flight after the ACK; default: those before less `acked` and `losses`.
    pub inflight: Option<u32>,
    /// Packets newly marked lost.
    pub losses: u32,
    /// The newest packet was sent while the application was the limit.
    pub app_limited: bool,
    /// The ACK carries an ECN echo.
    pub ece: bool,
    /// The newest packet had been retransmitted.
    pub retrans: bool,
    /// The ACK was probably delayed by the receiver.
    pub delayed: bool,
}
