//! The verdict on a summary before anything is simulated: cautious, with its reasons.
//!
//! A rule is a file of `verdict/` and a line of [`RULES`]; the first rule that holds gives the verdict. A
//! value that the summary lacks neither supports nor refutes a rule. If no rule holds, the limiter stays
//! unknown, and the verdict says why.
//!
//! | rule | holds if |
//! |---|---|
//! | `datagrams` | the test was UDP |
//! | `outage` | intervals without bytes that blocks of the application do not explain |
//! | `waits` | the kernel's counters, or the test's own rate, show what the sender waited for |
//! | `bucket` | fast at first, then evenly slower by more than buffers hold |
//! | `queue` | an even rate, and an RTT well above the least, or that follows the congestion window |
//! | `loss` | a share of the segments was sent again |
//! | `window` | an even congestion window, nothing lost, no queue |

mod bucket;
mod datagrams;
mod digest;
mod loss;
mod outage;
mod queue;
mod waits;
mod window;

use crate::series::{SummarySeries, SummarySource};
use digest::SeriesDigest;
use print::three_digits as short;
use serde::{Deserialize, Serialize};

/// The schema's name and version, the first key of every verdict without a fit.
pub const VERDICT_SCHEMA: &str = "longfat-fit-verdict/1";

/// The cause that limited the flow, as far as its summary shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The receiver's window.
    ReceiveWindow,
    /// The send buffer.
    SendBuffer,
    /// A window: the receiver's, or the send buffer.
    Window,
    /// The application, or the test's own rate.
    Application,
    /// Nothing passed from the first full-size packets on: a path MTU black hole, or an interruption.
    BlackHole,
    /// Nothing passed for a while.
    Interruption,
    /// A token bucket that was full at first.
    Bucket,
    /// A full queue: a line, or a shaper.
    Queue,
    /// Losses: a limiter that drops, or random loss.
    Loss,
    /// The limiter is unknown.
    #[default]
    Unknown,
}

/// The verdict on a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SummaryVerdict {
    /// The schema's name and version.
    #[cfg_attr(test, schemars(extend("const" = VERDICT_SCHEMA)))]
    pub schema: String,
    /// The cause that held the flow.
    pub kind: VerdictKind,
    /// One sentence; its first word says if it is not certain.
    pub headline: String,
    /// The evidence, a sentence each.
    pub facts: Vec<String>,
    /// Commands that would show more.
    pub next: Vec<String>,
    /// Least and greatest rate of the limiter, Mbit/s of payload; absent if the limiter is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<[f64; 2]>,
    /// Least and greatest size of the limiter's bucket, bytes of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket_bytes: Option<[f64; 2]>,
    /// The window, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<f64>,
    /// Whether the limiter delays packets beyond its rate (`true`) or drops them (`false`); absent if that
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<bool>,
    /// Greatest rate before the bucket was empty, bit/s of payload.
    #[serde(skip)]
    pub fast_bps: Option<f64>,
}

/// A rule; returns its verdict if it holds.
type VerdictRule = fn(&SeriesDigest) -> Option<SummaryVerdict>;

/// All rules; the first that holds decides.
const RULES: [VerdictRule; 7] = [
    datagrams::verdict,
    outage::verdict,
    waits::verdict,
    bucket::verdict,
    queue::verdict,
    loss::verdict,
    window::verdict,
];

impl SummaryVerdict {
    /// The verdict on a summary.
    pub fn of(series: &SummarySeries) -> SummaryVerdict {
        let digest = SeriesDigest::of(series);
        let sent: f64 = digest.bins.iter().map(|b| b.bytes).sum();
        let found = match sent < MIN_SEGMENTS * digest.mss() {
            true => None,
            false => RULES.iter().find_map(|rule| rule(&digest)),
        };
        let mut verdict = found.unwrap_or_else(|| cannot_tell(&digest, sent));
        verdict.schema = VERDICT_SCHEMA.into();
        verdict.facts.extend(digest.facts());
        verdict.next.extend(commands(series, verdict.kind));
        verdict
    }

    /// Whether a scenario can reproduce the series: interruptions and the application's own pauses show no
    /// path.
    pub fn can_be_simulated(&self) -> bool {
        !matches!(
            self.kind,
            VerdictKind::Application
                | VerdictKind::BlackHole
                | VerdictKind::Interruption
                | VerdictKind::Unknown
        )
    }

    /// The verdict as text for a terminal, wrapped at `width` columns.
    pub fn text(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = print::wrap(&self.headline, width, "");
        self.facts.iter().for_each(|fact| text += &print::wrap(fact, width, "  - "));
        if !self.next.is_empty() {
            text += "\nTo find out more:\n";
            self.next.iter().for_each(|command| text += &format!("  {command}\n"));
        }
        text
    }
}

/// Least segments of a flow that shows its path.
const MIN_SEGMENTS: f64 = 30.0;

/// The verdict if no rule holds; `sent` is the number of bytes sent.
fn cannot_tell(d: &SeriesDigest, sent: f64) -> SummaryVerdict {
    let why = match (d.series.source, d.variation) {
        _ if sent < MIN_SEGMENTS * d.mss() => format!("only {} were sent", size(sent)),
        (SummarySource::SsOnce, _) => "one output shows no change over time".into(),
        (_, None) => "there are too few intervals".into(),
        (_, Some(_)) if d.is_constant() && d.rtt_s.is_none() => {
            "the rate is constant, but without RTTs a full line, a limiter, a window and the application look alike"
                .into()
        }
        (_, Some(_)) if d.is_constant() => {
            "the rate is constant, but neither a queue, losses nor a window say what holds it".into()
        }
        (_, Some(v)) => format!("the rate varies by {:.0} % from interval to interval", 100.0 * v),
    };
    SummaryVerdict {
        kind: VerdictKind::Unknown,
        headline: format!(
            "Cannot tell from {} whether there is a rate limiter: {why}.",
            d.series.source.name()
        ),
        ..SummaryVerdict::default()
    }
}

/// Commands that would show more.
fn commands(series: &SummarySeries, kind: VerdictKind) -> Vec<String> {
    let host = series.peer.as_deref().unwrap_or("HOST");
    let capture = format!(
        "tcpdump -s 128 -w trace.pcap host {host}    # at the sender, during the transfer; then: longfat diagnose trace.pcap"
    );
    let iperf = match (series.source, series.reversed) {
        _ if series.udp.is_some() => {
            Some(format!("iperf3 -c {host} -t 30 -J > speed.json    # TCP; then: longfat fit speed.json"))
        }
        (SummarySource::Iperf3Json, true) if series.at_receiver => {
            Some("iperf3 -s -J > speed.json    # at the other end, which sends with -R".into())
        }
        (SummarySource::IperfText, true) => {
            Some("iperf3 -s -J > speed.json    # at the other end, which sends with -R".into())
        }
        (SummarySource::IperfText, false) => {
            Some(format!("iperf3 -c {host} -t 30 -J > speed.json    # then: longfat fit speed.json"))
        }
        (SummarySource::Iperf3Json, _) if kind == VerdictKind::Window => Some(format!(
            "iperf3 -c {host} -t 30 -P 4    # four windows carry four times as much; a limiter does not"
        )),
        _ => None,
    };
    let ss = (series.source == SummarySource::SsOnce).then(|| {
        format!("while sleep 0.2; do date +%s.%N; ss -tinO -o dst {host}; done > ss.log    # Ctrl-C ends it; then: longfat fit ss.log")
    });
    let ping = match kind {
        VerdictKind::Window | VerdictKind::Queue | VerdictKind::Loss | VerdictKind::Unknown
            if series.udp.is_none() =>
        {
            Some(format!("ping -c 10 {host}    # while nothing else is sent: the RTT without a queue"))
        }
        VerdictKind::BlackHole => Some(format!(
            "ping -c 3 -M do -s 1472 {host}    # and with smaller -s: the largest that is answered + 28 is the path's MTU"
        )),
        _ => None,
    };
    [iperf, ss, ping, Some(capture)].into_iter().flatten().collect()
}

/// A rate, bit/s, in words.
pub(crate) fn rate(bps: f64) -> String {
    match bps {
        b if b >= 1e9 => format!("{} Gbit/s", short(b / 1e9)),
        b if b >= 1e6 => format!("{} Mbit/s", short(b / 1e6)),
        b => format!("{} kbit/s", short(b / 1e3)),
    }
}

/// A size in words.
pub(crate) fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{} GB", short(b / 1e9)),
        b if b >= 1e6 => format!("{} MB", short(b / 1e6)),
        b => format!("{} kB", short(b / 1e3)),
    }
}

/// A range in words, with the unit once if both ends have the same.
fn range([low, high]: [f64; 2], words: fn(f64) -> String) -> String {
    let (low, high) = (words(low), words(high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, a)), Some((_, b))) if a == b => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// Seconds in words.
fn time(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{} s", short(seconds)) } else { format!("{} ms", short(1e3 * seconds)) }
}
