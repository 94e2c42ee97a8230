//! The headline of a fit: the path, the confidence, how well it fits, and where the diagnosis disagrees.

use crate::model::{Fit, FitComparison, FitFigures, FitPolicer, FitValue};
use crate::observed::ObservedPath;
use crate::verdict::VerdictKind;
use print::three_digits as short;
use result::diagnosis::{Limiter, LimiterKind};

/// Largest relative difference of goodput in a good fit: calibrated emulators have this error on average (Yan
/// et al. 2018, "Pantheon: the training ground for Internet congestion-control research", USENIX ATC, section
/// 5).
const MAX_GOODPUT_ERROR: f64 = 0.17;
/// Largest difference of the median and the 95th percentile of RTTs in a good fit, relative and in
/// milliseconds: nine in ten right fits of drawn cases are within twice these limits (docs/fit.md).
const MAX_RTT_ERROR: f64 = 0.25;
const MAX_RTT_ERROR_MS: f64 = 2.0;
/// Largest difference of the share retransmitted in a good fit, as a factor and absolute.
const MAX_RESENT_FACTOR: f64 = 2.0;
const MAX_RESENT_ERROR: f64 = 0.01;
/// A difference within this many standard deviations from seed to seed is chance …
const MAX_DEVIATIONS: f64 = 2.0;
/// … unless it is larger than this share.
const MAX_CHANCE_ERROR: f64 = 0.5;
/// Runs that differ by more than this share of their goodput (standard deviation) predict nothing.
const MAX_SPREAD_SHARE: f64 = 0.5;
/// Confidence below which the kind is unknown, and below which it is only probable.
const MIN_PROBABLE: f64 = 0.5;
const MIN_CERTAIN: f64 = 0.8;
/// A number is reported as a range if the greatest value that fits is more than this many times the least.
const RANGE_RATIO: f64 = 1.22;
/// Rates of fit and diagnosis that differ by at most this share are the same.
const RATE_TOLERANCE: f64 = 0.1;

/// The figures that differ by more than in a good fit, each in words.
pub fn misfits(captured: &FitFigures, fitted: &FitFigures, spread: &FitFigures) -> Vec<String> {
    let by_chance = |a: f64, b: f64| (b / a).ln().abs() <= (1.0 + MAX_CHANCE_ERROR).ln();
    let within = |a: f64, b: f64, spread: f64| (b - a).abs() <= MAX_DEVIATIONS * spread && by_chance(a, b);
    let far = |a: f64, b: f64, share: f64| a > 0.0 && b > 0.0 && (b / a).ln().abs() > (1.0 + share).ln();
    let mut all = Vec::new();
    let [c, f, s] = [captured, fitted, spread];
    if far(c.goodput_mbps, f.goodput_mbps, MAX_GOODPUT_ERROR)
        && !within(c.goodput_mbps, f.goodput_mbps, s.goodput_mbps)
    {
        all.push(format!("goodput differs by {}", percent(c.goodput_mbps, f.goodput_mbps)));
    }
    if s.goodput_mbps > MAX_SPREAD_SHARE * f.goodput_mbps {
        let share = 100.0 * s.goodput_mbps / f.goodput_mbps.max(1e-9);
        all.push(format!("goodput varies by {share:.0} % from run to run"));
    }
    for (name, a, b, spread) in [
        ("the median RTT", c.rtt_p50_ms, f.rtt_p50_ms, s.rtt_p50_ms),
        ("the 95th percentile of RTTs", c.rtt_p95_ms, f.rtt_p95_ms, s.rtt_p95_ms),
    ] {
        if far(a, b, MAX_RTT_ERROR) && (a - b).abs() > MAX_RTT_ERROR_MS && !within(a, b, spread) {
            all.push(format!("{name} differs by {}", percent(a, b)));
        }
    }
    let (a, b) = (c.retransmitted_share, f.retransmitted_share);
    if (a - b).abs() > MAX_RESENT_ERROR
        && a.max(b) > MAX_RESENT_FACTOR * a.min(b)
        && (a - b).abs() > MAX_DEVIATIONS * s.retransmitted_share
    {
        all.push(format!(
            "{:.1} % of the packets are retransmitted instead of {:.1} %",
            100.0 * b,
            100.0 * a
        ));
    }
    all
}

/// By how much `b` differs from `a`.
fn percent(a: f64, b: f64) -> String {
    format!("{:+.1} %", 100.0 * (b / a.max(1e-9) - 1.0))
}

/// Returns [`Fit::misfits`] for a comparison with what was seen.
pub fn misfits_of(c: &FitComparison, seen: &ObservedPath) -> Vec<String> {
    misfits(&comparable(&c.captured, seen), &c.fitted, &c.spread)
}

/// Returns the figures that were measured, as far as a simulation can be compared with them.
fn comparable(captured: &FitFigures, seen: &ObservedPath) -> FitFigures {
    let mut measured = *captured;
    if seen.verdict.as_ref().is_some_and(|v| v.kind == VerdictKind::Bucket) {
        // An interval has one RTT, also if the bucket was emptied within it: the 95th percentile is not
        // comparable.
        measured.rtt_p95_ms = 0.0;
    }
    measured
}

/// Writes the headline: the kind of path, and how well it fits.
pub fn headline(fit: &Fit, seen: &ObservedPath) -> String {
    let c = &fit.compared;
    let (measured, bad) = (comparable(&c.captured, seen), &fit.misfits);
    let source = if seen.summary { "what was measured" } else { "the capture's" };
    let judged = seen.verdict.as_ref().filter(|v| v.kind != VerdictKind::Loss);
    let what = match judged {
        Some(verdict) => verdict.headline.clone(),
        None => kind_in_words(fit),
    };
    let mut text = if bad.is_empty() {
        let (goodput, p95) = (
            percent(c.captured.goodput_mbps, c.fitted.goodput_mbps),
            percent(c.captured.rtt_p95_ms, c.fitted.rtt_p95_ms),
        );
        let rtts = if measured.rtt_p95_ms > 0.0 {
            format!(" and the 95th percentile of RTTs by {p95}")
        } else {
            String::new()
        };
        let lead = if judged.is_some() { format!("{what} Simulated") } else { format!("{what}: simulated") };
        format!("{lead}, goodput differs by {goodput} from {source}{rtts}.")
    } else {
        let bad = bad.join(" and ");
        match judged {
            Some(_) => {
                format!("The scenario fits badly (simulated, {bad}); the verdict does not rest on it. {what}")
            }
            None => format!("The fit is bad, do not trust it: simulated, {bad}. Nearest: {}.", lower(&what)),
        }
    };
    text.extend(contrary(fit, seen).map(|why| format!(" {why}")));
    text
}

/// The sentence with a lower-case first letter.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// The kind with its numbers, low confidence first.
fn kind_in_words(fit: &Fit) -> String {
    let what = what(fit);
    let sure = format!("{:.0} %", 100.0 * fit.confidence);
    match fit.confidence {
        p if p < MIN_PROBABLE => format!("The limiter's kind is uncertain, perhaps ({sure}) {what}"),
        p if p < MIN_CERTAIN => format!("Probably ({sure}) the path is {what}"),
        _ => format!("The path is {what}"),
    }
}

/// A number of the fit with its unit, as a range where the range is wide.
fn number(v: &FitValue) -> String {
    let [low, high] = v.range;
    if high > RANGE_RATIO * low {
        format!("{} to {} {} (best {})", short(low), short(high), v.unit, short(v.value))
    } else {
        format!("{} {}", short(v.value), v.unit)
    }
}

fn what(fit: &Fit) -> String {
    // Numbers without a value in the fit are left out.
    let value = |lead: &str, name: &str| {
        let value = fit.values.iter().find(|v| v.name == name);
        value.map_or_else(String::new, |v| format!("{lead}{}", number(v)))
    };
    let (rate, bucket) = (value(" of ", "rate"), value(" with a bucket of ", "bucket"));
    let what = match fit.limiter.as_str() {
        "policer" => match &fit.policers[..] {
            [] => format!("a policer{rate}{bucket}"),
            [one] if one.per_flow => {
                format!("a policer for each flow{}{rate}{bucket}", comma(&rate, &bucket))
            }
            all => policers_in_words(all),
        },
        "shaper" => format!("a shaper{rate}{bucket}"),
        "link" => format!("a line{rate}"),
        _ => format!("without a visible limit{}", value(", but with random loss of ", "random loss")),
    };
    format!("{what}{}", value(", base RTT ", "base RTT"))
}

/// The sentence on a difference between fit and diagnosis of one capture, with its reason.
fn contrary(fit: &Fit, seen: &ObservedPath) -> Option<String> {
    if seen.summary {
        return None;
    }
    let named = |kind: LimiterKind| match kind {
        LimiterKind::Policer => "policer",
        LimiterKind::Shaper => "shaper",
        LimiterKind::Bottleneck => "link",
    };
    let Some(limiter) = &seen.limiter else {
        let lead = seen.flows.first()?;
        let cause = lead.flow.cause.name().replace('-', " ");
        let share = 100.0 * lead.flow.share(lead.flow.cause);
        return (fit.limiter != "none").then(|| {
            format!(
                "`longfat diagnose` names no limiter in this capture ({cause}, {share:.0} % of the time): no single packet proves the {}, it is what simulates nearest.",
                fit.limiter
            )
        });
    };
    let in_words = format!(
        "`longfat diagnose` names a {} of {} Mbit/s in this capture",
        if limiter.kind == LimiterKind::Bottleneck { "line" } else { named(limiter.kind) },
        rate_in_words(limiter)
    );
    if fit.limiter != named(limiter.kind) {
        let other = fit.other_kinds.iter().find(|k| k.limiter == named(limiter.kind));
        let why = match other {
            Some(k) => format!("simulated, that fits with a probability of {:.0} %", 100.0 * k.probability),
            None => "simulated, that fits worse".into(),
        };
        return Some(format!("{in_words}: {why}."));
    }
    let rate = fit.values.iter().find(|v| v.name == "rate")?;
    let [low, high] = limiter.rate_range_mbps.unwrap_or([limiter.rate_mbps; 2]);
    let differs = rate.range[0].min(rate.value) > high * (1.0 + RATE_TOLERANCE)
        || rate.range[1].max(rate.value) < low * (1.0 - RATE_TOLERANCE);
    differs.then(|| {
        format!("{in_words}, from the times of single packets: trust that rate rather than this one.")
    })
}

/// The rate of a limiter of the diagnosis, without unit.
fn rate_in_words(limiter: &Limiter) -> String {
    match limiter.rate_range_mbps {
        Some([low, high]) if high > RANGE_RATIO * low => format!("{} to {}", short(low), short(high)),
        _ => short(limiter.rate_mbps),
    }
}

/// A comma if numbers follow.
fn comma(rate: &str, bucket: &str) -> &'static str {
    if rate.is_empty() && bucket.is_empty() { "" } else { "," }
}

/// Several policers in words.
fn policers_in_words(all: &[FitPolicer]) -> String {
    let range = |value: fn(&FitPolicer) -> f64| {
        let values = || all.iter().map(value);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if short(low) == short(high) { short(low) } else { format!("{} to {}", short(low), short(high)) }
    };
    format!(
        "{} policers, of {} Mbit/s with buckets of {} kB, each for flows of its own",
        all.len(),
        range(|p| p.rate_mbps),
        range(|p| p.bucket_kb)
    )
}

#[cfg(test)]
mod tests {
    use super::{headline, misfits_of};
    use crate::model::{Fit, FitComparison, FitFigures, FitPolicer, FitRuns, FitValue};
    use crate::observed::{ObservedFlow, ObservedPath};
    use result::diagnosis::{Limiter, LimiterKind};

    fn fitted(limiter: &str, values: &[(&str, &str)], policers: Vec<FitPolicer>) -> String {
        headline(&a_fit(limiter, values, policers), &ObservedPath::default())
    }

    fn a_fit(limiter: &str, values: &[(&str, &str)], policers: Vec<FitPolicer>) -> Fit {
        let value = |&(name, unit): &(&str, &str)| FitValue {
            name: name.into(),
            value: 20.0,
            unit: unit.into(),
            range: [19.0, 21.0],
        };
        Fit {
            schema: String::new(),
            headline: String::new(),
            limiter: limiter.into(),
            confidence: 1.0,
            other_kinds: Vec::new(),
            policers,
            compared: Default::default(),
            misfits: Vec::new(),
            misfit: 1.0,
            values: values.iter().map(value).collect(),
            cross: Vec::new(),
            not_shown: Vec::new(),
            simulated: FitRuns { runs: 1, seconds: 1.0, of_seconds: 1.0, packets: 1 },
            verdict: None,
            scenario: String::new(),
        }
    }

    const ALL: [(&str, &str); 3] = [("rate", "Mbit/s"), ("bucket", "kB"), ("base RTT", "ms")];

    fn figures(goodput_mbps: f64, rtt_p95_ms: f64, resent: f64) -> FitFigures {
        FitFigures {
            goodput_mbps,
            rtt_min_ms: 20.0,
            rtt_p50_ms: 60.0,
            rtt_p95_ms,
            retransmitted_share: resent,
        }
    }

    #[test]
    fn a_figure_that_is_far_off_is_named_first() {
        for (fitted, says) in [
            (figures(39.0, 53.0, 0.001), "the 95th percentile of RTTs differs by -96.8 %"),
            (figures(55.0, 1667.0, 0.001), "goodput differs by +41.0 %"),
            (figures(39.0, 1667.0, 0.036), "3.6 % of the packets are retransmitted instead of 0.1 %"),
        ] {
            let captured = figures(39.0, 1667.0, 0.001);
            let compared = FitComparison { captured, fitted, spread: FitFigures::default() };
            let seen = ObservedPath::default();
            let misfits = misfits_of(&compared, &seen);
            let fit = Fit { compared, misfits, ..a_fit("policer", &ALL, Vec::new()) };
            let said = headline(&fit, &seen);
            assert!(said.starts_with("The fit is bad, do not trust it: simulated, "), "{said}");
            assert!(said.contains(says) && said.contains("Nearest: the path is a policer"), "{said}");
            // Large standard deviations from seed to seed excuse a difference of up to 50 %.
            let spread =
                FitFigures { goodput_mbps: 15.0, rtt_p95_ms: 1e3, retransmitted_share: 0.05, ..captured };
            let compared = FitComparison { spread, ..compared };
            let fit = Fit { misfits: misfits_of(&compared, &seen), compared, ..fit };
            let still_bad = fitted.rtt_p95_ms < 100.0;
            assert_eq!(headline(&fit, &seen).starts_with("The fit is bad"), still_bad);
        }
    }

    #[test]
    fn low_confidence_and_wide_ranges_come_first() {
        let mut fit = a_fit("policer", &ALL, Vec::new());
        fit.confidence = 0.65;
        fit.values[0].range = [10.0, 40.0];
        let said = headline(&fit, &ObservedPath::default());
        assert!(
            said.starts_with("Probably (65 %) the path is a policer of 10.0 to 40.0 Mbit/s (best 20.0)"),
            "{said}"
        );
        fit.confidence = 0.4;
        let said = headline(&fit, &ObservedPath::default());
        assert!(said.starts_with("The limiter's kind is uncertain, perhaps (40 %) a policer"), "{said}");
    }

    #[test]
    fn a_diagnosis_that_disagrees_is_named_with_the_reason() {
        let diagnosed = |kind, rate_mbps| ObservedPath {
            limiter: Some(Limiter { kind, rate_mbps, ..Limiter::default() }),
            flows: vec![ObservedFlow::default()],
            ..ObservedPath::default()
        };
        let fit = a_fit("policer", &ALL, Vec::new());
        let same = headline(&fit, &diagnosed(LimiterKind::Policer, 20.5));
        assert!(!same.contains("diagnose"), "{same}");
        let other = headline(&fit, &diagnosed(LimiterKind::Shaper, 20.0));
        assert!(other.contains("`longfat diagnose` names a shaper of 20.0 Mbit/s in this capture: simulated, that fits worse."), "{other}");
        let rate = headline(&fit, &diagnosed(LimiterKind::Policer, 40.0));
        assert!(rate.contains("trust that rate"), "{rate}");
        let none = headline(&fit, &ObservedPath { limiter: None, ..diagnosed(LimiterKind::Policer, 1.0) });
        assert!(none.contains("names no limiter in this capture"), "{none}");
    }

    #[test]
    fn the_headline_names_the_numbers_of_the_fit() {
        let text_of = |limiter: &str, known: usize| fitted(limiter, &ALL[..known], Vec::new());
        let begins = |text: String, with: &str| assert!(text.starts_with(with), "{text}");
        begins(
            text_of("policer", 3),
            "The path is a policer of 20.0 Mbit/s with a bucket of 20.0 kB, base RTT 20.0 ms: simulated",
        );
        begins(
            text_of("shaper", 2),
            "The path is a shaper of 20.0 Mbit/s with a bucket of 20.0 kB: simulated",
        );
        begins(text_of("shaper", 1), "The path is a shaper of 20.0 Mbit/s: simulated");
        // Without any number.
        begins(text_of("policer", 0), "The path is a policer: simulated");
        begins(text_of("shaper", 0), "The path is a shaper: simulated");
        begins(text_of("link", 0), "The path is a line: simulated");
        begins(text_of("none", 0), "The path is without a visible limit: simulated");
        let each =
            || vec![FitPolicer { flows: vec!["f1".into()], rate_mbps: 5.0, bucket_kb: 9.0, per_flow: true }];
        begins(
            fitted("policer", &ALL, each()),
            "The path is a policer for each flow, of 20.0 Mbit/s with a bucket of 20.0 kB, base",
        );
        begins(fitted("policer", &[], each()), "The path is a policer for each flow: simulated");
    }
}
