//! The outcome of a measurement as data: `measure.json`, described in docs/measure.md.

use ::measure::client::{EchoResult, StreamResult};
use diagnosis::train::TrainFinding;
use result::Cause;
use serde::Serialize;

/// Version of the format.
pub const MEASURE_SCHEMA: &str = "longfat-measure/1";

/// The part of a test, one in this many, that does not count for its goodput: connections start.
pub const START_SHARE: u64 = 4;

/// The outcome of a measurement. `up` is from this host to the server, `down` is to this host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measurement {
    /// Name and version of this format.
    pub schema: String,
    /// The server's address and port, and this host's address.
    pub server: String,
    pub client: String,
    /// One sentence: what is wrong, and what to do.
    pub headline: String,
    /// The evidence for the headline, a sentence each.
    pub facts: Vec<String>,
    /// Quantities that could not be measured or decided, with the reason.
    pub cannot_tell: Vec<String>,
    /// Echoes on the idle path; absent where datagrams do not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<EchoSummary>,
    /// The tests of TCP connections, in the order in which they ran.
    pub tests: Vec<StreamTest>,
    /// The limit of the rate that trains of datagrams show; absent where no train was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter_up: Option<Limiter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter_down: Option<Limiter>,
    /// Properties of each direction; absent where datagrams do not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_up: Option<MeasuredPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_down: Option<MeasuredPath>,
    /// The diagnosis of the captured upload and download with one connection; absent without a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_up: Option<TestVerdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_down: Option<TestVerdict>,
    /// Goodput of the upload as it is by the fitted simulation, Mbit/s; absent where there is no fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_as_is_mbps: Option<f64>,
    /// The cures that were tried, the best first; empty where nothing is wrong.
    pub cures: Vec<Cure>,
}

/// Answers to echoes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EchoSummary {
    pub sent: u64,
    /// Share that was not answered, 0 to 1.
    pub lost_share: f64,
    /// RTT, ms: least, median, 95th percentile.
    pub rtt_min_ms: f64,
    pub rtt_p50_ms: f64,
    pub rtt_p95_ms: f64,
    /// Mean of the RTT without the slowest 5 %, ms.
    pub rtt_trimmed_mean_ms: f64,
}

/// A test of TCP connections in one direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StreamTest {
    /// `up`, `down`, `up-4`, `down-4`, or the name of a cure.
    pub name: String,
    /// Whether this host sent.
    pub up: bool,
    pub connections: u32,
    /// Received payload without the first quarter of the test, Mbit/s.
    pub goodput_mbps: f64,
    /// Congestion control of the sender.
    pub control: String,
    /// Share of the segments that were retransmissions, 0 to 1.
    pub retransmitted_share: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Minimum RTT by the sender's kernel, ms; absent where it does not report one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_ms: Option<f64>,
    /// Parts of the busy time with the receiver's window and with the send buffer full, 0 to 1; absent where
    /// the sender's kernel does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_limited_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_limited_share: Option<f64>,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Echoes during the test; absent where datagrams do not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<EchoSummary>,
    /// Round trips per minute during the test (draft-ietf-ippm-responsiveness), by echoes of UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips_per_minute: Option<f64>,
}

/// Kind of limit that trains of datagrams show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limiter {
    pub kind: LimiterFound,
    /// Rate of IP bytes, Mbit/s; with kind `none` the rate up to which there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// Size of the token bucket, bytes of IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_bytes: Option<f64>,
    /// Longest queue that was seen, bytes of IP, and whether it was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_full: Option<bool>,
    /// Why the trains do not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_unknown: Option<String>,
    /// Number of trains and of datagrams in them.
    pub trains: u32,
    pub datagrams: u64,
}

/// Treatment of datagrams in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredPath {
    /// Largest IP packet that passes whole, bytes; absent where none of the probes arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether TCP sends larger packets than pass, without receiving an ICMP message.
    pub black_hole: bool,
    /// Share of the datagrams of a train that arrived after a later one, 0 to 1; absent without a train.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered_share: Option<f64>,
    /// Fate of ECN codepoints and DSCPs, in the order in which they were tried.
    pub marks: Vec<Marks>,
}

/// Fate of a TOS byte or traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// The codepoint, such as `ECT(0)` or `EF`.
    pub name: String,
    /// The byte as sent and as it arrived; absent where nothing arrived.
    pub sent: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u8>,
}

/// The diagnosis of a captured test connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestVerdict {
    pub cause: Cause,
    /// Probability that the cause is right, 0 to 1.
    pub confidence: f64,
    /// Share of the connection's time with this cause, 0 to 1.
    pub share: f64,
    /// Rate of IP bytes of the limiter that the packets show, Mbit/s; absent where that is not certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_mbps: Option<f64>,
    /// The diagnosis' own sentence.
    pub headline: String,
}

/// A cure that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Cure {
    /// The change, such as `paced at 19.3 Mbit/s`.
    pub title: String,
    /// How to do it.
    pub how: String,
    /// The measured test, named after the cure.
    pub test: StreamTest,
    /// Goodput that the fitted simulation predicted before, Mbit/s; absent where there is no fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_mbps: Option<f64>,
}

impl EchoSummary {
    /// Summarises echoes; `None` where none was answered.
    pub fn of(echoes: &EchoResult) -> Option<EchoSummary> {
        let mut sorted = echoes.rtt_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let kept = sorted.get(..(sorted.len() * 95).div_ceil(100))?;
        Some(EchoSummary {
            sent: echoes.sent,
            lost_share: echoes.loss(),
            rtt_min_ms: echoes.quantile(0.0)?,
            rtt_p50_ms: echoes.quantile(0.5)?,
            rtt_p95_ms: echoes.quantile(0.95)?,
            rtt_trimmed_mean_ms: kept.iter().sum::<f64>() / kept.len() as f64,
        })
    }
}

impl StreamTest {
    /// Summarises a test.
    pub fn of(name: &str, up: bool, result: &StreamResult) -> StreamTest {
        let sender = &result.sender.streams;
        let sum = |of: fn(&::measure::StreamCounters) -> u64| sender.iter().map(of).sum::<u64>();
        let time = |of: fn(&::measure::StreamCounters) -> Option<f64>| {
            sender.iter().map(of).sum::<Option<f64>>().filter(|_| !sender.is_empty())
        };
        let busy = time(|s| s.busy_s).filter(|busy| *busy > 0.0);
        let share = |part: Option<f64>| Some((part? / busy?).clamp(0.0, 1.0));
        let loaded = EchoSummary::of(&result.echoes);
        let trimmed = loaded.as_ref().map(|l| l.rtt_trimmed_mean_ms);
        let segments = sum(|s| s.segments);
        StreamTest {
            name: name.into(),
            up,
            connections: sender.len() as u32,
            goodput_mbps: result.mbps(START_SHARE as usize),
            control: sender.first().map(|s| s.control.clone()).unwrap_or_default(),
            retransmitted_share: sum(|s| s.retransmitted) as f64 / segments.max(1) as f64,
            timeouts: sum(|s| s.timeouts),
            min_rtt_ms: sender.iter().filter_map(|s| s.min_rtt_ms).reduce(f64::min),
            window_limited_share: share(time(|s| s.window_limited_s)),
            buffer_limited_share: share(time(|s| s.buffer_limited_s)),
            mss: sender.iter().map(|s| s.mss).max().unwrap_or_default(),
            loaded,
            round_trips_per_minute: trimmed.filter(|ms| *ms > 0.0).map(|ms| 60_000.0 / ms),
        }
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
            TrainFinding::Unknown(doubt) => Limiter { why_unknown: Some(doubt.text().into()), ..empty },
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

    /// The limit of a direction's rate, Mbit/s of IP bytes: by the trains or, where these do not decide, by
    /// the packets of the captured test.
    pub fn limit_mbps(&self, up: bool) -> Option<f64> {
        let (limiter, verdict) = match up {
            true => (&self.limiter_up, &self.verdict_up),
            false => (&self.limiter_down, &self.verdict_down),
        };
        match limiter {
            Some(limiter) if limiter.kind != LimiterFound::Unknown => limiter.limit_mbps(),
            _ => verdict.as_ref().and_then(|v| v.limit_mbps),
        }
    }

    /// The payload rate that a direction's limit leaves to TCP, Mbit/s; without a known limit, that of
    /// several connections together.
    pub fn capacity_mbps(&self, up: bool) -> Option<f64> {
        let (one, several) = if up { ("up", "up-4") } else { ("down", "down-4") };
        let one = self.test(one)?;
        // Headers of IPv4 or IPv6 and TCP with timestamps.
        let headers = if self.client.contains(':') { 72.0 } else { 52.0 };
        let payload = f64::from(one.mss) / (f64::from(one.mss) + headers);
        let limit = self.limit_mbps(up).map(|rate| rate * payload);
        limit.or_else(|| Some(self.test(several)?.goodput_mbps.max(one.goodput_mbps)))
    }

    /// The measurement as JSON, ended by a newline.
    pub fn json(&self) -> String {
        // Plain data without maps serialises without errors.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
