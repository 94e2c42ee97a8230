//! What a capture says about its flows: causes with shares, limiters, measures.

use crate::RttSummary;
pub use crate::both_ends::{BetweenEnds, BothEndsInfo, LatePart, LateSummary, LostBetween, UdpBetweenEnds};
pub use crate::cause::Cause;
use crate::change::Change;
pub use crate::qlog::{QlogAccount, QlogPoint, QlogStateSpan};
pub use crate::socket::{SocketAccount, SocketSample};
pub use crate::udp::{QuicFacts, RtpFacts, SpinBit, UdpFlowDiagnosis, UdpLoss, UdpRate};
use serde::{Deserialize, Serialize};

/// The schema's name and version, first key of every diagnosis.
pub const DIAGNOSIS_SCHEMA: &str = "longfat-diagnosis/3";

/// The diagnosis of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// What this is, and its version.
    pub schema: String,
    /// The capture.
    pub capture: CaptureInfo,
    /// Policers, shapers and bottlenecks found; flows refer to them by number.
    pub limiters: Vec<Limiter>,
    /// Directions of connections that carried payload, the one with most bytes first; and connections whose setup failed.
    pub flows: Vec<FlowDiagnosis>,
    /// Directions of UDP flows, the one with most bytes first; at most a thousand.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub udp_flows: Vec<UdpFlowDiagnosis>,
}

/// A capture as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureInfo {
    /// The file's name as given; `-` for standard input.
    pub file: String,
    /// Format and compression: `pcap`, `pcapng`, `pcap (zstd)` ….
    pub format: String,
    /// Link layers of its interfaces, as `ethernet`, `raw-ip`, `linux-cooked-v2`.
    pub links: Vec<String>,
    /// First record, seconds since 1970.
    pub start_s: f64,
    /// From first to last record, seconds.
    pub duration_s: f64,
    /// Records read.
    pub packets: u64,
    /// Bytes of the packets on the wire.
    pub wire_bytes: u64,
    /// Records with TCP.
    pub tcp_packets: u64,
    /// Records with UDP.
    pub udp_packets: u64,
    /// Directions of UDP flows that are not in `udp_flows`: of so many only those with most bytes are kept.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub forgotten_udp_flows: u64,
    /// Later fragments of IP packets, without TCP header.
    pub fragments: u64,
    /// Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tunnels: Vec<Counted>,
    /// Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other: Vec<Counted>,
    /// TCP connections.
    pub connections: u64,
    /// Packets that the capture program says it dropped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dropped: Option<u64>,
    /// Payload bytes that were acknowledged but are not in the capture.
    pub missed_bytes: u64,
    /// Records that stood in the file twice.
    pub duplicate_records: u64,
    /// Flows that are not in `flows`: of so many only those with most bytes are kept.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub forgotten_flows: u64,
    /// TCP packets that are earlier than the one before them: the clock ran backwards, or files were joined in another
    /// order. Times are taken as going on.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub backward_times: u64,
    /// The most by which one is, seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_backward_s: Option<f64>,
    /// Times that the capture's clock was set ahead, as the senders' own clocks tell, or a silence longer than any connection
    /// outlives. What it jumped over does not count.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub forward_jumps: u64,
    /// The longest jump, seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_forward_s: Option<f64>,
    /// Where and why reading ended early; all before it was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub damage: Option<Damage>,
    /// A second capture, taken at the other end, that was put together with this one; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub both_ends: Option<BothEndsInfo>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A name and how many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Of what.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// Damage of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Damage {
    /// Byte offset in the (decompressed) capture.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

/// A cause and its share of the flow's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    /// Which.
    pub cause: Cause,
    /// Share of the flow's time, 0 to 1; those of a flow add up to 1.
    pub share: f64,
    /// The same in seconds.
    pub seconds: f64,
}

/// A stretch of the ribbon: which cause held when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseSpan {
    /// Seconds since the capture began.
    pub from_s: f64,
    /// Until then.
    pub to_s: f64,
    /// Which.
    pub cause: Cause,
}

/// What kind of limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// Drops what its bucket does not hold.
    Policer,
    /// Delays what its bucket does not hold.
    Shaper,
    /// A link with a queue, without a bucket.
    #[default]
    Bottleneck,
}

/// A law by which a queue drops early (active queue management).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Aqm {
    /// Controlled delay (RFC 8289), of one queue or of each flow's (FQ-CoDel, RFC 8290).
    CoDel,
}

/// A rate limit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limiter {
    /// What kind.
    pub kind: LimiterKind,
    /// Rate of IP bytes, Mbit/s.
    pub rate_mbps: f64,
    /// Least and greatest rate that explain the losses as well, Mbit/s, where they do not tell it closer: as where a small
    /// bucket fills up between bursts. `rate_mbps` is one of these.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_range_mbps: Option<[f64; 2]>,
    /// Bucket (for a policer and a shaper), bytes; absent where the capture does not show it, as when the
    /// bucket never ran from full to empty.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst_bytes: Option<f64>,
    /// Longest queue seen before it, bytes (for shaper and bottleneck).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_bytes: Option<f64>,
    /// The same as delay, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_ms: Option<f64>,
    /// Each flow has a queue of its own before it, and all are served alike; told of a link that several flows fill, where the capture
    /// is before it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub fair_queue: bool,
    /// The law by which its queue drops before it is full; told where losses came when that foretells them, and waits are known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aqm: Option<Aqm>,
    /// Between sender and capture (`true`) or behind the capture.
    pub before_capture: bool,
    /// Share of the packets it dropped, 0 to 1.
    pub lost_share: f64,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Numbers (`id`) of the flows through it.
    pub flows: Vec<u32>,
    /// Who takes its rate where several flows share it, by the congestion control that they seem to use; the most first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub takers: Vec<LinkTakers>,
}

/// Flows with the same congestion control, as it seems, at a limiter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkTakers {
    /// As in [`Guess`]; `other` where it cannot be told.
    pub cc: String,
    /// How many flows.
    pub flows: u64,
    /// Payload of all of them from the begin of the first flow at the limiter to the end of the last, Mbit/s.
    pub mbps: f64,
    /// The same as a share of what all flows at the limiter carried, 0 to 1.
    pub share: f64,
}

/// Where the capture was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CapturePlace {
    /// At the sender of the data.
    Sender,
    /// At the receiver.
    Receiver,
    /// In between.
    Middle,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// Where in the round trip the capture sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vantage {
    /// Where.
    pub place: CapturePlace,
    /// Least time from the capture to the sender and back, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_sender_ms: Option<f64>,
    /// Least time from the capture to the receiver and back, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_receiver_ms: Option<f64>,
}

/// A guess with its confidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guess {
    /// `cubic`, `reno`, `bbr`, `vegas`, `westwood` or `other`.
    pub name: String,
    /// 0 to 1; 0 of `other`: no opinion.
    pub confidence: f64,
}

/// A verdict of at least this confidence is stated without doubt.
pub const SURE: f64 = 0.8;
/// A verdict below this confidence is one of several that fit: what limited the flow cannot be told.
pub const UNDECIDED: f64 = 0.5;

/// A cause that fits a flow too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlternativeCause {
    /// Which.
    pub cause: Cause,
    /// Its probability, 0 to 1.
    pub probability: f64,
}

/// The most probable limiter of a flow for which none is reported, because no limiter is at least as probable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedLimiter {
    /// Which kind.
    pub kind: LimiterKind,
    /// Its rate, Mbit/s of IP bytes.
    pub rate_mbps: f64,
    /// The probability that it is there, 0 to 1.
    pub probability: f64,
}

/// What a capture that decides between causes must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CaptureNeed {
    /// Every packet: this one was sampled or filtered, or written too slowly.
    EveryPacket,
    /// Both directions.
    BothDirections,
    /// The headers whole, with TCP's options.
    WholeHeaders,
    /// The SYNs.
    FromTheSyn,
    /// More round trips.
    Longer,
    /// The same at the sender.
    AtTheSender,
    /// The same at the receiver.
    AtTheReceiver,
}

impl CaptureNeed {
    /// All of them.
    pub const ALL: [CaptureNeed; 7] = [
        CaptureNeed::EveryPacket,
        CaptureNeed::BothDirections,
        CaptureNeed::WholeHeaders,
        CaptureNeed::FromTheSyn,
        CaptureNeed::Longer,
        CaptureNeed::AtTheSender,
        CaptureNeed::AtTheReceiver,
    ];

    /// As JSON spells it.
    pub const fn name(self) -> &'static str {
        match self {
            CaptureNeed::EveryPacket => "every-packet",
            CaptureNeed::BothDirections => "both-directions",
            CaptureNeed::WholeHeaders => "whole-headers",
            CaptureNeed::FromTheSyn => "from-the-syn",
            CaptureNeed::Longer => "longer",
            CaptureNeed::AtTheSender => "at-the-sender",
            CaptureNeed::AtTheReceiver => "at-the-receiver",
        }
    }
}

/// One direction of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowDiagnosis {
    /// Number within the diagnosis ([`FlowDiagnosis::number`]); stays the same whatever the order.
    pub id: u32,
    /// Number of the connection in the capture.
    pub connection: u32,
    /// Sender, `address:port`.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// First packet, seconds since the capture began.
    pub start_s: f64,
    /// From first data to its last ACK, seconds.
    pub duration_s: f64,
    /// Where the capture sits.
    pub vantage: Vantage,
    /// Main cause: the one with the greatest share.
    pub cause: Cause,
    /// Probability that `cause` is right, 0 to 1.
    pub confidence: f64,
    /// What fits too, the likelier first; empty where `confidence` is at least [`SURE`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub alternatives: Vec<AlternativeCause>,
    /// The capture that would decide between them; absent where `confidence` is at least [`SURE`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub needs: Option<CaptureNeed>,
    /// All causes, greatest first.
    pub causes: Vec<CauseShare>,
    /// Which held when, in the order of time, without gaps, at most a few hundred.
    pub timeline: Vec<CauseSpan>,
    /// What would help, the most likely first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedies: Vec<Change>,
    /// Index into [`Diagnosis::limiters`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limiter: Option<usize>,
    /// The most probable limiter where none is reported; absent where nothing suggests one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rejected_limiter: Option<RejectedLimiter>,
    /// The sender's congestion control, as it seems.
    pub cc: Guess,
    /// What was measured.
    pub measures: Measures,
    /// How the connection was set up, where that took more than one SYN and its answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setup: Option<ConnectionSetup>,
    /// How the connection was reset, where it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reset: Option<ConnectionReset>,
    /// How long the sender took to answer what it was asked; absent where it was asked nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub responses: Option<ResponseTimes>,
    /// Packets of the capture that show what is said of the flow: a proof of each cause that held it for a hundredth of its
    /// time, and of what else was found.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub proofs: Vec<PacketProof>,
    /// What a second capture at the other end says; absent where there was none, or it does not have this connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between_ends: Option<BetweenEnds>,
    /// What the sender's qlog says of its congestion control; absent where the flow is not from a sender's qlog, or that states no
    /// congestion window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub qlog: Option<QlogAccount>,
    /// What the sending host's kernel counted of the flow's socket; absent where that was not watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub socket: Option<SocketAccount>,
    /// What should be known about how far the numbers can be trusted, as codes: `no-handshake`,
    /// `window-scale-unknown`, `window-scale-refuted` (more was in flight than windows of that scale allow),
    /// `capture-missed-packets`, `one-way` (only one direction captured), `rtt-from-capture` (the way between sender and
    /// capture is not in it), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records` (counted
    /// once), `few-packets` (too few for a verdict on the path), `few-loss-episodes` (packets were lost
    /// at one or two moments only, too few to show what loses them), `waits-unseen` (nothing shows how long packets waited before the
    /// capture, where they were lost), `no-packets` (known by its socket's counters alone), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a
    /// receiver's), `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (it ends in the middle
    /// of an event) ….
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// The note of a flow with too few packets for a verdict on the path.
pub const FEW_PACKETS: &str = "few-packets";

impl FlowDiagnosis {
    /// Whether the flow has too few packets for a verdict on the path: only what happened to it is said.
    pub fn has_few_packets(&self) -> bool {
        self.has_note(FEW_PACKETS)
    }

    /// Whether the flow has this code among its notes.
    pub fn has_note(&self, code: &str) -> bool {
        self.notes.iter().any(|note| note == code)
    }

    /// How many round trips of the mean RTT it lasted; `None` where no RTT is known.
    pub fn round_trips(&self) -> Option<f64> {
        let rtt = self.measures.rtt_ms.mean;
        (rtt > 0.0).then(|| self.duration_s * 1e3 / rtt)
    }
}

/// How setting up a connection ended in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetupEnd {
    /// No SYN was answered.
    Unanswered,
    /// The other end, or something before it, answered with RST.
    Refused,
    /// ICMP said that it cannot be reached.
    Unreachable,
    /// SYN/ACKs came, and were not acknowledged.
    Unfinished,
}

/// How a connection was set up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionSetup {
    /// SYNs of the end that opened it; all but the first are retries.
    pub syns: u64,
    /// SYN/ACKs of the other end.
    pub syn_acks: u64,
    /// From the first SYN to the last, seconds.
    pub retried_s: f64,
    /// How it failed; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<SetupEnd>,
    /// From the first SYN to the reset that refused it, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused_after_ms: Option<f64>,
    /// What ICMP said: `network`, `host`, `port`, `prohibited` or `other`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unreachable: Option<String>,
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ConnectionEnd {
    /// The one that opened it.
    #[default]
    Client,
    /// The other.
    Server,
}

/// How a connection was reset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionReset {
    /// By whom, as its addresses say: something on the way may have sent it in its name.
    pub by: ConnectionEnd,
    /// When, seconds since the capture began.
    pub at_s: f64,
    /// Payload bytes that the client had sent.
    pub client_bytes: u64,
    /// Payload bytes that the server had sent.
    pub server_bytes: u64,
    /// Data was not yet acknowledged; else the connection was at rest.
    pub outstanding: bool,
    /// One of the ends had ended its stream (FIN): it was about to close.
    pub after_fin: bool,
}

/// How long a server took to answer: from the last byte of a request to the first of its response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseTimes {
    /// Requests that were answered, but for those of which something was sent again, or that came while a response was on its
    /// way.
    pub exchanges: u64,
    /// The server's part, ms: what is left of the time at the capture without the least that the way from there to the server
    /// and back takes.
    pub server_ms: RttSummary,
    /// The network's part, from client to server and back, ms: the RTT of the handshake, or else the least of the data's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network_ms: Option<f64>,
    /// The server's parts added up, seconds.
    pub server_s: f64,
    /// The same as a share of the flow's time, 0 to 1.
    pub share: f64,
}

/// What packets have to do with what they show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofKind {
    /// They were lost; of those lost before the capture, the packets that show that something is missing.
    Lost,
    /// They waited: their RTTs are in the upper half of those of the cause's time, the longest first.
    Waited,
    /// They stand before and behind the longest pauses of the cause's time; the total counts all data packets of that time.
    #[default]
    Pauses,
    /// They announced that the window had closed.
    ZeroWindows,
    /// Small segments: each left when all before it was acknowledged, which the receiver had delayed.
    Held,
    /// They asked for the connection, or answered that, more than once or in vain.
    Setup,
    /// They reset the connection.
    Resets,
    /// The end of the request whose response took longest, and the beginning of that response; the total counts both of all
    /// exchanges.
    Response,
}

impl ProofKind {
    /// As JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            ProofKind::Lost => "lost",
            ProofKind::Waited => "waited",
            ProofKind::Pauses => "pauses",
            ProofKind::ZeroWindows => "zero-windows",
            ProofKind::Held => "held",
            ProofKind::Setup => "setup",
            ProofKind::Resets => "resets",
            ProofKind::Response => "response",
        }
    }
}

/// Packets of the capture that show something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketProof {
    /// Which cause they show; absent where they show something else, which `kind` says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Cause>,
    /// What they are.
    pub kind: ProofKind,
    /// Numbers of a few of them: the record's place in the file, from 1, as Wireshark's `frame.number`; of several files read
    /// as one, as if they were one.
    pub packets: Vec<u32>,
    /// How many there are.
    pub total: u64,
    /// A display filter of Wireshark and tshark (`-Y`) that shows them.
    pub filter: String,
}

impl FlowDiagnosis {
    /// The `id` of a connection's direction: even that of the end that opened it, odd that of the other. So it is
    /// known while the capture is still being read, and packets can be told by it.
    pub fn number(connection: u32, from_opener: bool) -> u32 {
        connection.wrapping_mul(2).wrapping_add(!from_opener as u32)
    }

    /// The share of a cause; 0 where it has none.
    pub fn share(&self, cause: Cause) -> f64 {
        self.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
    }
}

/// What was measured of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measures {
    /// Payload acknowledged over the flow's time, Mbit/s.
    pub goodput_mbps: f64,
    /// Greatest delivery rate over a round trip, payload, Mbit/s.
    pub max_delivery_mbps: f64,
    /// Payload bytes acknowledged (or seen, where no ACKs are).
    pub bytes: u64,
    /// Data packets on the wire.
    pub data_packets: u64,
    /// Share of the payload that the capture lacks, 0 to 1; absent where it lacks none. Above 0.07 no cause is named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing_share: Option<f64>,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// RTT of the handshake, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_rtt_ms: Option<f64>,
    /// RTT of data, end to end.
    pub rtt_ms: RttSummary,
    /// Bandwidth-delay product: greatest delivery rate times least RTT, bytes.
    pub bdp_bytes: u64,
    /// Most bytes in flight.
    pub max_inflight_bytes: u64,
    /// Mean of each bin's most, bytes.
    pub mean_inflight_bytes: u64,
    /// Greatest receive window seen, bytes; absent where its scale is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_window_bytes: Option<u64>,
    /// Both ends offered window scaling; absent where no SYN was seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_scaling: Option<bool>,
    /// Retransmitted packets.
    pub retransmitted_packets: u64,
    /// Of them in fast recovery.
    pub fast: u64,
    /// After a timeout.
    pub rto: u64,
    /// Tail loss probes.
    pub tlp: u64,
    /// Needless.
    pub spurious: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Packets lost before the capture.
    pub lost_up: u64,
    /// Packets lost behind it.
    pub lost_down: u64,
    /// Packets reordered before the capture.
    pub reordered: u64,
    /// The most by which one was late, ms.
    pub reordered_by_ms: f64,
    /// ACKs.
    pub acks: u64,
    /// Duplicate ACKs.
    pub dup_acks: u64,
    /// Times the window closed.
    pub zero_windows: u64,
    /// Small segments that waited until all before them was acknowledged, which the receiver delayed.
    #[serde(default)]
    pub held_segments: u64,
    /// Seconds that they waited, and those before them for their ACK.
    #[serde(default)]
    pub held_s: f64,
    /// Seconds with nothing outstanding.
    pub idle_s: f64,
    /// Seconds in which nothing passed either way although data was outstanding.
    #[serde(default)]
    pub silence_s: f64,
    /// Seconds waiting for timeouts.
    pub timeout_s: f64,
    /// Bytes of the largest burst back to back.
    pub largest_burst_bytes: u64,
    /// Mean of bursts, bytes.
    pub mean_burst_bytes: u64,
    /// Full segments lost again and again while small ones passed.
    pub too_big: u64,
    /// ICMP messages that said that a packet was too big (RFC 1191, RFC 8201), of those counted there.
    #[serde(default)]
    pub icmp_too_big: u64,
    /// The largest IP packet that the path carries, bytes, as ICMP said, as the size shows that full segments fell to, or
    /// (to 8 bytes) as fragments show; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_mtu_bytes: Option<u32>,
    /// Payload of a full segment before it fell in the midst of the connection; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mss_before_bytes: Option<u32>,
    /// Packets that came in IP fragments, or in a tunnel's packet that did.
    #[serde(default)]
    pub fragmented_packets: u64,
    /// Their fragments.
    #[serde(default)]
    pub fragments: u64,
    /// Of these packets those of which some fragments never came.
    #[serde(default)]
    pub torn_packets: u64,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// Data packets marked before the capture (CE).
    pub ce: u64,
    /// ACKs that echo a mark.
    pub ece: u64,
}

/// A queue shows in the RTT if the 95th percentile is above the least one by more than this share: a managed queue lets stand as much
/// (RFC 8289 section 3.2).
const QUEUE_SHARE: f64 = 0.05;

impl Measures {
    /// Whether the RTT shows a queue.
    pub fn shows_queue(&self) -> bool {
        self.rtt_ms.p95 > self.rtt_ms.min * (1.0 + QUEUE_SHARE)
    }
}
