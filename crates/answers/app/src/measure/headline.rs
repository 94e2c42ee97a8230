//! The headline and the facts of a measurement.

use super::fault::{Fault, added_by, fault, helps};
use super::model::{
    Cure, Direction, Limiter, LimiterFound, Marks, MeasuredDirection, MeasuredPath, Measurement, StreamTest,
    TestVerdict, cure_title,
};
use diagnosis::train::TrainDoubt;
use print::three_digits as digits;
use report::diagnosis::cause_label;
use report::{Lang, advice, word};
use result::Cause;
use result::diagnosis::{SURE, UNDECIDED};

/// The largest probe of the path MTU, bytes.
const LARGEST_PROBE: u32 = 9000;

/// Returns one sentence on what is wrong and what to do.
pub fn headline(m: &Measurement) -> String {
    let lang = m.lang;
    if m.test("up").is_none() {
        return say!(lang, "measure.headline.stopped");
    }
    if let Some(direction) = Direction::BOTH.into_iter().find(|d| m.has_black_hole(*d)) {
        let mtu = m.direction(direction).path.as_ref().and_then(|p| p.mtu).unwrap_or_default();
        let what = say!(lang, "measure.headline.black-hole", load = direction.load(lang), mtu = mtu);
        return match advised(m).filter(|_| direction == Direction::Up) {
            Some(cure) => cured(&what, cure_title(&cure.change, lang), cure, lang),
            None => say!(lang, "measure.headline.alone", what = what),
        };
    }
    let (up, down) = (fault(m, Direction::Up), fault(m, Direction::Down));
    // A limit that was measured is certain; a gain of several connections may be the hosts' own.
    let is_doubtful = matches!(up, Some(Fault::Slow { .. })) && m.limit_mbps(Direction::Up).is_none();
    let is_certain = matches!(down, Some(Fault::Slow { .. })) && m.limit_mbps(Direction::Down).is_some();
    if is_doubtful && is_certain {
        return download(m, down);
    }
    match up {
        Some(Fault::Slow { is, could_be }) => {
            let what = say!(
                lang,
                "measure.headline.slow",
                what = cause(m),
                is = digits(is),
                could = digits(could_be)
            );
            match advised(m) {
                Some(cure) => cured(&what, what_to_do(cure, lang), cure, lang),
                None if m.cures.is_empty() => say!(lang, "measure.headline.alone", what = what),
                None => say!(lang, "measure.headline.no-cure", what = what),
            }
        }
        Some(Fault::Delayed { added_ms }) => {
            let what = say!(lang, "measure.headline.delayed", ms = digits(added_ms));
            match advised(m).and_then(|cure| Some((cure, added_by(cure, m)?))) {
                Some((cure, left)) => say!(
                    lang,
                    "measure.headline.cured-delay",
                    what = what,
                    cure = what_to_do(cure, lang),
                    ms = milliseconds(left, lang)
                ),
                None => say!(lang, "measure.headline.alone", what = what),
            }
        }
        None => download(m, down),
    }
}

/// Returns a headline that ends with a cure and what was measured with it.
fn cured(what: &str, advice: String, cure: &Cure, lang: Lang) -> String {
    let mbps = digits(cure.test.goodput_mbps);
    say!(lang, "measure.headline.cured", what = what, cure = advice, mbps = mbps)
}

/// Returns the headline where the upload has no certain fault.
fn download(m: &Measurement, fault: Option<Fault>) -> String {
    let lang = m.lang;
    match fault {
        Some(Fault::Slow { is, could_be }) => {
            let what = match &m.down.limiter {
                Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) => {
                    say!(lang, "measure.headline.download-policed", rate = digits(*rate))
                }
                _ => say!(lang, "measure.headline.download-unfilled"),
            };
            let (is, could) = (digits(is), digits(could_be));
            say!(lang, "measure.headline.download-slow", what = what, is = is, could = could)
        }
        Some(Fault::Delayed { added_ms }) => {
            say!(lang, "measure.headline.download-delayed", ms = digits(added_ms))
        }
        None => {
            let [up, down] = ["up", "down"].map(|n| m.test(n).map_or(0.0, |t| t.goodput_mbps)).map(digits);
            match m.limit_mbps(Direction::Up) {
                Some(_) => say!(lang, "measure.headline.fine", up = up, down = down),
                None => say!(lang, "measure.headline.probably-fine", up = up, down = down),
            }
        }
    }
}

/// Names the cause of a slow upload, with its doubt first.
fn cause(m: &Measurement) -> String {
    let lang = m.lang;
    let limiter = m.up.limiter.as_ref();
    if let Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) = limiter {
        return say!(lang, "measure.cause.policer", rate = digits(*rate));
    }
    match &m.up.verdict {
        Some(v) if v.confidence >= SURE => words(v.cause, lang).into(),
        Some(v) if v.confidence >= UNDECIDED => {
            say!(lang, "measure.cause.probably", cause = words(v.cause, lang))
        }
        _ => match m.limit_mbps(Direction::Up) {
            Some(rate) => say!(lang, "measure.cause.unused", rate = digits(rate)),
            None => say!(lang, "measure.cause.unfilled"),
        },
    }
}

/// Says what a cause does to the upload.
fn words(cause: Cause, lang: Lang) -> &'static str {
    let key = match cause {
        Cause::Policed => "measure.cause.policed",
        Cause::RandomLoss => "measure.cause.random-loss",
        Cause::ReceiveWindow | Cause::ReceiverStalled => "measure.cause.window",
        Cause::SendBuffer => "measure.cause.send-buffer",
        Cause::Congestion => "measure.cause.congestion",
        Cause::SlowStart => "measure.cause.slow-start",
        Cause::Bottleneck | Cause::Shaped => "measure.cause.link",
        Cause::Outage => "measure.cause.outage",
        Cause::AckPath => "measure.cause.ack-path",
        _ => "measure.cause.other",
    };
    word(lang, key)
}

/// Returns the cure that the headline advises: the best one, if it helps.
pub fn advised(m: &Measurement) -> Option<&Cure> {
    m.cures.first().filter(|cure| helps(cure, m))
}

/// Formats a delay; below a millisecond the echoes' own variation is larger.
fn milliseconds(ms: f64, lang: Lang) -> String {
    if ms < 1.0 { say!(lang, "measure.under-1-ms") } else { say!(lang, "measure.ms", ms = digits(ms)) }
}

/// The advice to apply a cure, as the begin of a sentence.
fn what_to_do(cure: &Cure, lang: Lang) -> String {
    advice(std::slice::from_ref(&cure.change), lang)
}

/// Returns what the headline rests on, a sentence each.
pub fn facts(m: &Measurement) -> Vec<String> {
    let lang = m.lang;
    let of_direction =
        |d: Direction, text: String| say!(lang, "measure.colon", what = d.word(lang), text = text);
    let mut facts = Vec::new();
    if let Some(idle) = &m.idle {
        facts.push(say!(
            lang,
            "measure.fact.idle",
            min = digits(idle.rtt_min_ms),
            median = digits(idle.rtt_p50_ms),
            lost = format!("{:.1}", 100.0 * idle.lost_share),
            sent = idle.sent
        ));
    }
    for d in Direction::BOTH {
        facts.extend(m.direction(d).limiter.as_ref().map(|l| of_direction(d, limit(l, lang))));
    }
    if !m.cures.is_empty()
        && let Some(up) = m.test("up")
    {
        facts.push(comparison(m, up));
    }
    for d in Direction::BOTH {
        let MeasuredDirection { limiter, verdict, .. } = m.direction(d);
        let found_limit = limiter.as_ref().is_some_and(|l| l.limit_mbps().is_some());
        let is_answered = found_limit || matches!(fault(m, d), Some(Fault::Slow { .. }));
        facts.extend(verdict.as_ref().map(|v| packets(v, d.load(lang), is_answered, lang)));
    }
    for d in Direction::BOTH {
        facts.extend(m.test(d.several()).and_then(|t| responsiveness(m, t)));
    }
    for d in Direction::BOTH {
        let Some(path) = &m.direction(d).path else { continue };
        let reordered = path.reordered_share.filter(|share| *share > 0.0).map_or(String::new(), |share| {
            say!(lang, "measure.fact.reordered", share = format!("{:.2}", 100.0 * share))
        });
        facts.push(of_direction(d, treatment(path, lang) + &reordered));
    }
    facts
}

/// Describes what the packets of a test show. An unsure verdict has no advice if another test answers what
/// limits the rate.
fn packets(v: &TestVerdict, load: &str, is_answered: bool, lang: Lang) -> String {
    if v.confidence >= SURE || !is_answered {
        return say!(lang, "measure.fact.packets", load = load, headline = v.headline);
    }
    say!(
        lang,
        "measure.fact.packets-alone",
        load = load,
        cause = cause_label(v.cause, lang),
        share = format!("{:.0}", 100.0 * v.share),
        sure = format!("{:.0}", 100.0 * v.confidence)
    )
}

/// Describes a limit.
pub fn limit(l: &Limiter, lang: Lang) -> String {
    let rate = digits(l.rate_mbps.unwrap_or_default());
    let kilobytes = |bytes: Option<f64>| digits(bytes.unwrap_or_default() / 1e3);
    let queue = || match l.queue_full {
        Some(true) => say!(lang, "measure.limit.queue", kb = kilobytes(l.queue_bytes)),
        _ => say!(lang, "measure.limit.queue.least", kb = kilobytes(l.queue_bytes)),
    };
    let bucket = kilobytes(l.bucket_bytes);
    match l.kind {
        LimiterFound::Policer => say!(lang, "measure.limit.policer", rate = rate, bucket = bucket),
        LimiterFound::Shaper => {
            say!(lang, "measure.limit.shaper", rate = rate, bucket = bucket, queue = queue())
        }
        LimiterFound::Link => say!(lang, "measure.limit.link", rate = rate, queue = queue()),
        LimiterFound::None => say!(lang, "measure.limit.none", rate = rate),
        LimiterFound::Unknown => {
            let why = l.why_unknown.map_or("", |why| doubt(why, lang));
            say!(lang, "measure.limit.unknown", why = why)
        }
    }
}

/// Returns the reason why trains do not decide.
fn doubt(why: TrainDoubt, lang: Lang) -> &'static str {
    let key = match why {
        TrainDoubt::TooFew => "measure.doubt.too-few",
        TrainDoubt::NoRate => "measure.doubt.no-rate",
        TrainDoubt::TooShort => "measure.doubt.too-short",
        TrainDoubt::Jitter => "measure.doubt.jitter",
    };
    word(lang, key)
}

/// Compares the cures with the upload as it is.
fn comparison(m: &Measurement, up: &StreamTest) -> String {
    let lang = m.lang;
    let predicted =
        |p: Option<f64>| p.map_or(String::new(), |p| say!(lang, "measure.fact.predicted", mbps = digits(p)));
    let lost = |t: &StreamTest| match t.retransmitted_share {
        share if share >= 0.001 => say!(lang, "measure.fact.retransmitted", share = digits(100.0 * share)),
        _ => String::new(),
    };
    let one = |title: String, t: &StreamTest, p: Option<f64>| {
        let mbps = digits(t.goodput_mbps);
        say!(
            lang,
            "measure.fact.goodput",
            title = title,
            mbps = mbps,
            predicted = predicted(p),
            lost = lost(t)
        )
    };
    let is_predicted = m.cures.iter().find_map(|c| Some(c.predicted_mbps()?[0]));
    let as_is = one(say!(lang, "measure.fact.as-is", control = up.control), up, is_predicted);
    let cures = m
        .cures
        .iter()
        .map(|c| one(cure_title(&c.change, lang), &c.test, c.predicted_mbps().map(|[_, with]| with)));
    std::iter::once(as_is).chain(cures).collect::<Vec<_>>().join(word(lang, "measure.joined"))
}

/// Describes delay under load. The grade is that of the delay which load adds.
fn responsiveness(m: &Measurement, test: &StreamTest) -> Option<String> {
    let (loaded, idle) = (test.loaded.as_ref()?, m.idle.as_ref()?);
    let added = (loaded.rtt_p50_ms - idle.rtt_p50_ms).max(0.0);
    Some(say!(
        m.lang,
        "measure.fact.responsiveness",
        direction = test.direction.word(m.lang),
        rpm = format!("{:.0}", test.round_trips_per_minute?),
        added = milliseconds(added, m.lang),
        grade = grade(added, m.lang)
    ))
}

/// Grades the delay that load adds to a round trip, ms.
fn grade(added_ms: f64, lang: Lang) -> &'static str {
    let key = match added_ms {
        ms if ms < 5.0 => "measure.grade.1",
        ms if ms < 30.0 => "measure.grade.2",
        ms if ms < 100.0 => "measure.grade.3",
        ms if ms < 300.0 => "measure.grade.4",
        _ => "measure.grade.5",
    };
    word(lang, key)
}

/// Describes what passes in a direction: MTU, ECN and DSCP.
pub fn treatment(path: &MeasuredPath, lang: Lang) -> String {
    let mtu = match path.mtu {
        None => say!(lang, "measure.path.no-mtu"),
        Some(mtu) if mtu >= LARGEST_PROBE => say!(lang, "measure.path.mtu.more", mtu = mtu),
        Some(mtu) => say!(lang, "measure.path.mtu", mtu = mtu),
    };
    [mtu, marks(path, lang)].join(word(lang, "measure.joined"))
}

/// Describes what happens to ECN and DSCP.
fn marks(path: &MeasuredPath, lang: Lang) -> String {
    let (ecn, dscp): (Vec<_>, Vec<_>) = path.marks.iter().partition(|m| m.sent & 0b11 != 0);
    let comma = word(lang, "measure.comma");
    let changed = |all: &[&Marks], what: &str| {
        let wrong = all.iter().filter(|m| m.arrived != Some(m.sent)).map(|m| match m.arrived {
            Some(tos) if m.sent & 0b11 != 0 => {
                say!(lang, "measure.path.ecn", name = m.name, bits = format!("{:#04b}", tos & 0b11))
            }
            Some(tos) => say!(lang, "measure.path.dscp", name = m.name, dscp = tos >> 2),
            None => say!(lang, "measure.path.lost", name = m.name),
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { say!(lang, "measure.path.passes", what = what) } else { wrong.join(comma) }
    };
    [changed(&ecn, "ECN"), changed(&dscp, "DSCP")].join(comma)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::EchoSummary;
    use result::{Change, sender};
    use units::Rate;

    fn test(name: &str, mbps: f64, rtt: f64) -> StreamTest {
        let loaded =
            Some(EchoSummary { rtt_p50_ms: rtt, rtt_trimmed_mean_ms: rtt, ..EchoSummary::default() });
        let direction = if name.starts_with("up") { Direction::Up } else { Direction::Down };
        StreamTest {
            name: name.into(),
            direction,
            goodput_mbps: mbps,
            mss: 1448,
            loaded,
            ..StreamTest::default()
        }
    }

    fn measured(up: [f64; 2], rtt: f64) -> Measurement {
        Measurement {
            idle: Some(EchoSummary { rtt_p50_ms: 20.0, ..EchoSummary::default() }),
            tests: vec![
                test("up", up[0], rtt),
                test("up-4", up[1], rtt),
                test("down", 50.0, 20.0),
                test("down-4", 50.0, 20.0),
            ],
            ..Measurement::default()
        }
    }

    fn limiter(kind: LimiterFound) -> Option<Limiter> {
        let finding = diagnosis::train::TrainFinding::Policer { rate: 20e6, bucket: 30e3 };
        Some(Limiter { kind, ..Limiter::of(finding, 1, 100) })
    }

    #[test]
    fn a_policed_upload_names_its_policer_and_the_best_cure() {
        let mut m = measured([4.1, 8.0], 21.0);
        m.up.limiter = limiter(LimiterFound::Policer);
        let without = headline(&m);
        assert_eq!(without, "A policer of 20.0 Mbit/s drops the upload's bursts: 4.10 of 19.3 Mbit/s.");
        let paced = sender::pacing_cap(Some(Rate::from_bps(18_727_000)));
        let bbr = sender::congestion_control("bbr");
        let cure = |change: &Change, mbps| Cure { change: change.clone(), test: test("up", mbps, 20.0) };
        m.cures = vec![cure(&paced, 18.6), cure(&bbr, 18.1)];
        let text = headline(&m);
        assert!(text.ends_with("Pace each connection at 18.7 Mbit/s: 18.6 Mbit/s measured."), "{text}");
        assert!(text.split_whitespace().count() <= 24, "{text}");
        m.cures = vec![cure(&bbr, 4.0)];
        assert!(headline(&m).ends_with("No cure that was tried helps."), "{}", headline(&m));
    }

    #[test]
    fn a_policed_download_comes_before_a_doubtful_upload() {
        let mut m = measured([690.0, 1856.0], 21.0);
        m.tests[2].goodput_mbps = 9.88;
        m.down.limiter = limiter(LimiterFound::Policer);
        let text = headline(&m);
        assert!(
            text.starts_with("A policer of 20.0 Mbit/s drops the download's bursts: 9.88 of 19.3"),
            "{text}"
        );
    }

    #[test]
    fn a_full_queue_is_a_fault_and_a_clean_path_is_not() {
        let mut m = measured([19.0, 19.2], 320.0);
        m.up.limiter = limiter(LimiterFound::Link);
        assert_eq!(headline(&m), "A queue adds up to 300 ms to round trips during uploads.");
        let mut clean = measured([19.0, 19.2], 22.0);
        let rates = "19.0 Mbit/s up and 50.0 Mbit/s down";
        let doubt = format!("Probably nothing is wrong: {rates}; four connections get hardly more than one.");
        assert_eq!(headline(&clean), doubt);
        clean.up.limiter = limiter(LimiterFound::Link);
        assert_eq!(headline(&clean), format!("Nothing is wrong: {rates}, all that the path carries."));
    }

    #[test]
    fn packets_that_do_not_decide_give_no_advice_beside_tests_that_do() {
        let headline = "Probably it was policed. Shape. To decide, capture at the receiver too.";
        let fact = |kind, confidence, several| {
            let mut m = measured([4.0, several], 20.0);
            m.up.limiter = limiter(kind);
            let (cause, share, headline) = (Cause::Policed, 0.96, headline.into());
            m.up.verdict = Some(TestVerdict { cause, confidence, share, limit_mbps: None, headline });
            facts(&m).into_iter().find(|f| f.contains("packets")).unwrap()
        };
        let alone = "upload, from its packets alone: policed for 96 % of the time (55 % sure)";
        assert_eq!(fact(LimiterFound::Policer, 0.55, 4.0), alone);
        assert_eq!(fact(LimiterFound::Unknown, 0.55, 12.0), alone, "one connection does not fill the path");
        let whole = format!("upload, from its packets: {headline}");
        assert_eq!(fact(LimiterFound::Policer, 0.95, 12.0), whole);
        assert_eq!(fact(LimiterFound::Unknown, 0.55, 4.0), whole);
    }
}
