//! The scenario as a file with comments.

use crate::model::Fit;
use crate::scenario_text::{PathShape, TrialFrame, scenario_text};
use crate::search::TriedPath;
use print::three_digits as short;
use std::fmt::Write as _;

/// The scenario's text. Comments state the ranges of its numbers.
pub fn scenario(fit: &Fit, best: &TriedPath, frame: &TrialFrame) -> String {
    let notes = |part: &str| {
        let mut text = String::new();
        match part {
            "head" => {
                let _ = writeln!(text, "# Fitted to a capture. {}", fit.headline);
                for line in &fit.not_shown {
                    let _ = writeln!(text, "# Not shown by the capture: {line}.");
                }
            }
            "path" => {
                for v in &fit.values {
                    let [low, high] = v.range.map(short);
                    let _ = writeln!(text, "# {}: {} {} ({low} to {high})", v.name, short(v.value), v.unit);
                }
                if fit.policers.len() > 1 {
                    text += "# Rate and bucket are those of the first policer; the ratios of the others to it are from the diagnosis.\n";
                }
            }
            "hosts" => {}
            "cross" => {
                text += "# Cross traffic that does not react: the rate that the captured flows did not get while they waited.\n"
            }
            name => {
                if let Some(f) = best.flows.iter().find(|f| f.name == name) {
                    let ids: Vec<String> = f.ids.iter().map(u32::to_string).collect();
                    let sure = match f.is_cc_known() {
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
