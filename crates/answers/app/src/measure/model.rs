//! The outcome of a measurement as data: `measurement.json`, described in docs/measure.md.

use diagnosis::train::{TrainDoubt, TrainFinding};
use report::figures::{ascending, quantile};
use report::{Lang, word};
use result::change::EffectMeasure;
use result::{Cause, Change, ChangeKind, Expectation};
use serde::{Deserialize, Serialize};

/// Version of the format.
pub const MEASURE_SCHEMA: &str = "longfat-measure/1";

/// Direction of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From this host to the far end.
    #[default]
    Up,
    /// From the far end to this host.
    Down,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// The name in JSON, and of the test with one connection: `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }

    /// The name of the test with several connections.
    pub fn several(self) -> &'static str {
        match self {
            Direction::Up => "up-4",
            Direction::Down => "down-4",
        }
    }

    /// The word in sentences.
    pub fn load(self, lang: Lang) -> &'static str {
        match self {
            Direction::Up => word(lang, "measure.upload"),
            Direction::Down => word(lang, "measure.download"),
        }
    }

    /// The word as a sentence's first.
    pub fn capital(self, lang: Lang) -> &'static str {
        match self {
            Direction::Up => word(lang, "measure.Upload"),
            Direction::Down => word(lang, "measure.Download"),
        }
    }

    /// The word of the direction alone: `up`, `down`.
    pub fn word(self, lang: Lang) -> &'static str {
        match self {
            Direction::Up => word(lang, "measure.up"),
            Direction::Down => word(lang, "measure.down"),
        }
    }
}

/// The outcome of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measurement {
    /// Name and version of this format.
    pub schema: String,
    /// Version of longfat, with the commit if it is known.
    pub longfat: String,
    /// Start of the measurement (RFC 3339, UTC).
    pub at: String,
    /// Duration of the measurement, s.
    pub seconds: f64,
    /// Address and port of the far end.
    pub server: String,
    /// Address of this host.
    pub client: String,
    /// Language of the sentences: `en` or `zh`.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "String"))]
    pub lang: Lang,
    /// One sentence: what is wrong, and what to do.
    pub headline: String,
    /// The evidence for the headline, a sentence each.
    pub facts: Vec<String>,
    /// Quantities that could not be measured or decided, with the reason.
    pub cannot_tell: Vec<String>,
    /// Echoes on the idle path; absent where datagrams do not pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle: Option<EchoSummary>,
    /// The tests of TCP connections, in the order in which they ran.
    pub tests: Vec<StreamTest>,
    /// The direction from this host to the far end.
    pub up: MeasuredDirection,
    /// The direction from the far end to this host.
    pub down: MeasuredDirection,
    /// The cures that were tried, the best first; empty where nothing is wrong.
    pub cures: Vec<Cure>,
    /// The conditions of `--expect`; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub expectations: Vec<Expectation>,
}

/// What was found about one direction, besides the tests of TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasuredDirection {
    /// The limit of the rate that trains of datagrams show; absent where no train was sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limiter: Option<Limiter>,
    /// Treatment of datagrams; absent where they do not pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<MeasuredPath>,
    /// The diagnosis of the captured test with one connection; absent without a capture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<TestVerdict>,
}

/// Answers to echoes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EchoSummary {
    /// Number of echoes.
    pub sent: u64,
    /// Share that was not answered, 0 to 1.
    pub lost_share: f64,
    /// Minimum RTT, ms.
    pub rtt_min_ms: f64,
    /// Median RTT, ms.
    pub rtt_p50_ms: f64,
    /// 95th percentile of the RTT, ms.
    pub rtt_p95_ms: f64,
    /// Mean of the RTT without the slowest 5 %, ms.
    pub rtt_trimmed_mean_ms: f64,
}

/// A test of TCP connections in one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamTest {
    /// `up`, `down`, `up-4`, `down-4`, or the name of a cure.
    pub name: String,
    /// Direction of the data.
    pub direction: Direction,
    /// Number of connections.
    pub connections: u32,
    /// Duration, s.
    pub seconds: f64,
    /// Received payload of the whole test, bytes.
    pub bytes: u64,
    /// Received payload without about the first quarter of the test, Mbit/s.
    pub goodput_mbps: f64,
    /// Congestion control of the sender; empty where it is not known.
    pub control: String,
    /// Share of the segments that were retransmissions, 0 to 1.
    pub retransmitted_share: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Minimum RTT by the sender's kernel, ms; absent where it does not report one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_ms: Option<f64>,
    /// Part of the busy time with the receiver's window full, 0 to 1; absent where the sender's kernel does
    /// not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_limited_share: Option<f64>,
    /// Part of the busy time with the send buffer full, 0 to 1; absent where the sender's kernel does not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub buffer_limited_share: Option<f64>,
    /// Part of the test in which the sending program had data and waited for room in the send buffers, 0 to 1;
    /// absent where the sender does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender_waited_share: Option<f64>,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Echoes during the test; absent where datagrams do not pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loaded: Option<EchoSummary>,
    /// Round trips per minute during the test (draft-ietf-ippm-responsiveness), by echoes of UDP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trips_per_minute: Option<f64>,
}

/// Kind of limit that trains of datagrams show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimiterFound {
    /// Drops what exceeds a token bucket and delays nothing.
    Policer,
    /// A shaper with a token bucket.
    Shaper,
    /// A link, or a shaper with a small bucket: delays everything that exceeds its rate.
    Link,
    /// Nothing limits the rate below that of the train.
    None,
    /// The trains do not decide.
    Unknown,
}

/// The limit of a direction's rate, by trains of datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limiter {
    /// Kind of limit.
    pub kind: LimiterFound,
    /// Rate of IP bytes, Mbit/s; with kind `none` the rate up to which there is no limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_mbps: Option<f64>,
    /// Size of the token bucket, bytes of IP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bucket_bytes: Option<f64>,
    /// Longest queue that was seen, bytes of IP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_bytes: Option<f64>,
    /// Whether that queue was full.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_full: Option<bool>,
    /// Why the trains do not decide.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub why_unknown: Option<TrainDoubt>,
    /// Number of trains.
    pub trains: u32,
    /// Number of datagrams in all trains.
    pub datagrams: u64,
}

/// Treatment of datagrams in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasuredPath {
    /// Largest IP packet that passes whole, bytes; absent where none of the probes arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mtu: Option<u32>,
    /// Whether TCP sends larger packets than pass, without receiving an ICMP message.
    pub black_hole: bool,
    /// Share of the datagrams of a train that arrived after a later one, 0 to 1; absent without a train.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reordered_share: Option<f64>,
    /// Fate of ECN codepoints and DSCPs, in the order in which they were tried.
    pub marks: Vec<Marks>,
}

/// Fate of a TOS byte or traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Marks {
    /// The codepoint, such as `ECT(0)` or `EF`.
    pub name: String,
    /// The byte as sent.
    pub sent: u8,
    /// The byte as it arrived; absent where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrived: Option<u8>,
}

/// The diagnosis of a captured test connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestVerdict {
    /// The main cause.
    pub cause: Cause,
    /// Probability that the cause is right, 0 to 1.
    pub confidence: f64,
    /// Share of the connection's time with this cause, 0 to 1.
    pub share: f64,
    /// Rate of IP bytes of the limiter that the packets show, Mbit/s; absent where that is not certain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_mbps: Option<f64>,
    /// The diagnosis' own sentence.
    pub headline: String,
}

/// A cure that was tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cure {
    /// The change with its commands. Its effect on the goodput is what the fitted simulation predicted
    /// before the test; it has none where there is no fit.
    pub change: Change,
    /// The measured test, named after the cure.
    pub test: StreamTest,
}

impl Cure {
    /// Goodput without and with the cure by the fitted simulation, Mbit/s.
    pub fn predicted_mbps(&self) -> Option<[f64; 2]> {
        let effect = self.change.effects.iter().find(|e| e.measure == EffectMeasure::Goodput)?;
        Some([effect.now?, effect.then])
    }
}

/// A short name of a cure for tables, such as `paced at 19.3 Mbit/s`.
pub fn cure_name(change: &Change) -> String {
    cure_title(change, Lang::En)
}

/// The short name of a cure in a language.
pub fn cure_title(change: &Change, lang: Lang) -> String {
    let to = change.setting.map(|s| s.to).unwrap_or_default();
    match (change.kind, &change.name) {
        (ChangeKind::PacingCap, _) => say!(lang, "measure.cure.paced", rate = print::three_digits(to)),
        (ChangeKind::MssClamp, _) => say!(lang, "measure.cure.mss", bytes = format!("{to:.0}")),
        (ChangeKind::MoreConnections, _) => say!(lang, "measure.cure.connections", n = format!("{to:.0}")),
        (_, Some(name)) => name.to_uppercase(),
        (kind, None) => kind.name(),
    }
}

/// The name of a test of connections in a language: `up`, `down-4`.
pub fn test_title(test: &StreamTest, lang: Lang) -> String {
    let direction = test.direction;
    match &test.name[..] {
        name if name == direction.name() => direction.word(lang).into(),
        name if name == direction.several() => {
            say!(lang, "measure.several", direction = direction.word(lang), n = test.connections)
        }
        name => name.into(),
    }
}

impl EchoSummary {
    /// Summarises the RTTs of the answered echoes, ms; `None` where none was answered.
    pub fn of(sent: u64, rtt_ms: &[f64]) -> Option<EchoSummary> {
        let sorted = ascending(rtt_ms.iter().copied());
        let kept = sorted.get(..(sorted.len() * 95).div_ceil(100))?;
        Some(EchoSummary {
            sent,
            lost_share: 1.0 - sorted.len() as f64 / sent.max(1) as f64,
            rtt_min_ms: quantile(&sorted, 0.0)?,
            rtt_p50_ms: quantile(&sorted, 0.5)?,
            rtt_p95_ms: quantile(&sorted, 0.95)?,
            rtt_trimmed_mean_ms: kept.iter().sum::<f64>() / kept.len() as f64,
        })
    }
}

impl Limiter {
    /// Converts what a train says.
    pub fn of(finding: TrainFinding, trains: u32, datagrams: u64) -> Limiter {
        let empty = Limiter {
            kind: LimiterFound::Unknown,
            rate_mbps: None,
            bucket_bytes: None,
            queue_bytes: None,
            queue_full: None,
            why_unknown: None,
            trains,
            datagrams,
        };
        match finding {
            TrainFinding::Policer { rate, bucket } => Limiter {
                kind: LimiterFound::Policer,
                rate_mbps: Some(rate / 1e6),
                bucket_bytes: Some(bucket),
                ..empty
            },
            TrainFinding::Queue { rate, bucket, queue, full } => Limiter {
                kind: if bucket.is_some() { LimiterFound::Shaper } else { LimiterFound::Link },
                rate_mbps: Some(rate / 1e6),
                bucket_bytes: bucket,
                queue_bytes: Some(queue),
                queue_full: Some(full),
                ..empty
            },
            TrainFinding::Unlimited { above } => {
                Limiter { kind: LimiterFound::None, rate_mbps: Some(above / 1e6), ..empty }
            }
            TrainFinding::Unknown(doubt) => Limiter { why_unknown: Some(doubt), ..empty },
        }
    }

    /// The rate of the limit, Mbit/s; `None` where none was found.
    pub fn limit_mbps(&self) -> Option<f64> {
        let is_limit = !matches!(self.kind, LimiterFound::None | LimiterFound::Unknown);
        self.rate_mbps.filter(|_| is_limit)
    }
}

impl Measurement {
    /// Returns the test called `name`.
    pub fn test(&self, name: &str) -> Option<&StreamTest> {
        self.tests.iter().find(|t| t.name == name)
    }

    /// Returns what was found about a direction.
    pub fn direction(&self, direction: Direction) -> &MeasuredDirection {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Whether a direction meets an MTU black hole.
    pub fn has_black_hole(&self, direction: Direction) -> bool {
        self.direction(direction).path.as_ref().is_some_and(|path| path.black_hole)
    }

    /// Returns what was found about a direction, to be changed.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut MeasuredDirection {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// The limit of a direction's rate, Mbit/s of IP bytes: by the trains or, where these do not decide, by
    /// the packets of the captured test.
    pub fn limit_mbps(&self, direction: Direction) -> Option<f64> {
        let MeasuredDirection { limiter, verdict, .. } = self.direction(direction);
        match limiter {
            Some(limiter) if limiter.kind != LimiterFound::Unknown => limiter.limit_mbps(),
            _ => verdict.as_ref().and_then(|v| v.limit_mbps),
        }
    }

    /// The payload rate that a direction's limit leaves to TCP, Mbit/s; without a known limit, that of
    /// several connections together.
    pub fn capacity_mbps(&self, direction: Direction) -> Option<f64> {
        let one = self.test(direction.name())?;
        // Headers of IPv4 or IPv6 and TCP with timestamps.
        let headers = if self.client.contains(':') { 72.0 } else { 52.0 };
        let payload = f64::from(one.mss) / (f64::from(one.mss) + headers);
        let limit = self.limit_mbps(direction).map(|rate| rate * payload);
        limit.or_else(|| Some(self.test(direction.several())?.goodput_mbps.max(one.goodput_mbps)))
    }

    /// Payload bytes that all tests of TCP received, cures included.
    pub fn bytes(&self) -> u64 {
        self.tests.iter().chain(self.cures.iter().map(|c| &c.test)).map(|t| t.bytes).sum()
    }

    /// The measurement as JSON, ended by a newline.
    pub fn json(&self) -> String {
        // Plain data without maps serialises without errors.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cures_have_short_names() {
        use result::sender;
        let names = [
            sender::pacing_cap(Some(units::Rate::from_bps(18_727_000))),
            sender::congestion_control("bbr"),
            sender::more_connections("a", "b", 4),
            sender::small_segments("a", "b", 1360, false),
        ]
        .map(|change| cure_name(&change));
        assert_eq!(names, ["paced at 18.7 Mbit/s", "BBR", "4 connections", "MSS 1360"]);
    }

    #[test]
    fn echoes_are_summarised_by_interpolated_quantiles() {
        let echoes = EchoSummary::of(5, &[3.0, 1.0, 2.0, 4.0]).expect("answers");
        assert_eq!((echoes.rtt_min_ms, echoes.rtt_p50_ms), (1.0, 2.5));
        assert!((echoes.lost_share - 0.2).abs() < 1e-12, "{echoes:?}");
        assert_eq!(EchoSummary::of(5, &[]), None);
    }
}
