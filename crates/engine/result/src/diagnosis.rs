//! The diagnosis of a capture: causes with their shares of time, rate limiters and measurements of each flow.

use crate::RttSummary;
pub use crate::both_ends::{
    BetweenEnds, BothEndsInfo, DelayVariation, DelayVariationPart, LostBetween, UdpBetweenEnds,
};
pub use crate::cause::Cause;
use crate::change::Change;
pub use crate::qlog::{QlogAccount, QlogPoint, QlogStateSpan};
pub use crate::socket::{SenderTime, SocketAccount, SocketSample};
pub use crate::udp::{QuicFacts, RtpFacts, SpinBit, UdpFlowDiagnosis, UdpLoss, UdpRate};
use serde::{Deserialize, Serialize};

/// The schema's name and version, first key of every diagnosis.
pub const DIAGNOSIS_SCHEMA: &str = "longfat-diagnosis/4";

/// The diagnosis of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Name and version of the schema.
    pub schema: String,
    /// The capture and what was read of it.
    pub capture: CaptureInfo,
    /// Policers, shapers and bottlenecks found; flows refer to them by index.
    pub limiters: Vec<Limiter>,
    /// Directions of TCP connections that carried payload, the one with most bytes first, and connections
    /// whose setup failed.
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
    /// Link layers of the capture's interfaces: `ethernet`, `raw-ip`, `linux-cooked-v2` ….
    pub links: Vec<String>,
    /// Time of the first record, seconds since 1970.
    pub start_s: f64,
    /// Time from the first to the last record, s.
    pub duration_s: f64,
    /// Records read.
    pub packets: u64,
    /// Length of all packets on the wire, bytes.
    pub wire_bytes: u64,
    /// Records with TCP.
    pub tcp_packets: u64,
    /// Records with UDP.
    pub udp_packets: u64,
    /// Number of directions of UDP flows that `udp_flows` omits; those with most bytes are kept. Absent: 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub omitted_udp_flows: u64,
    /// IP fragments other than the first of a packet; they carry no TCP header.
    pub fragments: u64,
    /// Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tunnels: Vec<Counted>,
    /// Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other: Vec<Counted>,
    /// TCP connections.
    pub connections: u64,
    /// Packets that the capturing program reports as dropped; absent where the file does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dropped: Option<u64>,
    /// Payload bytes that were acknowledged but are not in the capture.
    pub missed_bytes: u64,
    /// Records that the file holds twice.
    pub duplicate_records: u64,
    /// Number of directions of TCP connections that `flows` omits; those with most bytes are kept. Absent:
    /// 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub omitted_flows: u64,
    /// Number of TCP packets with a time earlier than the packet before: records out of order, a clock that
    /// was set back, or files joined in the wrong order. Packets are sorted, and time continues where the
    /// clock was set back. Absent: 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub backward_times: u64,
    /// Largest such step back, s; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_backward_s: Option<f64>,
    /// Number of times that the capture's clock was set forward, as shown by the senders' TCP timestamps or
    /// by a silence longer than any connection survives. The skipped time does not count. Absent: 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub forward_jumps: u64,
    /// Largest such step forward, s; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_forward_s: Option<f64>,
    /// Where and why reading ended early; everything before that place was read. Absent where the file is
    /// whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub damage: Option<Damage>,
    /// A second capture, taken at the other end, that was combined with this one; absent where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub both_ends: Option<BothEndsInfo>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A name and a count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Name of what is counted.
    pub name: String,
    /// The count.
    pub count: u64,
}

/// Damage of a capture file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Damage {
    /// Byte offset of the damage in the decompressed capture.
    pub offset: u64,
    /// Description of the damage.
    pub what: String,
}

/// A cause and its share of a flow's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    /// The cause.
    pub cause: Cause,
    /// Share of the flow's time, 0 to 1; the shares of a flow add up to 1.
    pub share: f64,
    /// Time with this cause, s.
    pub seconds: f64,
}

/// An interval of a flow's time with its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseSpan {
    /// Begin, seconds since the capture began.
    pub from_s: f64,
    /// End, seconds since the capture began.
    pub to_s: f64,
    /// The cause in this interval.
    pub cause: Cause,
}

/// Kind of a rate limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// Drops packets that exceed its token bucket.
    Policer,
    /// Delays packets that exceed its token bucket.
    Shaper,
    /// A link with a queue and no token bucket.
    #[default]
    Bottleneck,
}

/// Active queue management (AQM): the law by which a queue drops packets before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Aqm {
    /// CoDel (RFC 8289), on a single queue or on each flow's queue (FQ-CoDel, RFC 8290).
    CoDel,
}

/// A rate limiter that the capture shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limiter {
    /// Kind of limiter.
    pub kind: LimiterKind,
    /// Rate of IP bytes, Mbit/s.
    pub rate_mbps: f64,
    /// Lowest and highest rate that explain the losses equally well, Mbit/s, `rate_mbps` among them; absent
    /// where losses determine the rate. A range occurs where, for example, a small bucket refills between
    /// bursts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_range_mbps: Option<[f64; 2]>,
    /// Size of the token bucket of a policer or shaper, bytes; absent where the capture does not show it,
    /// for example because the bucket never went from full to empty.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst_bytes: Option<f64>,
    /// Longest queue seen at a shaper or bottleneck, bytes; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_bytes: Option<f64>,
    /// Longest queueing delay seen, ms; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_ms: Option<f64>,
    /// Whether each flow has its own queue and all are served equally (fair queueing). Detected only on a
    /// link that several flows fill, with the capture before it. Absent: false.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub fair_queue: bool,
    /// Active queue management of the limiter's queue; absent unless queueing delays are known and the
    /// losses occurred when that law predicts them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aqm: Option<Aqm>,
    /// Whether the limiter is between sender and capture; false: between capture and receiver.
    pub before_capture: bool,
    /// Share of packets that the limiter dropped, 0 to 1.
    pub lost_share: f64,
    /// Confidence that the limiter exists as described, 0 to 1.
    pub confidence: f64,
    /// Ids of the flows that pass the limiter.
    pub flows: Vec<u32>,
    /// How several flows share the rate, grouped by their detected congestion control, the largest share
    /// first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shares_by_cc: Vec<CcShare>,
}

/// Flows at a limiter that appear to use the same congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CcShare {
    /// Congestion control, as in [`Guess`]; `other` where it was not recognised.
    pub cc: String,
    /// Number of flows.
    pub flows: u64,
    /// Payload rate of these flows together, Mbit/s, from the begin of the limiter's first flow to the end
    /// of its last.
    pub mbps: f64,
    /// Their share of the payload of all flows at the limiter, 0 to 1.
    pub share: f64,
}

/// Position of the capture on the path of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CapturePlace {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
    /// Between sender and receiver.
    Middle,
    /// Unknown: the packets do not show it.
    #[default]
    Unknown,
}

/// Position of the capture, with its RTTs to both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vantage {
    /// At the sender, at the receiver or in between.
    pub place: CapturePlace,
    /// Minimum RTT between capture and sender, ms; absent where not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_sender_ms: Option<f64>,
    /// Minimum RTT between capture and receiver, ms; absent where not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_receiver_ms: Option<f64>,
}

/// The detected congestion control of a sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guess {
    /// `cubic`, `reno`, `bbr`, `vegas`, `westwood` or `other`.
    pub name: String,
    /// Confidence, 0 to 1; 0 with `other`: not recognised.
    pub confidence: f64,
}

/// Verdicts of at least this confidence are stated without reservation.
pub const SURE: f64 = 0.8;
/// Verdicts below this confidence are reported as undecided: several causes fit.
pub const UNDECIDED: f64 = 0.5;

/// Another cause that fits a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlternativeCause {
    /// The cause.
    pub cause: Cause,
    /// Probability of the cause, 0 to 1.
    pub probability: f64,
}

/// The most probable limiter of a flow for which none is reported, because "no limiter" is at least as
/// probable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedLimiter {
    /// Kind of limiter.
    pub kind: LimiterKind,
    /// Rate of IP bytes, Mbit/s.
    pub rate_mbps: f64,
    /// Probability that the limiter exists, 0 to 1.
    pub probability: f64,
}

/// What a new capture needs to decide between causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CaptureNeed {
    /// Packets; only the counters of the kernel were read.
    Packets,
    /// Every packet; this capture was sampled, filtered, or dropped packets.
    EveryPacket,
    /// Both directions.
    BothDirections,
    /// Whole headers, including TCP options.
    WholeHeaders,
    /// The connection's SYNs.
    FromTheSyn,
    /// More round trips.
    Longer,
    /// A capture at the sender.
    AtTheSender,
    /// A capture at the receiver.
    AtTheReceiver,
}

impl CaptureNeed {
    /// All needs, in the order of the declaration.
    pub const ALL: [CaptureNeed; 8] = [
        CaptureNeed::Packets,
        CaptureNeed::EveryPacket,
        CaptureNeed::BothDirections,
        CaptureNeed::WholeHeaders,
        CaptureNeed::FromTheSyn,
        CaptureNeed::Longer,
        CaptureNeed::AtTheSender,
        CaptureNeed::AtTheReceiver,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CaptureNeed::Packets => "packets",
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

/// The diagnosis of one direction of one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowDiagnosis {
    /// The flow's id in the diagnosis ([`FlowDiagnosis::number`]); independent of the order of `flows`.
    pub id: u32,
    /// Number of the connection in the capture.
    pub connection: u32,
    /// Sending end, `address:port`.
    pub from: String,
    /// Receiving end, `address:port`.
    pub to: String,
    /// First packet, seconds since the capture began.
    pub start_s: f64,
    /// Time from the first data to its last ACK, s.
    pub duration_s: f64,
    /// Position of the capture on the flow's path.
    pub vantage: Vantage,
    /// Main cause: the one with the largest share of the flow's time.
    pub cause: Cause,
    /// Probability that `cause` is right, 0 to 1.
    pub confidence: f64,
    /// Other causes that fit, the most probable first; empty where `confidence` is at least [`SURE`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub alternatives: Vec<AlternativeCause>,
    /// The capture that would decide between `cause` and `alternatives`; absent where `confidence` is at
    /// least [`SURE`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub needs: Option<CaptureNeed>,
    /// All causes with their shares, the largest first.
    pub causes: Vec<CauseShare>,
    /// Intervals with their causes, in order of time and without gaps; at most a few hundred.
    pub timeline: Vec<CauseSpan>,
    /// Changes that would help, the most promising first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedies: Vec<Change>,
    /// Index into [`Diagnosis::limiters`]; absent where the flow passes none that was found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limiter: Option<usize>,
    /// The most probable limiter where none is reported; absent where nothing suggests one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rejected_limiter: Option<RejectedLimiter>,
    /// Congestion control of the sender, as its packets suggest.
    pub cc: Guess,
    /// Measurements of the flow.
    pub measures: Measures,
    /// Connection setup; absent where one SYN and one SYN/ACK sufficed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setup: Option<ConnectionSetup>,
    /// The reset that ended the connection; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reset: Option<ConnectionReset>,
    /// Times in which the sender responded to requests; absent where it received none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub responses: Option<ResponseTimes>,
    /// Packets of the capture as evidence, for each cause that took at least a hundredth of the flow's time
    /// and for other findings.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub proofs: Vec<PacketProof>,
    /// Losses and delays measured between two captures; absent without a second capture, or where it lacks
    /// this connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between_ends: Option<BetweenEnds>,
    /// The sender's own qlog of its congestion control; absent where the flow is not from a sender's qlog,
    /// or where that log states no congestion window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub qlog: Option<QlogAccount>,
    /// Counters that the sending host's kernel kept of the flow's socket; absent where the socket was not
    /// watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub socket: Option<SocketAccount>,
    /// Codes of what limits the trust in the numbers: `no-handshake`, `window-scale-unknown`,
    /// `window-scale-refuted` (more data was in flight than the windows allow at that scale),
    /// `capture-missed-packets`, `one-way` (only one direction was captured), `acks-missing` (for a while no
    /// ACK was captured, although new data followed), `rtt-from-capture` (RTTs lack the path between sender
    /// and capture), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records`
    /// (counted once), `few-packets` (too few for a verdict on the path), `few-loss-episodes` (the main
    /// cause lost packets at one or two moments only, too few to show it), `waits-unseen` (the queueing
    /// delay before the capture, where packets were lost, is unknown), `waits-too-short` (packets were lost
    /// in front of a link; the timestamps are too coarse to tell a short queue from chance),
    /// `pauses-ambiguous` (the application's pauses may be those of a full window), `no-packets` (known only
    /// from its socket's counters), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a receiver's),
    /// `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (the log
    /// ends in the middle of an event) ….
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// The note of a flow with too few packets for a verdict on the path.
pub const FEW_PACKETS: &str = "few-packets";

impl FlowDiagnosis {
    /// Whether the flow has too few packets for a verdict on the path. Then only observed events are
    /// reported.
    pub fn has_few_packets(&self) -> bool {
        self.has_note(FEW_PACKETS)
    }

    /// Whether the flow has the note `code`.
    pub fn has_note(&self, code: &str) -> bool {
        self.notes.iter().any(|note| note == code)
    }

    /// Duration of the flow in round trips of its mean RTT; `None` where no RTT is known.
    pub fn round_trips(&self) -> Option<f64> {
        let rtt = self.measures.rtt_ms.mean;
        (rtt > 0.0).then(|| self.duration_s * 1e3 / rtt)
    }
}

/// How the setup of a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetupEnd {
    /// No SYN was answered.
    Unanswered,
    /// A SYN was answered with RST, by the other end or a device in front of it.
    Refused,
    /// ICMP reported the destination as unreachable.
    Unreachable,
    /// SYN/ACKs arrived but were not acknowledged.
    Unfinished,
}

/// The setup of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionSetup {
    /// SYNs of the client; all but the first are retries.
    pub syns: u64,
    /// SYN/ACKs of the server.
    pub syn_acks: u64,
    /// Time from the first SYN to the last, s.
    pub retried_s: f64,
    /// Kind of failure; absent where the setup succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<SetupEnd>,
    /// Time from the first SYN to the RST that refused it, ms; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused_after_ms: Option<f64>,
    /// What ICMP reported as unreachable: `network`, `host`, `port`, `prohibited` or `other`; absent without
    /// ICMP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unreachable: Option<String>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ConnectionEnd {
    /// The end that opened the connection.
    #[default]
    Client,
    /// The end that accepted it.
    Server,
}

/// The reset of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionReset {
    /// The end whose address the RST carries; a device on the path may have sent it in that end's name.
    pub by: ConnectionEnd,
    /// Time of the reset, seconds since the capture began.
    pub at_s: f64,
    /// Payload bytes that the client had sent.
    pub client_bytes: u64,
    /// Payload bytes that the server had sent.
    pub server_bytes: u64,
    /// Whether data was unacknowledged; false: the connection was idle.
    pub outstanding: bool,
    /// Whether an end had already sent FIN.
    pub after_fin: bool,
}

/// Response times of a server, from the last byte of a request to the first byte of its response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseTimes {
    /// Answered requests, without those that had retransmissions and those that arrived while a response was
    /// being sent.
    pub exchanges: u64,
    /// The server's share of a response time, ms: the time seen at the capture minus the minimum RTT between
    /// capture and server.
    pub server_ms: RttSummary,
    /// The network's share, ms: the RTT of the handshake between client and server, else the minimum RTT of
    /// data; absent where neither is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network_ms: Option<f64>,
    /// Sum of the server's shares, s.
    pub server_s: f64,
    /// Sum of the server's shares as a share of the flow's time, 0 to 1.
    pub share: f64,
}

/// The kind of evidence that packets give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofKind {
    /// Lost packets; for losses before the capture, the packets that reveal the gap.
    Lost,
    /// Packets that were queued: their RTTs are in the upper half of those of the cause's time, the longest
    /// first.
    Waited,
    /// The packets before and after the longest pauses of the cause's time; `total` counts all data packets
    /// of that time.
    #[default]
    Pauses,
    /// Packets that announced a zero window.
    ZeroWindows,
    /// Small segments that left only when all earlier data was acknowledged, with an ACK that the receiver
    /// had delayed.
    Held,
    /// SYNs and SYN/ACKs that were repeated or failed.
    Setup,
    /// Packets that reset the connection.
    Resets,
    /// The end of the request with the longest response time and the begin of its response; `total` counts
    /// both packets of all exchanges.
    Response,
}

impl ProofKind {
    /// The name in JSON.
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

/// Packets of the capture as evidence for a statement about a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketProof {
    /// The cause that the packets prove; absent where they prove something else, which `kind` names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Cause>,
    /// Kind of evidence.
    pub kind: ProofKind,
    /// Numbers of some of the packets, as in Wireshark's `frame.number`: the record's position in the file,
    /// from 1; several files read together count as one.
    pub packets: Vec<u32>,
    /// Number of all such packets.
    pub total: u64,
    /// For lost packets, number of round trips with such losses; losses within a round trip count once,
    /// because congestion control responds to them once (RFC 5681 section 4.3).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub episodes: Option<u64>,
    /// A display filter for Wireshark and tshark (`-Y`) that selects the packets.
    pub filter: String,
}

impl FlowDiagnosis {
    /// The `id` of one direction of a connection: even for the client's, odd for the server's. It is known
    /// before the capture has been read to the end, so packets can be labelled with it.
    pub fn number(connection: u32, from_opener: bool) -> u32 {
        connection.wrapping_mul(2).wrapping_add(!from_opener as u32)
    }

    /// Share of the flow's time with this cause; 0 where the flow does not have it.
    pub fn share(&self, cause: Cause) -> f64 {
        self.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
    }
}

/// Measurements of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measures {
    /// Payload acknowledged over the flow's time, Mbit/s.
    pub goodput_mbps: f64,
    /// Highest rate at which payload was acknowledged over two consecutive round trips, Mbit/s.
    pub max_delivery_mbps: f64,
    /// Payload bytes acknowledged; bytes seen, where the capture has no ACKs.
    pub bytes: u64,
    /// Data packets on the wire.
    pub data_packets: u64,
    /// Share of the payload that is missing from the capture, 0 to 1; absent where none is. Above 0.07 no
    /// cause is named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing_share: Option<f64>,
    /// Payload bytes of a full-sized segment; 0 where unknown.
    pub mss_bytes: u32,
    /// RTT of the handshake, ms; absent where the capture lacks it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_rtt_ms: Option<f64>,
    /// RTTs of data packets end to end, ms; all zero without a sample.
    pub rtt_ms: RttSummary,
    /// Bandwidth-delay product, bytes: `max_delivery_mbps` times minimum RTT.
    pub bdp_bytes: u64,
    /// Maximum of bytes in flight.
    pub max_inflight_bytes: u64,
    /// Mean over round trips of each one's maximum of bytes in flight.
    pub mean_inflight_bytes: u64,
    /// Largest receive window seen, bytes; absent where the window scale is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_window_bytes: Option<u64>,
    /// Whether both ends offered window scaling; absent where no SYN was seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_scaling: Option<bool>,
    /// Retransmitted packets.
    pub retransmitted_packets: u64,
    /// Retransmitted packets of fast recovery.
    pub fast: u64,
    /// Retransmitted packets after a retransmission timeout.
    pub rto: u64,
    /// Retransmitted packets sent as tail loss probes (RFC 8985 section 7).
    pub tlp: u64,
    /// Retransmitted packets known to be spurious (unnecessary).
    pub spurious: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets lost between sender and capture.
    pub lost_up: u64,
    /// Packets lost between capture and receiver.
    pub lost_down: u64,
    /// Packets reordered between sender and capture.
    pub reordered: u64,
    /// Longest delay of a reordered packet, ms.
    pub reordered_by_ms: f64,
    /// ACKs received.
    pub acks: u64,
    /// Duplicate ACKs received.
    pub dup_acks: u64,
    /// Number of times that the receive window closed (zero window).
    pub zero_windows: u64,
    /// Small segments held back until all earlier data was acknowledged, with an ACK that the receiver
    /// delayed (Nagle).
    #[serde(default)]
    pub held_segments: u64,
    /// Time in which such a segment was held back, s.
    #[serde(default)]
    pub held_s: f64,
    /// Time with nothing outstanding, s.
    pub idle_s: f64,
    /// Time in which no packet passed in either direction although data was outstanding, s.
    #[serde(default)]
    pub silence_s: f64,
    /// Time spent waiting for retransmission timeouts, s.
    pub timeout_s: f64,
    /// Largest back-to-back burst, bytes.
    pub largest_burst_bytes: u64,
    /// Mean back-to-back burst, bytes.
    pub mean_burst_bytes: u64,
    /// Full-sized segments that were lost repeatedly while smaller ones passed, or that ICMP reported as too
    /// big.
    pub too_big: u64,
    /// ICMP messages that reported a packet as too big (RFC 1191, RFC 8201); `too_big` includes them.
    #[serde(default)]
    pub icmp_too_big: u64,
    /// Largest IP packet that the path carries, bytes: as ICMP reported, as the size shows to which full
    /// segments were reduced, or (within 8 bytes) as fragments show; absent where none of these did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_mtu_bytes: Option<u32>,
    /// Payload bytes of a full-sized segment before the size was reduced within the connection; absent where
    /// it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mss_before_bytes: Option<u32>,
    /// Packets that arrived as IP fragments, themselves or the tunnel packet around them.
    #[serde(default)]
    pub fragmented_packets: u64,
    /// Fragments of those packets.
    #[serde(default)]
    pub fragments: u64,
    /// Fragmented packets of which some fragments never arrived.
    #[serde(default)]
    pub incomplete_packets: u64,
    /// Whether both ends agreed on ECN.
    pub ecn: bool,
    /// Data packets that arrived at the capture with a CE mark.
    pub ce: u64,
    /// ACKs with ECN echo.
    pub ece: u64,
}

/// An RTT whose 95th percentile exceeds the minimum by more than this share shows a queue. Active queue
/// management leaves a standing queue of up to that share (RFC 8289 section 3.2).
const STANDING_QUEUE_SHARE: f64 = 0.05;

impl Measures {
    /// Whether the RTTs show a queue.
    pub fn shows_queue(&self) -> bool {
        self.rtt_ms.p95 > self.rtt_ms.min * (1.0 + STANDING_QUEUE_SHARE)
    }
}
