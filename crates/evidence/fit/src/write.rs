//! The scenario as a commented file.

use crate::model::Fit;
use crate::scenario_text::{PathShape, TrialFrame, scenario_text};
use crate::search::TriedPath;
use print::three_digits as short;
use std::fmt::Write as _;

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
