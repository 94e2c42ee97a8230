//! The scenario as a commented file, and the sentences of a fit.

use crate::flows::FittedFlow;
use crate::model::{Fit, FitKind, FitPolicer};
use crate::observed::ObservedPath;
use crate::search::TriedPath;
use crate::trial::{PathShape, TrialFrame, scenario_text};
use std::fmt::Write as _;
use units::three_digits as short;

/// Percent by which goodput may differ in a fit to be trusted: what calibrated emulators are off by on average (Yan et al. 2018,
/// "Pantheon: the training ground for Internet congestion-control research", USENIX ATC, section 5).
const BADLY: f64 = 17.0;

/// What the path is, and how well it fits.
pub fn headline(fit: &Fit) -> String {
    let value = |name: &str| fit.values.iter().find(|v| v.name == name);
    let number =
        |name: &str| value(name).map_or_else(String::new, |v| format!("{} {}", short(v.value), v.unit));
    let (rate, bucket) = (number("rate"), number("bucket"));
    let what = match fit.limiter.as_str() {
        "policer" => match &fit.policers[..] {
            [] => format!("a policer of {rate} with a bucket of {bucket}"),
            [one] if one.per_flow => format!("a policer for each flow, of {rate} with a bucket of {bucket}"),
            all => policers_in_words(all),
        },
        "shaper" => format!("a shaper of {rate} with a bucket of {bucket}"),
        "link" => format!("a line of {rate}"),
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
        "The path is {what}, base RTT {}: simulated, goodput differs by {goodput:+.1} % from the capture's and the 95th \
         percentile of RTTs by {p95:+.1} %.{badly}",
        number("base RTT")
    )
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

/// What the capture could not tell.
pub fn not_told(seen: &ObservedPath, best: &TriedPath, fit: &Fit) -> Vec<String> {
    let mut all: Vec<String> = fit.other_kinds.iter().map(other_kind).collect();
    if fit.limiter == "none" {
        let known = seen.flows.iter().any(|f| f.facts.line_rate.is_some());
        all.push(if known {
            "the line was never full for long: its rate is that at which packets of a burst follow each other, and how long its \
             queue can be is not known"
                .into()
        } else {
            "no rate limit shows in what was captured: the line's rate is no more than what fits, and others fit as well".into()
        });
    }
    if !fit.cross.is_empty() {
        all.push("cross traffic that was there all the time: the rate of the line is what it left".into());
    }
    for v in fit.values.iter().filter(|v| v.range[1] > 1.22 * v.range[0]) {
        all.push(format!(
            "{}: anything from {} to {} {} fits nearly as well",
            v.name,
            short(v.range[0]),
            short(v.range[1]),
            v.unit
        ));
    }
    if fit.policers.iter().any(|p| p.per_flow) {
        all.push(
            "whether one more connection gets a policer of its own: it does here, as each of those captured"
                .into(),
        );
    }
    for f in best.flows.iter().filter(|f| !f.cc_is_told()) {
        all.push(format!("the congestion control of {}: {} is assumed", named(f), f.cc));
    }
    if seen.left_out > 0 {
        all.push(format!(
            "{} other flows of the capture are left out: on another path, too short, or not in what was simulated",
            seen.left_out
        ));
    }
    all
}

/// A kind that is not ruled out.
fn other_kind(k: &FitKind) -> String {
    let rate = format!("{} Mbit/s", short(k.rate_mbps));
    let what = match k.limiter.as_str() {
        "policer" => format!("a policer of {rate} with a bucket of {} kB", short(k.bucket_kb)),
        "shaper" => format!("a shaper of {rate} with a bucket of {} kB", short(k.bucket_kb)),
        _ => format!("a line of {rate} with a queue of {} kB", short(k.queue_kb)),
    };
    format!("the limiter's kind: {what} may be as well (likely to {:.0} %)", 100.0 * k.probability)
}

/// A flow, or how many.
fn named(f: &FittedFlow) -> String {
    if f.count > 1 { format!("{} ({} connections)", f.name, f.count) } else { f.name.clone() }
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
