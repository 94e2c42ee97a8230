//! Numbers and names as sentences print them.

use crate::number::count;
use crate::strings::{Lang, fill, text};
use result::diagnosis::LimiterKind;

/// A share (0 to 1) in per cent: rounded to whole ones from 1 % up, finer below.
pub(super) fn share(share: f64) -> String {
    if share < 0.00995 { crate::number::percent(share) } else { format!("{:.0}", share * 100.0) }
}

/// Seconds: two decimals below ten, else rounded to whole ones.
pub(super) fn seconds(s: f64) -> String {
    if s < 9.995 { format!("{s:.2}") } else { count(s.round() as u64) }
}

/// A line of evidence: the text `diag.fact.KEY` with its values.
pub(super) fn fact(key: &str, values: &[(&str, String)], lang: Lang) -> String {
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    fill(&format!("diag.fact.{key}"), lang, &values)
}

pub(super) fn kind(kind: LimiterKind, lang: Lang) -> &'static str {
    let key = match kind {
        LimiterKind::Policer => "diag.kind.policer",
        LimiterKind::Shaper => "diag.kind.shaper",
        LimiterKind::Bottleneck => "diag.kind.bottleneck",
    };
    text(key, lang)
}

/// Joins items with the language's list separator.
pub(super) fn listed(items: &[String], lang: Lang) -> String {
    items.join(if lang == Lang::Zh { "、" } else { ", " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_are_short() {
        assert_eq!([0.914, 0.0625, 0.0025, 0.0].map(share), ["91", "6", "0.25", "0"]);
        assert_eq!([0.031, 12.4].map(seconds), ["0.03", "12"]);
    }
}
