//! Changes between two measurements of a path, or two series of them, beyond their spread.

use super::headline::{limit, treatment};
use super::model::{Direction, Measurement};
use super::series::{MeasurementSeries, quantities};
use print::{three_digits as digits, wrap};
use report::{Lang, PlainPage, Style, Table, word};
use result::{Estimate, Measure, difference, significant};
use serde::Serialize;

/// Version of the format.
pub const COMPARISON_SCHEMA: &str = "longfat-measure-comparison/1";

/// Chance, over all quantities together, that one is called changed although none is.
const LEVEL: f64 = 0.05;
/// Most changes that the headline names.
const MAX_NAMED: usize = 3;

/// The comparison of two series of measurements.
#[derive(Clone, Debug, Serialize)]
pub struct MeasurementComparison {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Language of the sentences.
    pub lang: Lang,
    /// One sentence: what changed.
    pub headline: String,
    /// Other differences: limits, MTU, treatment of codepoints. They are not statistical.
    pub facts: Vec<String>,
    /// The quantities that both series have.
    pub quantities: Vec<ComparedQuantity>,
}

/// A quantity before and after.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedQuantity {
    /// Test and quantity, as in `--expect`: `up.goodput`.
    pub name: String,
    /// Unit; empty for counts.
    pub unit: &'static str,
    /// Number of measurements before and after.
    pub n: [usize; 2],
    /// Means before and after, with their 95 % confidence intervals; 0 for a single measurement.
    pub means: [Estimate; 2],
    /// Probability of a difference at least as large if nothing had changed (Welch's t test); absent where a
    /// series has a single measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Whether it changed beyond the spread, by Holm's method at 5 % over all quantities; absent where the
    /// spread is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Whether the value after is the better one.
    pub better: bool,
}

/// Compares two series.
pub fn compare(before: &MeasurementSeries, after: &MeasurementSeries) -> MeasurementComparison {
    let sides = [before, after].map(|s| s.measurements().collect::<Vec<&Measurement>>());
    let common = quantities(&sides[0]);
    let one = |measure: &Measure| {
        let values =
            sides.each_ref().map(|all| all.iter().filter_map(|m| m.value(measure)).collect::<Vec<f64>>());
        if values.iter().any(Vec::is_empty) {
            return None;
        }
        let found = difference(&values[0], &values[1]);
        let means = values.each_ref().map(|v| result::estimate(v));
        Some(ComparedQuantity {
            name: measure.name(),
            unit: measure.unit().symbol(),
            n: values.each_ref().map(Vec::len),
            means,
            p: found.map(|d| d.p),
            changed: None,
            better: measure.is_better(means[1].mean, means[0].mean),
        })
    };
    let mut quantities: Vec<ComparedQuantity> = common.iter().filter_map(one).collect();
    let known: Vec<f64> = quantities.iter().filter_map(|q| q.p).collect();
    let named = significant(&known, LEVEL);
    for (q, named) in quantities.iter_mut().filter(|q| q.p.is_some()).zip(named) {
        q.changed = Some(named);
    }
    let lang = after.lang;
    let headline = headline(&quantities, lang);
    let facts = facts(before, after);
    MeasurementComparison { schema: COMPARISON_SCHEMA, lang, headline, facts, quantities }
}

fn headline(all: &[ComparedQuantity], lang: Lang) -> String {
    let mut known: Vec<&ComparedQuantity> = all.iter().filter(|q| q.changed.is_some()).collect();
    if all.is_empty() {
        return say!(lang, "measure.compare.nothing");
    }
    if known.is_empty() {
        return say!(lang, "measure.compare.single");
    }
    known.retain(|q| q.changed == Some(true));
    known.sort_by(|a, b| size(b).total_cmp(&size(a)));
    if known.is_empty() {
        return say!(lang, "measure.compare.same", n = all.len());
    }
    let named = known.iter().take(MAX_NAMED).map(|q| {
        let [from, to] = q.means.map(|e| digits(e.mean));
        let unit = if q.unit.is_empty() { String::new() } else { format!(" {}", q.unit) };
        let key = if q.better { "measure.compare.change" } else { "measure.compare.change.worse" };
        say!(lang, key, name = q.name, from = from, to = to, unit = unit)
    });
    let more = match known.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        n => say!(lang, "measure.compare.more", n = n),
    };
    let changes = named.collect::<Vec<_>>().join(word(lang, "measure.comma"));
    say!(lang, "measure.compare.changed", changes = changes, more = more)
}

/// The size of a change as a factor, always at least 1.
fn size(q: &ComparedQuantity) -> f64 {
    let [a, b] = q.means.map(|e| e.mean.abs());
    let (low, high) = (a.min(b), a.max(b));
    if low > 0.0 { high / low } else { f64::INFINITY }
}

/// Differences of the typical measurements that are not numbers with a spread.
fn facts(before: &MeasurementSeries, after: &MeasurementSeries) -> Vec<String> {
    let (Some(a), Some(b)) = (before.typical(), after.typical()) else { return Vec::new() };
    let (mut facts, lang) = (Vec::new(), after.lang);
    let changed = |d: Direction, before: String, after: String| {
        say!(lang, "measure.compare.before-after", direction = d.word(lang), before = before, after = after)
    };
    for d in Direction::BOTH {
        if let (Some(one), Some(other)) = (before.limiter(d), after.limiter(d))
            && one.kind != other.kind
        {
            facts.push(changed(d, limit(one, lang), limit(other, lang)));
        }
        if let (Some(one), Some(other)) = (&a.direction(d).path, &b.direction(d).path) {
            let [was, is] = [treatment(one, lang), treatment(other, lang)];
            if was != is {
                facts.push(changed(d, was, is));
            }
        }
    }
    facts
}

impl MeasurementComparison {
    /// The comparison as JSON, ended by a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns headline, facts and table; no line is wider than `width` (at least 60).
    pub fn text(&self, width: usize) -> String {
        let width = width.max(60);
        let mut text = wrap(&self.headline, width, "");
        self.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
        if !self.quantities.is_empty() {
            text += "\n";
            text += &self.table().text(Style::plain(width));
        }
        text
    }

    /// The comparison as an HTML page.
    pub fn page(&self) -> String {
        let lang = self.lang;
        let mut page = PlainPage::in_language(word(lang, "measure.compare.title"), &self.headline, lang);
        page.facts(&self.facts);
        page.table(&self.table());
        page.note(word(lang, "measure.compare.note"));
        page.html()
    }

    fn table(&self) -> Table<'static> {
        let lang = self.lang;
        let row = |q: &ComparedQuantity| {
            let mean = |i: usize| match q.n[i] {
                1 => digits(q.means[i].mean),
                _ => format!("{} ± {}", digits(q.means[i].mean), digits(q.means[i].ci95)),
            };
            let verdict = match (q.changed, q.better) {
                (None, _) => word(lang, "measure.compare.unknown"),
                (Some(false), _) => "-",
                (Some(true), true) => word(lang, "measure.compare.better"),
                (Some(true), false) => word(lang, "measure.compare.worse"),
            };
            let name = if q.unit.is_empty() { q.name.clone() } else { format!("{}, {}", q.name, q.unit) };
            let n = if q.n[0] == q.n[1] { q.n[0].to_string() } else { format!("{}, {}", q.n[0], q.n[1]) };
            vec![name, n, mean(0), mean(1), verdict.into()]
        };
        let rows: Vec<Vec<String>> = self.quantities.iter().map(row).collect();
        let heads = [
            ("measure.head.quantity", None),
            ("measure.head.n", Some("")),
            ("measure.head.before", Some("")),
            ("measure.head.after", Some("")),
            ("measure.head.changed", None),
        ];
        Table::worded(lang, &heads, &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::series::samples::upload;

    fn series(mbps: &[f64]) -> MeasurementSeries {
        MeasurementSeries::of(mbps.iter().map(|mbps| upload("2026-11-30T14:00:00Z", *mbps, 20.0)).collect())
    }

    #[test]
    fn a_change_beyond_the_spread_is_named_and_a_small_one_is_not() {
        let before = series(&[4.9, 5.1, 5.0]);
        let better = compare(&before, &series(&[18.7, 18.6, 18.8]));
        assert!(
            better.headline.starts_with("Changed beyond the spread: up.goodput from 5.00 to 18.7 Mbit/s"),
            "{}",
            better.headline
        );
        let worse = compare(&series(&[18.7, 18.6, 18.8]), &before);
        assert!(worse.headline.contains("from 18.7 to 5.00 Mbit/s (worse)"), "{}", worse.headline);
        let same = compare(&before, &series(&[5.05, 4.9, 5.1]));
        assert!(same.headline.starts_with("Nothing changed beyond the spread"), "{}", same.headline);
        let text = better.text(80);
        assert!(text.contains("5.00 ± 0.248") && text.contains("better"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn single_measurements_have_no_spread() {
        let single = compare(&series(&[4.9]), &series(&[18.7, 18.6]));
        assert!(single.headline.starts_with("Cannot tell a change from chance"), "{}", single.headline);
        assert!(single.quantities.iter().all(|q| q.changed.is_none() && q.p.is_none()));
        assert!(single.text(80).contains("cannot tell"));
    }
}
