//! Numbers and names as they stand in sentences.

use crate::number::{count, short};
use crate::strings::{Lang, fill, text};
use result::diagnosis::LimiterKind;

/// `847 B`, `64.0 kB`, `1.25 MB` (k = 1000).
pub(crate) fn bytes(n: f64) -> String {
    match n {
        n if !n.is_finite() => "–".into(),
        n if n < 999.5 => format!("{n:.0} B"),
        n if n < 999_500.0 => format!("{} kB", short(n / 1e3)),
        n if n < 999_500_000.0 => format!("{} MB", short(n / 1e6)),
        n => format!("{} GB", short(n / 1e9)),
    }
}

/// A share as whole per cent, finer below one.
pub(super) fn share(share: f64) -> String {
    if share < 0.00995 { crate::number::percent(share) } else { format!("{:.0}", share * 100.0) }
}

/// Seconds: two decimals below ten, else whole.
pub(super) fn seconds(s: f64) -> String {
    if s < 9.995 { format!("{s:.2}") } else { count(s.round() as u64) }
}

/// A line of evidence: the text `diag.fact.KEY` with its values.
pub(super) fn said(key: &str, values: &[(&str, String)], lang: Lang) -> String {
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

/// Items as the language separates them.
pub(super) fn listed(items: &[String], lang: Lang) -> String {
    items.join(if lang == Lang::Zh { "、" } else { ", " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_shares_are_short() {
        let sizes = [0.0, 847.0, 64_000.0, 999_700.0, 625_000.0, 3.2e9, f64::NAN].map(bytes);
        assert_eq!(sizes, ["0 B", "847 B", "64.0 kB", "1.00 MB", "625 kB", "3.20 GB", "–"]);
        assert_eq!([0.914, 0.0625, 0.0025, 0.0].map(share), ["91", "6", "0.25", "0"]);
        assert_eq!([0.031, 12.4].map(seconds), ["0.03", "12"]);
    }
}
