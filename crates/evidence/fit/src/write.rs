//! The scenario as a commented file, and the sentences of a fit.

use crate::model::{Fit, FitPolicer};
use crate::scenario_text::{PathShape, TrialFrame, scenario_text};
use crate::search::TriedPath;
use print::three_digits as short;
use std::fmt::Write as _;

/// Percent by which goodput may differ in a fit to be trusted: what calibrated emulators are off by on average (Yan et al. 2018,
/// "Pantheon: the training ground for Internet congestion-control research", USENIX ATC, section 5).
const BADLY: f64 = 17.0;

/// What the path is, and how well it fits.
pub fn headline(fit: &Fit) -> String {
    // What was not searched is not named.
    let number = |lead: &str, name: &str| {
        let value = fit.values.iter().find(|v| v.name == name);
        value.map_or_else(String::new, |v| format!("{lead}{} {}", short(v.value), v.unit))
    };
    let (rate, bucket) = (number(" of ", "rate"), number(" with a bucket of ", "bucket"));
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
        _ => "a path without a limit that shows".into(),
    };
    let (a, b) = (&fit.compared.captured, &fit.compared.fitted);
    let off = |a: f64, b: f64| 100.0 * (b / a.max(1e-9) - 1.0);
    let (goodput, p95) = (off(a.goodput_mbps, b.goodput_mbps), off(a.rtt_p95_ms, b.rtt_p95_ms));
    let badly = match goodput.abs() > BADLY {
        true => " It fits badly: no more than a beginning, not to be trusted.",
        false => "",
    };
    format!(
        "The path is {what}{}: simulated, goodput differs by {goodput:+.1} % from the capture's and the 95th \
         percentile of RTTs by {p95:+.1} %.{badly}",
        number(", base RTT ", "base RTT")
    )
}

/// What stands before numbers, where there are any.
fn comma(rate: &str, bucket: &str) -> &'static str {
    if rate.is_empty() && bucket.is_empty() { "" } else { "," }
}

/// Policers of their own.
fn policers_in_words(all: &[FitPolicer]) -> String {
    let range = |of: fn(&FitPolicer) -> f64| {
        let values = || all.iter().map(of);
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

/// The scenario's text, with what is known of its numbers as comments.
pub fn scenario(fit: &Fit, best: &TriedPath, frame: &TrialFrame) -> String {
    let notes = |part: &str| {
        let mut text = String::new();
        match part {
            "head" => {
                let _ = writeln!(text, "# Fitted to a capture. {}", fit.headline);
                for line in &fit.not_told {
                    let _ = writeln!(text, "# Not told by the capture: {line}.");
                }
            }
            "path" => {
                for v in &fit.values {
                    let [low, high] = v.range.map(short);
                    let _ = writeln!(text, "# {}: {} {} ({low} to {high})", v.name, short(v.value), v.unit);
                }
                if fit.policers.len() > 1 {
                    text += "# Rate and bucket are those of the first policer; the others compare with it as the diagnosis has them.\n";
                }
            }
            "hosts" => {}
            "cross" => {
                text += "# Cross traffic that does not react: what the captured flows did not get while they waited.\n"
            }
            name => {
                if let Some(f) = best.flows.iter().find(|f| f.name == name) {
                    let ids: Vec<String> = f.ids.iter().map(u32::to_string).collect();
                    let sure = match f.cc_is_told() {
                        true => format!("{} as its window shows ({:.0} %)", f.cc, 100.0 * f.cc_confidence),
                        false => format!("{} is assumed", f.cc),
                    };
                    let _ = writeln!(
                        text,
                        "# Flows {} of the diagnosis; congestion control: {sure}.",
                        ids.join(", ")
                    );
                }
            }
        }
        text
    };
    scenario_text(&best.path, &best.flows, frame, PathShape::default(), &notes)
}

#[cfg(test)]
mod tests {
    use super::headline;
    use crate::model::{Fit, FitPolicer, FitRuns, FitValue};

    fn fitted(limiter: &str, values: &[(&str, &str)], policers: Vec<FitPolicer>) -> String {
        let value = |&(name, unit): &(&str, &str)| FitValue {
            name: name.into(),
            value: 20.0,
            unit: unit.into(),
            range: [19.0, 21.0],
        };
        headline(&Fit {
            schema: String::new(),
            headline: String::new(),
            limiter: limiter.into(),
            confidence: 1.0,
            other_kinds: Vec::new(),
            policers,
            compared: Default::default(),
            misfit: 1.0,
            values: values.iter().map(value).collect(),
            cross: Vec::new(),
            not_told: Vec::new(),
            simulated: FitRuns { runs: 1, seconds: 1.0, packets: 1 },
            scenario: String::new(),
        })
    }

    #[test]
    fn the_headline_names_what_was_searched() {
        let all = [("rate", "Mbit/s"), ("bucket", "kB"), ("base RTT", "ms")];
        let told = |limiter: &str, known: usize| fitted(limiter, &all[..known], Vec::new());
        let begins = |text: String, with: &str| assert!(text.starts_with(with), "{text}");
        begins(
            told("policer", 3),
            "The path is a policer of 20.0 Mbit/s with a bucket of 20.0 kB, base RTT 20.0 ms: simulated",
        );
        begins(told("shaper", 2), "The path is a shaper of 20.0 Mbit/s with a bucket of 20.0 kB: simulated");
        begins(told("shaper", 1), "The path is a shaper of 20.0 Mbit/s: simulated");
        // The search ended before its first round.
        begins(told("policer", 0), "The path is a policer: simulated");
        begins(told("shaper", 0), "The path is a shaper: simulated");
        begins(told("link", 0), "The path is a line: simulated");
        begins(told("none", 0), "The path is a path without a limit that shows: simulated");
        let each =
            || vec![FitPolicer { flows: vec!["f1".into()], rate_mbps: 5.0, bucket_kb: 9.0, per_flow: true }];
        begins(
            fitted("policer", &all, each()),
            "The path is a policer for each flow, of 20.0 Mbit/s with a bucket of 20.0 kB, base",
        );
        begins(fitted("policer", &[], each()), "The path is a policer for each flow: simulated");
    }
}
