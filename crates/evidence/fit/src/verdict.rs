//! What a summary says of the path before anything is simulated: a cautious verdict, with its reasons.
//!
//! A rule is a file of `verdict/` and a line of [`RULES`]; the first that holds is the verdict. A rule takes what the summary contains:
//! what is absent neither holds nor refutes. Where no rule holds, no limiter can be told, and the verdict says why.
//!
//! | rule | holds where |
//! |---|---|
//! | `datagrams` | the test was UDP |
//! | `outage` | intervals without bytes that blocks of the application do not explain |
//! | `waits` | the kernel, or the test's own option, says what the sender waited for |
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

/// The schema's name and version, first key of every verdict that stands alone.
pub const VERDICT_SCHEMA: &str = "longfat-fit-verdict/1";

/// What held the flow, as far as its summary tells.
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
    /// No limiter can be told.
    #[default]
    Unknown,
}

/// What a summary says of the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SummaryVerdict {
    /// What this is, and its version.
    #[cfg_attr(test, schemars(extend("const" = VERDICT_SCHEMA)))]
    pub schema: String,
    /// What held the flow.
    pub kind: VerdictKind,
    /// One sentence; doubt is in its first word.
    pub headline: String,
    /// What it rests on, a sentence each.
    pub facts: Vec<String>,
    /// What would tell more: commands.
    pub next: Vec<String>,
    /// Least and greatest rate of the limiter, Mbit/s of payload; absent where no limiter can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<[f64; 2]>,
    /// Least and greatest size of its bucket, bytes of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket_bytes: Option<[f64; 2]>,
    /// The window, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<f64>,
    /// The limiter delays what exceeds its rate; false: it drops it; absent: it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<bool>,
    /// Greatest rate while the bucket lasted, bit/s of payload.
    #[serde(skip)]
    pub fast_bps: Option<f64>,
}

/// A rule: its verdict, if it holds.
type VerdictRule = fn(&SeriesDigest) -> Option<SummaryVerdict>;

/// All rules, the first that holds decides.
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
        let found = match sent < LEAST_SEGMENTS * digest.mss() {
            true => None,
            false => RULES.iter().find_map(|rule| rule(&digest)),
        };
        let mut verdict = found.unwrap_or_else(|| cannot_tell(&digest, sent));
        verdict.schema = VERDICT_SCHEMA.into();
        verdict.facts.extend(digest.facts());
        verdict.next.extend(enough(series, verdict.kind));
        verdict
    }

    /// Whether a scenario can be made that behaves so: what stopped altogether, and what the application did, says nothing of a path.
    pub fn can_be_played(&self) -> bool {
        !matches!(
            self.kind,
            VerdictKind::Application
                | VerdictKind::BlackHole
                | VerdictKind::Interruption
                | VerdictKind::Unknown
        )
    }

    /// For a terminal.
    pub fn text(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = print::wrap(&self.headline, width, "");
        self.facts.iter().for_each(|fact| text += &print::wrap(fact, width, "  - "));
        if !self.next.is_empty() {
            text += "\nTo tell more:\n";
            self.next.iter().for_each(|command| text += &format!("  {command}\n"));
        }
        text
    }
}

/// Segments without which a flow shows nothing of its path.
const LEAST_SEGMENTS: f64 = 30.0;

/// Where no rule holds; `sent` is how many bytes were.
fn cannot_tell(d: &SeriesDigest, sent: f64) -> SummaryVerdict {
    let why = match (d.series.source, d.variation) {
        _ if sent < LEAST_SEGMENTS * d.mss() => format!("only {} were sent", size(sent)),
        (SummarySource::SsOnce, _) => "one output shows no change over time".into(),
        (_, None) => "there are too few intervals".into(),
        (_, Some(_)) if d.is_even() && d.rtt_s.is_none() => {
            "the rate is even, but without RTTs a full line, a limiter, a window and the application look alike"
                .into()
        }
        (_, Some(_)) if d.is_even() => {
            "the rate is even, but neither a queue, losses nor a window say what holds it".into()
        }
        (_, Some(v)) => format!("the rate varies by {:.0} % from interval to interval", 100.0 * v),
    };
    SummaryVerdict {
        kind: VerdictKind::Unknown,
        headline: format!("Cannot tell a rate limiter from {}: {why}.", d.series.source.name()),
        ..SummaryVerdict::default()
    }
}

/// Commands that would have given enough.
fn enough(series: &SummarySeries, kind: VerdictKind) -> Vec<String> {
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

/// Two of them as a range: the unit once, where it is the same.
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
