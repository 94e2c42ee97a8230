//! Tables of scored flows as Markdown, for terminals and for `docs/measured/diagnosis-accuracy.md`.

use crate::line::{Limit, Line};
use result::Cause;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Greatest relative error of a rate that counts as near.
const NEAR_RATE: f64 = 0.03;
/// Greatest relative error of a bucket that counts as near.
const NEAR_BURST: f64 = 0.2;

/// Returns the table of causes and their meanings.
pub fn causes() -> String {
    let known = Cause::ALL.into_iter().filter(|c| *c != Cause::Unknown);
    let rows: String = known.map(|c| format!("| {} | {} |\n", c.name(), c.meaning())).collect();
    format!("| cause | what limits |\n|---|---|\n{rows}")
}

/// A count of right verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// All verdicts.
    pub total: usize,
    pub right: usize,
}

impl Tally {
    /// Counts the items, and those for which `is_right` holds.
    pub fn count<T>(items: impl Iterator<Item = T>, is_right: impl Fn(&T) -> bool) -> Tally {
        items.fold(Tally::default(), |t, x| Tally {
            total: t.total + 1,
            right: t.right + is_right(&x) as usize,
        })
    }

    /// Returns the percentage; NaN if there are no verdicts.
    pub fn share(self) -> f64 {
        self.right as f64 * 100.0 / self.total as f64
    }

    /// Returns the percentage as text.
    pub fn percent(self) -> String {
        match self.total {
            0 => "–".into(),
            n => format!("{:.1} % ({} of {n})", self.share(), self.right),
        }
    }
}

/// Counts right main causes.
pub fn accuracy(lines: &[&Line]) -> Tally {
    Tally::count(lines.iter().filter_map(|l| l.is_right()), |&right| right)
}

/// Returns the percentage of right main causes with each case counted once: the mean of the cases' shares.
pub fn accuracy_by_case(lines: &[&Line]) -> f64 {
    let mut cases = BTreeMap::<&str, Vec<&Line>>::new();
    lines.iter().filter(|l| !l.right.is_empty()).for_each(|l| cases.entry(&l.case).or_default().push(l));
    let share = |lines: &Vec<&Line>| accuracy(lines).right as f64 / lines.len() as f64;
    cases.values().map(share).sum::<f64>() * 100.0 / cases.len().max(1) as f64
}

/// Counts the policed flows among those that are reported as policed.
pub fn precision(lines: &[&Line]) -> Tally {
    Tally::count(lines.iter().filter(|l| l.names_policer()).filter_map(|l| l.policed), |&is| is)
}

/// Counts the flows that are reported as policed among the policed ones.
pub fn recall(lines: &[&Line]) -> Tally {
    Tally::count(lines.iter().filter(|l| l.policed == Some(true)), |l| l.names_policer())
}

/// Returns the `q`-quantile (nearest rank); `None` if there are no values.
pub fn nearest_rank(values: &[f64], q: f64) -> Option<f64> {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let rank = (q * v.len() as f64).ceil() as usize;
    v.get(rank.max(1) - 1).copied()
}

/// Returns the `q`-quantile of absolute errors, as a percentage.
pub fn quantile(errors: &[f64], q: f64) -> String {
    let absolute: Vec<f64> = errors.iter().map(|e| e.abs() * 100.0).collect();
    nearest_rank(&absolute, q).map_or("–".into(), |e| format!("{e:.1} %"))
}

/// Counts the errors up to `limit`.
pub fn near(errors: &[f64], limit: f64) -> String {
    Tally::count(errors.iter(), |e| e.abs() <= limit).percent()
}

/// Returns the confusion matrix of truth and verdict. Right verdicts are on the diagonal, even where two
/// causes are right.
pub fn confusion(lines: &[&Line]) -> String {
    let mut verdicts: Vec<&str> = Cause::ALL.iter().map(|c| c.name()).collect();
    verdicts.push("missing");
    let row_of = |l: &Line| -> String {
        if l.is_right() == Some(true) { l.verdict.clone() } else { l.right[0].clone() }
    };
    let decided: Vec<&&Line> = lines.iter().filter(|l| !l.right.is_empty()).collect();
    let mut out =
        format!("| truth \\ verdict | {} |\n|---|{}\n", verdicts.join(" | "), "---:|".repeat(verdicts.len()));
    for truth in Cause::ALL.iter().map(|c| c.name()).filter(|&c| c != "unknown") {
        let row: Vec<_> = decided.iter().filter(|l| row_of(l) == truth).collect();
        if row.is_empty() {
            continue;
        }
        let cell = |s: &&str| match row.iter().filter(|l| l.verdict == **s).count() {
            0 => String::new(),
            n if *s == truth => format!("**{n}**"),
            n => n.to_string(),
        };
        let _ = writeln!(out, "| {truth} | {} |", verdicts.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    out
}

/// Returns a row of [`by`].
fn row(name: &str, lines: &[&Line]) -> String {
    let rates: Vec<f64> = lines.iter().filter_map(|l| l.rate_error()).collect();
    let bursts: Vec<f64> = lines.iter().filter_map(|l| l.burst_error()).collect();
    format!(
        "| {name} | {} | {} | {} | {} | {} / {} | {} | {} / {} | {} |\n",
        lines.len(),
        accuracy(lines).percent(),
        precision(lines).percent(),
        recall(lines).percent(),
        quantile(&rates, 0.5),
        quantile(&rates, 0.9),
        near(&rates, NEAR_RATE),
        quantile(&bursts, 0.5),
        quantile(&bursts, 0.9),
        near(&bursts, NEAR_BURST),
    )
}

/// Returns all scores, for all flows and by vantage, number of flows, cause and rate.
pub fn by(lines: &[&Line]) -> String {
    let mut out = String::from(
        "| flows | | main cause right | policed: precision | policed: recall | rate error: median / p90 | within 3 % \
         | bucket error: median / p90 | within 20 % |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    out += &row("all", lines);
    let mut group = |name: &str, belongs: &dyn Fn(&Line) -> bool| {
        let members: Vec<&Line> = lines.iter().copied().filter(|l| belongs(l)).collect();
        if !members.is_empty() {
            out += &row(name, &members);
        }
    };
    group("one flow", &|l| l.flows == 1);
    group("several flows", &|l| l.flows > 1);
    for vantage in ["sender", "middle", "receiver"] {
        group(&format!("captured at {vantage}"), &|l| l.vantage == vantage);
    }
    for cause in Cause::ALL.iter().map(|c| c.name()) {
        group(cause, &|l| l.right.first().is_some_and(|r| r == cause));
    }
    for (low, high) in [(0.0, 1.0), (1.0, 10.0), (10.0, 100.0), (100.0, 1e9)] {
        let name = match (low, high) {
            (0.0, m) => format!("below {m} Mbit/s"),
            (l, 1e9) => format!("from {l} Mbit/s"),
            (l, m) => format!("{l} to {m} Mbit/s"),
        };
        group(&name, &|l| l.rate >= low && l.rate < high);
    }
    out
}

/// Returns the errors of rate and bucket by kind of limiter.
pub fn limiters(lines: &[&Line]) -> String {
    let mut out = String::from(
        "| limiter | flows | kind found | rate given | rate error: median / p90 | within 3 % | bucket given | \
         bucket error: median / p90 | within 20 % |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for kind in ["policer", "shaper", "bottleneck"] {
        let have: Vec<&&Line> = lines.iter().filter(|l| l.limiter.kind == kind).collect();
        let rates: Vec<f64> = have.iter().filter_map(|l| l.rate_error()).collect();
        let bursts: Vec<f64> = have.iter().filter_map(|l| l.burst_error()).collect();
        let found = Tally::count(have.iter(), |l| l.found.kind == kind);
        let works_alike = have.iter().filter(|l| l.finds_alike()).count();
        let _ = writeln!(
            out,
            "| {kind} | {} | {} | {} | {} / {} | {} | {} | {} / {} | {} |",
            have.len(),
            found.percent(),
            Tally { total: works_alike, right: rates.len() }.percent(),
            quantile(&rates, 0.5),
            quantile(&rates, 0.9),
            near(&rates, NEAR_RATE),
            if kind == "bottleneck" {
                "–".into()
            } else {
                Tally { total: found.right, right: bursts.len() }.percent()
            },
            quantile(&bursts, 0.5),
            quantile(&bursts, 0.9),
            near(&bursts, NEAR_BURST),
        );
    }
    let managed = |l: &Limit| l.aqm == "codel";
    let known = || lines.iter().filter(|l| !l.limiter.kind.is_empty());
    let recall = Tally::count(known().filter(|l| managed(&l.limiter)), |l| managed(&l.found));
    let precision = Tally::count(known().filter(|l| managed(&l.found)), |l| managed(&l.limiter));
    if recall.total + precision.total > 0 {
        let _ = writeln!(
            out,
            "\nCoDel at the limiter's queue: recall {}, precision {}.",
            recall.percent(),
            precision.percent()
        );
    }
    out
}

/// Returns the calibration of confidence: about 90 % of the verdicts with a confidence of 90 % should be
/// right.
pub fn calibration(lines: &[&Line]) -> String {
    let verdict = |l: &&Line| Some((l.confidence, l.is_right()?));
    reliability(&lines.iter().filter_map(verdict).collect::<Vec<_>>())
}

/// Returns the calibration of pairs of confidence and success, by tenths of confidence, with the expected
/// calibration error: the mean distance of the two, weighted by verdicts.
pub fn reliability(verdicts: &[(f64, bool)]) -> String {
    let mut out = String::from("| confidence | verdicts | mean confidence | right |\n|---|---:|---:|---:|\n");
    let mut error_sum = 0.0;
    for tenth in 0..10 {
        let within = |p: f64| ((p * 10.0) as usize).min(9) == tenth;
        let bin: Vec<&(f64, bool)> = verdicts.iter().filter(|t| within(t.0)).collect();
        if bin.is_empty() {
            continue;
        }
        let right = Tally::count(bin.iter(), |t| t.1);
        let mean = bin.iter().map(|t| t.0).sum::<f64>() * 100.0 / bin.len() as f64;
        error_sum += (right.share() - mean).abs() * bin.len() as f64;
        let name = format!("{} to {} %", tenth * 10, tenth * 10 + 10);
        let _ = writeln!(out, "| {name} | {} | {mean:.1} % | {:.1} % |", bin.len(), right.share());
    }
    let error = error_sum / (verdicts.len() as f64).max(1.0);
    out + &format!("\nExpected calibration error: {error:.1} percentage points.\n")
}

/// Returns the most frequent mistakes: truth, verdict, place of the capture.
pub fn mistakes(lines: &[&Line]) -> String {
    let mut counts = BTreeMap::<(&str, &str, &str), usize>::new();
    for l in lines.iter().filter(|l| l.is_right() == Some(false)) {
        *counts.entry((&l.right[0], &l.verdict, &l.vantage)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|c| std::cmp::Reverse(c.1));
    let mut out = String::from("| truth | verdict | captured at | flows |\n|---|---|---|---:|\n");
    for ((truth, verdict, vantage), n) in counts.into_iter().take(12) {
        let _ = writeln!(out, "| {truth} | {verdict} | {vantage} | {n} |");
    }
    out
}

/// Returns all tables.
pub fn tables(lines: &[&Line]) -> String {
    let undecided = lines.iter().filter(|l| l.right.is_empty()).count();
    let twice = lines.iter().filter(|l| l.right.len() > 1).count();
    format!(
        "{} flows: {undecided} without a clear truth, {twice} with two right causes. Main cause right: {}; {:.1} % \
         with each case counted once.\n\n{}\n{}\n{}",
        lines.len(),
        accuracy(lines).percent(),
        accuracy_by_case(lines),
        by(lines),
        confusion(lines),
        limiters(lines)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Limit;

    fn line(right: &[&str], verdict: &str, policed: Option<bool>) -> Line {
        let right = right.iter().map(|s| s.to_string()).collect();
        Line { right, verdict: verdict.into(), policed, flows: 1, ..Line::default() }
    }

    #[test]
    fn scores_count_right_verdicts() {
        let mut lines = vec![
            line(&["policed"], "policed", Some(true)),
            line(&["policed"], "congestion", Some(true)),
            line(&["bottleneck", "congestion"], "congestion", Some(false)),
            line(&["random-loss"], "policed", Some(false)),
            line(&["application"], "policed", None),
            line(&[], "unknown", Some(false)),
        ];
        let limit = |rate, burst| Limit {
            kind: "policer".into(),
            rate: Some(rate),
            burst: Some(burst),
            ..Limit::default()
        };
        (lines[0].limiter, lines[0].found) = (limit(10.0, 1000.0), limit(10.2, 1300.0));
        let all: Vec<&Line> = lines.iter().collect();
        assert_eq!(accuracy(&all), Tally { total: 5, right: 2 });
        // A policer that dropped packets but was not the cause is not scored.
        assert_eq!(precision(&all), Tally { total: 2, right: 1 });
        assert_eq!(recall(&all), Tally { total: 2, right: 1 });
        assert!((lines[0].rate_error().unwrap() - 0.02).abs() < 1e-9);
        assert!((lines[0].burst_error().unwrap() - 0.3).abs() < 1e-9);
        let table = confusion(&all);
        let before = Cause::ALL.iter().take_while(|c| c.name() != "congestion").count();
        assert!(table.contains(&format!("| congestion |{} **1** |", "  |".repeat(before))), "{table}");
        for line in &lines {
            assert_eq!(Line::parse(&line.csv()).as_ref(), Some(line));
        }
    }

    #[test]
    fn reliability_is_tabled_by_tenths_with_its_error() {
        let verdicts = [(0.95, true), (0.95, true), (0.95, false), (0.95, true), (0.5, true), (0.5, false)];
        let table = reliability(&verdicts);
        assert!(table.contains("| 90 to 100 % | 4 | 95.0 % | 75.0 % |"), "{table}");
        assert!(table.contains("| 50 to 60 % | 2 | 50.0 % | 50.0 % |"), "{table}");
        // Four of six verdicts are off by 20 points.
        assert!(table.contains("error: 13.3 percentage points"), "{table}");
    }

    #[test]
    fn quantiles_use_the_nearest_rank() {
        let errors = [-0.4, 0.1, 0.2, -0.3];
        assert_eq!((quantile(&errors, 0.5), quantile(&errors, 0.9)), ("20.0 %".into(), "40.0 %".into()));
        assert_eq!(near(&errors, 0.2), "50.0 % (2 of 4)");
    }
}
