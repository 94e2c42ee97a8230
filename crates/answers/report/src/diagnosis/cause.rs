//! What a cause is called, and what shows that it was it. The texts are the block `cause.NAME` of `strings.json`; the numbers are
//! the group's ([`super::values`]). Of `cause.NAME.why.1`, `.2` and so on the first is printed that has a number for each of its
//! placeholders.

use super::group::{Certainty, FlowGroup};
use super::values::of_group;
use super::words::share;
use crate::strings::{Lang, first_known, numbered, text};
use result::Cause;

/// Its name in a table.
pub fn cause_label(cause: Cause, lang: Lang) -> &'static str {
    text(&format!("cause.{}.label", cause.name()), lang)
}

/// How a flow was held: "… was {how} for 91 % of its time".
pub(super) fn how(cause: Cause, lang: Lang) -> &'static str {
    text(&format!("cause.{}.how", cause.name()), lang)
}

/// What shows that this was it.
pub(super) fn why(g: &FlowGroup, lang: Lang) -> String {
    first_known(&numbered(&format!("cause.{}.why", g.cause.name()), lang), &of_group(g))
}

/// What to do about it.
pub(super) fn advice(g: &FlowGroup, lang: Lang) -> String {
    crate::advice::advice(&diagnosis::cause::remedies(&g.affected()), lang)
}

/// What may have held the largest flow, each with its probability, the likeliest first; none where nothing is known.
pub(super) fn possible(g: &FlowGroup, lang: Lang) -> Vec<String> {
    let lead = g.lead();
    let own = (g.certainty == Certainty::Undecided && g.cause != Cause::Unknown)
        .then_some((g.cause, lead.confidence));
    let others = lead.alternatives.iter().map(|a| (a.cause, a.probability));
    own.into_iter().chain(others).map(|(c, p)| format!("{} {} %", cause_label(c, lang), share(p))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_has_its_words_and_a_label_of_its_own() {
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
