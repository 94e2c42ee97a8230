//! A path that was measured as a whole and in segments, and which of the segments limits it.
//!
//! A segment's goodput alone does not decide: over a shorter round trip TCP is faster through the same limit
//! and the same losses. What does not depend on the round trip is compared: a limit of the rate, the share of
//! lost packets, the path MTU.

use super::fault::{Fault, fault};
use super::headline::limit;
use super::model::{Direction, Limiter, LimiterFound, Measurement};
use crate::provenance::longfat_build;
use print::{three_digits as digits, wrap};
use report::{Lang, Style, Table, word};
use result::Cause;
use result::diagnosis::UNDECIDED;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const VIA_SCHEMA: &str = "longfat-measure-via/1";
/// Maximum difference of two rates that are those of one limit, as a share.
const SAME_RATE: f64 = 0.08;
/// Share of the whole path's losses from which on a segment has them, and up to which it has none.
const HAS_LOSSES: f64 = 0.5;
const LACKS_LOSSES: f64 = 0.25;

/// A path that was measured as a whole and in segments.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ViaMeasurement {
    /// Name and version of this format.
    pub schema: String,
    /// Version of longfat, with the commit if it is known.
    pub longfat: String,
    /// Start of the measurement (RFC 3339, UTC).
    pub at: String,
    /// Duration of the measurement, s.
    pub seconds: f64,
    /// One sentence: which segment limits the path, and by what.
    pub headline: String,
    /// The measurement of the whole path.
    pub end_to_end: Measurement,
    /// The segments, from this host on; `up` is the direction away from this host.
    pub segments: Vec<Segment>,
    /// Number of the segment, from 0, that limits the upload; absent where none does, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub up_segment: Option<usize>,
    /// Number of the segment that limits the download, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down_segment: Option<usize>,
}

/// A segment between two neighbours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Segment {
    /// The near end.
    pub from: String,
    /// The far end.
    pub to: String,
    /// Its measurement by the near end; absent where it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measurement: Option<Measurement>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// What the segments say about a direction of the whole path.
#[derive(Clone, Debug, PartialEq)]
enum Finding {
    /// This segment, with what it does.
    Is(usize, String),
    /// None alone, with the reason.
    No(String),
    /// Not known, with the reason.
    Unknown(String),
}

impl Segment {
    /// A segment with its measurement or the reason why there is none.
    pub fn of(from: &str, to: &str, measured: Result<Measurement, String>) -> Segment {
        let (measurement, error) = match measured {
            Ok(m) => (Some(m), None),
            Err(why) => (None, Some(why)),
        };
        Segment { from: from.into(), to: to.into(), measurement, error }
    }

    fn name(&self) -> String {
        format!("{} -> {}", self.from, self.to)
    }
}

impl ViaMeasurement {
    /// Evaluates the measurements.
    pub fn of(at: String, seconds: f64, end_to_end: Measurement, segments: Vec<Segment>) -> ViaMeasurement {
        let found = |direction| match find(&end_to_end, &segments, direction) {
            Finding::Is(i, _) => Some(i),
            _ => None,
        };
        let (up_segment, down_segment) = (found(Direction::Up), found(Direction::Down));
        let headline = headline(&end_to_end, &segments);
        ViaMeasurement {
            schema: VIA_SCHEMA.into(),
            longfat: longfat_build(),
            at,
            seconds,
            headline,
            end_to_end,
            segments,
            up_segment,
            down_segment,
        }
    }

    /// The measurement as JSON, ended by a newline.
    pub fn json(&self) -> String {
        // Plain data without maps serialises without errors.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the text; no line is wider than `width` (at least 60).
    pub fn text(&self, width: usize) -> String {
        let width = width.max(60);
        let mut text = wrap(&self.headline, width, "");
        let lang = self.end_to_end.lang;
        text += &wrap(&say!(lang, "measure.via.whole", headline = self.end_to_end.headline), width, "  - ");
        for direction in Direction::BOTH {
            let line = match find(&self.end_to_end, &self.segments, direction) {
                Finding::Is(i, what) => {
                    let segment = self.segments[i].name();
                    let direction = direction.word(lang);
                    say!(lang, "measure.via.is", direction = direction, segment = segment, what = what)
                }
                Finding::No(why) => {
                    say!(lang, "measure.via.no", direction = direction.word(lang), why = why)
                }
                Finding::Unknown(why) => {
                    say!(lang, "measure.via.unknown", direction = direction.word(lang), why = why)
                }
            };
            text += &wrap(&line, width, "  - ");
        }
        for segment in &self.segments {
            if let Some(why) = &segment.error {
                let failed = say!(lang, "measure.via.failed", segment = segment.name(), why = why);
                text += &wrap(&failed, width, "  - ");
            }
        }
        text += "\n";
        text += &Table::worded(lang, &HEADS, &self.rows()).text(Style::plain(width));
        text
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let lang = self.end_to_end.lang;
        let all = self.segments.iter().map(|s| (s.name(), s.measurement.as_ref()));
        let all = all.chain([(say!(lang, "measure.via.whole.name"), Some(&self.end_to_end))]);
        all.flat_map(|(name, m)| {
            Direction::BOTH.map(|direction| {
                let test = |name| m.and_then(|m| m.test(name));
                let one = test(direction.name());
                let number = |value: Option<f64>| value.map_or("-".into(), digits);
                let limiter = m.and_then(|m| m.direction(direction).limiter.as_ref());
                vec![
                    if direction == Direction::Up { name.clone() } else { String::new() },
                    direction.word(lang).into(),
                    number(m.and_then(|m| m.idle.as_ref()).map(|idle| idle.rtt_min_ms)),
                    number(one.map(|t| t.goodput_mbps)),
                    number(test(direction.several()).map(|t| t.goodput_mbps)),
                    number(one.map(|t| 100.0 * t.retransmitted_share)),
                    limiter.map_or("-".into(), |limiter| short(limiter, lang)),
                ]
            })
        })
        .collect()
    }
}

const HEADS: [(&str, Option<&str>); 7] = [
    ("measure.head.segment", None),
    ("", None),
    ("measure.head.rtt-min", Some("ms")),
    ("measure.head.one", Some("Mbit/s")),
    ("measure.head.four", Some("Mbit/s")),
    ("measure.head.resent", Some("%")),
    ("measure.head.limit", Some("Mbit/s")),
];

/// A limit in few words.
fn short(limiter: &Limiter, lang: Lang) -> String {
    let key = match limiter.kind {
        LimiterFound::Policer => "measure.via.short.policer",
        LimiterFound::Shaper => "measure.via.short.shaper",
        LimiterFound::Link => "measure.via.short.link",
        LimiterFound::None => "measure.via.short.none",
        LimiterFound::Unknown => return say!(lang, "measure.via.short.unknown"),
    };
    let rate = digits(limiter.rate_mbps.unwrap_or_default());
    say!(lang, "measure.via.short", kind = word(lang, key), rate = rate)
}

/// Says which segment limits the path. A fault of the upload comes before one of the download.
fn headline(whole: &Measurement, segments: &[Segment]) -> String {
    let is_faulty = |d: &Direction| fault(whole, *d).is_some() || whole.has_black_hole(*d);
    let Some(direction) = Direction::BOTH.into_iter().find(is_faulty) else {
        return whole.headline.clone();
    };
    let (lang, load) = (whole.lang, direction.load(whole.lang));
    match find(whole, segments, direction) {
        Finding::Is(i, what) => {
            let segment = segments[i].name();
            say!(lang, "measure.via.headline.is", segment = segment, load = load, what = what)
        }
        Finding::No(why) => say!(lang, "measure.via.headline.no", load = load, why = why),
        Finding::Unknown(why) => say!(lang, "measure.via.headline.unknown", load = load, why = why),
    }
}

/// The segments with the losses of the whole path: the one that has at least half of their share where no
/// other has more than a quarter, or all that have some; none where nothing is lost.
fn lossy(whole: &Measurement, measured: &[(usize, &Measurement)], direction: Direction) -> Vec<usize> {
    let lost = |m: &Measurement| m.test(direction.name()).map_or(0.0, |t| t.retransmitted_share);
    let all = lost(whole);
    let has = |share: f64| measured.iter().filter(move |(_, m)| all > 0.0 && lost(m) > share * all);
    let some: Vec<usize> = has(LACKS_LOSSES).map(|(i, _)| *i).collect();
    if has(HAS_LOSSES).count() == 0 { Vec::new() } else { some }
}

/// Finds the segment with what limits the whole path.
fn find(whole: &Measurement, segments: &[Segment], direction: Direction) -> Finding {
    let measured: Vec<(usize, &Measurement)> =
        segments.iter().enumerate().filter_map(|(i, s)| Some((i, s.measurement.as_ref()?))).collect();
    // A segment that was not measured may be the one, unless another is.
    let lang = whole.lang;
    let missing = (measured.len() < segments.len()).then(|| say!(lang, "measure.via.missing"));
    let decide = |is: Vec<usize>, what: &dyn Fn(usize) -> String, none: String| match is[..] {
        [i] => Finding::Is(i, what(i)),
        [] => missing.clone().map_or_else(|| Finding::Unknown(none), Finding::Unknown),
        _ => {
            let alike = is.iter().filter_map(|i| segments.get(*i)).map(Segment::name).collect::<Vec<_>>();
            let alike = alike.join(word(lang, "measure.comma"));
            Finding::No(say!(lang, "measure.via.alike", segments = alike))
        }
    };
    let mtu = |m: &Measurement| m.direction(direction).path.as_ref().and_then(|path| path.mtu);
    if whole.has_black_hole(direction) {
        let least = mtu(whole);
        let is = measured.iter().filter(|(_, m)| mtu(m).is_some() && mtu(m) <= least).map(|(i, _)| *i);
        let what = |_| say!(lang, "measure.via.mtu", mtu = least.unwrap_or_default());
        return decide(is.collect(), &what, say!(lang, "measure.via.mtu.none"));
    }
    let found = &whole.direction(direction).limiter;
    if let Some(rate) = whole.limit_mbps(direction) {
        let is_policer = |m: &Measurement| {
            m.direction(direction).limiter.as_ref().map(|l| l.kind == LimiterFound::Policer)
        };
        let is_alike = |m: &Measurement| {
            let alike = m.limit_mbps(direction).is_some_and(|mbps| (mbps / rate - 1.0).abs() <= SAME_RATE);
            alike && is_policer(m).zip(is_policer(whole)).is_none_or(|(a, b)| a == b)
        };
        let is: Vec<usize> = measured.iter().filter(|(_, m)| is_alike(m)).map(|(i, _)| *i).collect();
        let what = |_| match found {
            Some(limiter) => limit(limiter, lang),
            None => say!(lang, "measure.via.limit", rate = digits(rate)),
        };
        // Where trains do not decide, the losses of the limit may.
        let is_unknown = |m: &Measurement| {
            let limiter = m.direction(direction).limiter.as_ref();
            limiter.is_none_or(|l| l.kind == LimiterFound::Unknown) && m.limit_mbps(direction).is_none()
        };
        let is_open = |i: &usize| measured.iter().any(|(n, m)| n == i && is_unknown(m));
        let lossy = lossy(whole, &measured, direction);
        return match (&is[..], &lossy[..]) {
            ([], [i]) if is_open(i) => {
                let rate = digits(rate);
                Finding::Is(*i, say!(lang, "measure.via.limit.losses", rate = rate))
            }
            _ => decide(is, &what, say!(lang, "measure.via.limit.none", rate = digits(rate))),
        };
    }
    let lost = |m: &Measurement| m.test(direction.name()).map_or(0.0, |t| t.retransmitted_share);
    let verdict = whole.direction(direction).verdict.as_ref().filter(|v| v.confidence >= UNDECIDED);
    match verdict.map(|v| v.cause) {
        Some(Cause::RandomLoss | Cause::Congestion) => {
            let is = lossy(whole, &measured, direction);
            let what = |i: usize| {
                let share = measured.iter().find(|(n, _)| *n == i).map_or(0.0, |(_, m)| lost(m));
                say!(lang, "measure.via.losses", share = digits(100.0 * share))
            };
            decide(is, &what, say!(lang, "measure.via.losses.none"))
        }
        Some(Cause::ReceiveWindow | Cause::ReceiverStalled | Cause::SendBuffer) => {
            Finding::No(say!(lang, "measure.via.window"))
        }
        _ => match fault(whole, direction) {
            None => Finding::No(say!(lang, "measure.via.nothing")),
            Some(Fault::Slow { .. }) => Finding::Unknown(say!(lang, "measure.via.cause-unknown")),
            Some(Fault::Delayed { .. }) => Finding::Unknown(say!(lang, "measure.via.queue-unknown")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::{EchoSummary, Limiter, MeasuredPath, StreamTest, TestVerdict};
    use diagnosis::train::TrainFinding;

    fn measured(mbps: f64, lost: f64, found: TrainFinding) -> Measurement {
        let test = |name: &str| StreamTest {
            name: name.into(),
            goodput_mbps: mbps,
            retransmitted_share: lost,
            mss: 1448,
            ..StreamTest::default()
        };
        let mut m = Measurement {
            idle: Some(EchoSummary { rtt_min_ms: 10.0, rtt_p50_ms: 10.0, ..EchoSummary::default() }),
            tests: ["up", "up-4", "down", "down-4"].map(test).into(),
            ..Measurement::default()
        };
        m.up.limiter = Some(Limiter::of(found, 1, 100));
        m
    }

    fn via(whole: Measurement, segments: Vec<Result<Measurement, String>>) -> ViaMeasurement {
        let names = ["here", "a", "b", "c"];
        let segments = segments.into_iter().zip(names.windows(2)).map(|(m, n)| Segment::of(n[0], n[1], m));
        ViaMeasurement::of(String::new(), 1.0, whole, segments.collect())
    }

    const POLICER: TrainFinding = TrainFinding::Policer { rate: 20e6, bucket: 30e3 };
    const NONE: TrainFinding = TrainFinding::Unlimited { above: 900e6 };

    #[test]
    fn the_segment_with_the_limit_is_named() {
        let near = TrainFinding::Policer { rate: 20.4e6, bucket: 29e3 };
        let of = |first, second| {
            via(
                measured(4.0, 0.03, POLICER),
                vec![Ok(measured(500.0, 0.0, first)), Ok(measured(8.0, 0.02, second))],
            )
        };
        let one = of(NONE, near);
        assert_eq!((one.up_segment, one.down_segment), (Some(1), None));
        assert!(
            one.headline.starts_with("The segment a -> b limits the upload: a policer of 20"),
            "{}",
            one.headline
        );
        let both = of(near, near);
        assert_eq!(both.up_segment, None);
        assert!(
            both.headline.starts_with("No segment alone limits the upload: here -> a, a -> b"),
            "{}",
            both.headline
        );
        let queue = TrainFinding::Queue { rate: 20e6, bucket: None, queue: 9e4, full: true };
        let other = of(NONE, queue);
        assert!(other.headline.starts_with("Cannot tell which segment"), "{}", other.headline);
        let unknown = TrainFinding::Unknown(diagnosis::train::TrainDoubt::Jitter);
        let by_losses = of(NONE, unknown);
        assert_eq!(by_losses.up_segment, Some(1), "{}", by_losses.headline);
        let text = one.text(80);
        assert!(text.contains("policer 20.4"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_segment_that_was_not_measured_leaves_the_answer_open() {
        let whole = measured(4.0, 0.03, POLICER);
        let v = via(whole.clone(), vec![Ok(measured(500.0, 0.0, NONE)), Err("it cannot be reached".into())]);
        assert_eq!(
            v.headline,
            "Cannot tell which segment limits the upload: not every segment was measured."
        );
        assert!(v.text(80).contains("a -> b was not measured"), "{}", v.text(80));
        let known = via(whole, vec![Ok(measured(9.0, 0.02, POLICER)), Err("it cannot be reached".into())]);
        assert_eq!(known.up_segment, Some(0));
    }

    #[test]
    fn losses_windows_and_black_holes_are_found_without_a_limit() {
        let verdict = |cause| {
            Some(TestVerdict {
                cause,
                confidence: 0.95,
                share: 0.9,
                limit_mbps: None,
                headline: String::new(),
            })
        };
        let mut lossy = measured(4.0, 0.01, NONE);
        lossy.up.verdict = verdict(Cause::RandomLoss);
        let of = |first, second| vec![Ok(measured(90.0, first, NONE)), Ok(measured(40.0, second, NONE))];
        assert_eq!(via(lossy.clone(), of(0.0, 0.009)).up_segment, Some(1));
        let several = via(lossy.clone(), of(0.004, 0.006));
        assert!(
            several.headline.starts_with("No segment alone limits the upload: here -> a, a -> b"),
            "{}",
            several.headline
        );
        assert_eq!(via(lossy, of(0.001, 0.001)).up_segment, None);
        let mut window = measured(4.0, 0.0, NONE);
        window.tests[1].goodput_mbps = 16.0;
        window.up.verdict = verdict(Cause::ReceiveWindow);
        let text = via(window, of(0.0, 0.0)).headline;
        assert!(text.starts_with("No segment alone limits the upload: a window or buffer"), "{text}");
        let path =
            |mtu, black_hole| Some(MeasuredPath { mtu: Some(mtu), black_hole, ..MeasuredPath::default() });
        let mut hole = measured(0.0, 0.0, NONE);
        hole.up.path = path(1400, true);
        let mut segments = of(0.0, 0.0);
        for (segment, mtu) in segments.iter_mut().zip([1400, 1500]) {
            segment.as_mut().expect("measured").up.path = path(mtu, false);
        }
        assert_eq!(via(hole, segments).up_segment, Some(0));
    }
}
