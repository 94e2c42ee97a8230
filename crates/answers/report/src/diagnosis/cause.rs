//! The texts of a cause: its label, the words of the headline, and the evidence. They are the block
//! `cause.NAME` of `strings.json`; their numbers are the group's ([`super::values`]). Of `cause.NAME.why.1`,
//! `.2` and so on, the first text is printed whose placeholders all have values.

use super::group::{Certainty, FlowGroup};
use super::values::of_group;
use super::words::share;
use crate::strings::{Lang, first_known, numbered, text};
use result::Cause;

/// The cause's name in a table.
pub fn cause_label(cause: Cause, lang: Lang) -> &'static str {
    text(&format!("cause.{}.label", cause.name()), lang)
}

/// The cause in a headline: "… was {how} for 91 % of the time".
pub(super) fn how(cause: Cause, lang: Lang) -> &'static str {
    text(&format!("cause.{}.how", cause.name()), lang)
}

/// The evidence for the group's cause.
pub(super) fn why(g: &FlowGroup, lang: Lang) -> String {
    first_known(&numbered(&format!("cause.{}.why", g.cause.name()), lang), &of_group(g))
}

/// The advice on the group's cause.
pub(super) fn advice(g: &FlowGroup, lang: Lang) -> String {
    crate::advice::advice(&diagnosis::cause::remedies(&g.affected()), lang)
}

/// The possible causes of the largest flow with their probabilities, the most probable first. Empty if none
/// is known.
pub(super) fn possible(g: &FlowGroup, lang: Lang) -> Vec<String> {
    let lead = g.lead();
    let own = (g.certainty == Certainty::Undecided && g.cause != Cause::Unknown)
        .then_some((g.cause, lead.confidence));
    let others = lead.alternatives.iter().map(|a| (a.cause, a.probability));
    let mut all: Vec<(Cause, f64)> = own.into_iter().chain(others).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.iter().map(|(c, p)| format!("{} {} %", cause_label(*c, lang), share(*p))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_has_texts_and_a_unique_label() {
        for lang in [Lang::En, Lang::Zh] {
            for cause in Cause::ALL {
                assert!(!how(cause, lang).is_empty());
                assert!(
                    !numbered(&format!("cause.{}.why", cause.name()), lang).is_empty(),
                    "{}",
                    cause.name()
                );
            }
            let labels: BTreeSet<&str> = Cause::ALL.iter().map(|c| cause_label(*c, lang)).collect();
            assert_eq!(labels.len(), Cause::ALL.len());
        }
    }
}
