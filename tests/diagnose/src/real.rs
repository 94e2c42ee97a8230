//! Scores public captures, in which each flow was labelled from its packets before it was diagnosed
//! (`real.csv`).
//!
//! A label may name two causes where an expert would accept either. Captures are split into halves by the
//! first digit of their hashes: `build` may be studied flow by flow, `judge` only in classes.

use crate::judge::Judge;
use crate::score::{self, Tally};
use result::Diagnosis;
use result::diagnosis::{FlowDiagnosis, LimiterKind};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The columns of `real.csv`.
pub const COLUMNS: &str = "repository,commit,path,sha256,from,to,cause,why,confidence,half";

/// The label of a setup that failed. No data was sent, so a diagnosis without the flow is right too.
const SETUP_FAILED: &str = "setup-failed";
const MISSING: &str = "missing";

/// Least share of the time for a cause to count as named.
const NAMED_SHARE: f64 = 0.1;

/// A labelled flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Line of `real.csv`, from 1.
    pub line: usize,
    /// `owner/name` on GitHub.
    pub repository: String,
    /// Path in the repository.
    pub path: String,
    /// Hash of the capture file.
    pub sha256: String,
    /// Sender and receiver, `address:port`.
    pub ends: (String, String),
    /// Right causes, the more likely first.
    pub causes: Vec<String>,
    /// The reason, in a sentence.
    pub why: String,
    /// `high`, `middle` or `low`.
    pub confidence: String,
    /// `build` or `judge`.
    pub half: String,
}

/// Splits a line of CSV; a quoted field may hold commas, and a doubled quote means one.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

/// Returns the half that a capture belongs to, by the parity of its hash's first digit.
fn half(sha256: &str) -> Option<&'static str> {
    let digit = sha256.chars().next()?.to_digit(16)?;
    Some(if digit % 2 == 0 { "build" } else { "judge" })
}

/// Reads `real.csv`.
///
/// # Errors
/// Names a malformed line by its number.
pub fn labels(name: &str, text: &str) -> Result<Vec<Label>, String> {
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, COLUMNS)) => {}
        _ => return Err(format!("{name}:1: expected the columns {COLUMNS}")),
    }
    let label = |(at, line): (usize, &str)| {
        let at = at + 1;
        let fields = fields(line).ok_or(format!("{name}:{at}: unclosed quote"))?;
        let count = fields.len();
        let [repository, _, path, sha256, from, to, cause, why, confidence, labelled_half]: [String; 10] =
            fields.try_into().map_err(|_| format!("{name}:{at}: {count} fields, expected 10"))?;
        if sha256.len() != 64 || half(&sha256) != Some(labelled_half.as_str()) {
            return Err(format!("{name}:{at}: half {labelled_half} does not match sha256 {sha256}"));
        }
        if !["high", "middle", "low"].contains(&confidence.as_str()) {
            return Err(format!("{name}:{at}: confidence {confidence}, expected high, middle or low"));
        }
        let causes = cause.split('|').map(str::to_string).collect();
        let (ends, half) = ((from, to), labelled_half);
        Ok(Label { line: at, repository, path, sha256, ends, causes, why, confidence, half })
    };
    lines.map(label).collect()
}

/// A labelled flow and its verdict.
#[derive(Clone, Debug)]
pub struct Row {
    pub label: Label,
    /// Main cause of the verdict; `missing` where the flow is not in the diagnosis.
    pub verdict: String,
    /// Confidence of the verdict.
    pub confidence: f64,
    /// The greatest causes with their shares, as text.
    pub shares: String,
    /// Which of policer, shaper and outage are named, as main cause or as another.
    pub named: Vec<&'static str>,
}

impl Row {
    /// Whether the main cause is one of the label's. For a setup that failed, a diagnosis without a cause is
    /// right too.
    pub fn is_right(&self) -> bool {
        self.label.causes.contains(&self.verdict)
            || self.label.causes[0] == SETUP_FAILED && self.verdict == MISSING
    }

    /// Returns the label as one word.
    fn class(&self) -> &str {
        &self.label.causes[0]
    }

    fn accepts(&self, cause: &str) -> bool {
        self.label.causes.iter().any(|c| c == cause)
    }
}

/// Scores a labelled flow.
pub fn row(label: &Label, diagnosis: &Diagnosis) -> Row {
    let same = |f: &&FlowDiagnosis| f.from == label.ends.0 && f.to == label.ends.1;
    let Some(flow) = diagnosis.flows.iter().find(same) else {
        let verdict = MISSING.to_string();
        return Row {
            label: label.clone(),
            verdict,
            confidence: 0.0,
            shares: String::new(),
            named: Vec::new(),
        };
    };
    let has_share = |name: &str| flow.causes.iter().any(|c| c.cause.name() == name && c.share >= NAMED_SHARE);
    let limiter = flow.limiter.and_then(|i| diagnosis.limiters.get(i)).map(|l| l.kind);
    let mut named = Vec::new();
    if has_share("policed") || limiter == Some(LimiterKind::Policer) {
        named.push("policed");
    }
    if has_share("shaped") || limiter == Some(LimiterKind::Shaper) {
        named.push("shaped");
    }
    if has_share("outage") {
        named.push("outage");
    }
    let shares = flow.causes.iter().take(3).map(|c| format!("{} {:.0} %", c.cause.name(), c.share * 100.0));
    let shares = shares.collect::<Vec<_>>().join(", ");
    let verdict = flow.cause.name().to_string();
    Row { label: label.clone(), verdict, confidence: flow.confidence, shares, named }
}

/// Collects the files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let list = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in list {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() { files(&path, found)? } else { found.push(path) }
    }
    found.sort();
    Ok(())
}

fn sha256(file: &Path) -> Result<String, String> {
    let out =
        Command::new("sha256sum").arg("--").arg(file).output().map_err(|e| format!("sha256sum: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout);
    // A backslash before the hash marks an escaped file name.
    match text.trim_start_matches('\\').get(..64) {
        Some(hash) if out.status.success() => Ok(hash.to_string()),
        _ => Err(format!("{}: {}", file.display(), String::from_utf8_lossy(&out.stderr).trim_end())),
    }
}

/// A capture with the labels of its flows.
pub type LabelledCapture<'a> = (PathBuf, Vec<&'a Label>);

/// Returns the captures below `folder` that `labels` name, and the number of missing ones.
///
/// # Errors
/// Fails if a folder or a file cannot be read.
pub fn captures<'a>(folder: &Path, labels: &'a [Label]) -> Result<(Vec<LabelledCapture<'a>>, usize), String> {
    let mut wanted = BTreeMap::<&str, Vec<&Label>>::new();
    labels.iter().for_each(|l| wanted.entry(&l.sha256).or_default().push(l));
    let (mut all, mut found) = (Vec::new(), Vec::new());
    files(folder, &mut all)?;
    for file in all {
        if let Some(labels) = wanted.remove(sha256(&file)?.as_str()) {
            found.push((file, labels));
        }
    }
    Ok((found, wanted.len()))
}

/// Diagnoses the captures below `folder` that `labels` name, and passes each label with its diagnosis to the
/// caller. Returns the number of missing captures.
///
/// # Errors
/// Fails if a file cannot be read or diagnosed.
pub fn each(
    folder: &Path,
    labels: &[Label],
    judge: &Judge,
    mut work: impl FnMut(&Label, &Diagnosis),
) -> Result<usize, String> {
    let (captures, missing) = captures(folder, labels)?;
    for (file, labels) in captures {
        let diagnosis = judge.diagnose(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        labels.into_iter().for_each(|label| work(label, &diagnosis));
    }
    Ok(missing)
}

/// Scores all labelled flows, in the order of the labels.
///
/// # Errors
/// Fails as [`each`] does.
pub fn read(folder: &Path, labels: &[Label], judge: &Judge) -> Result<(Vec<Row>, usize), String> {
    let mut rows = Vec::new();
    let missing = each(folder, labels, judge, |label, diagnosis| rows.push(row(label, diagnosis)))?;
    rows.sort_by_key(|r| r.label.line);
    Ok((rows, missing))
}

fn sure<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    rows.iter().copied().filter(|r| r.label.confidence == "high").collect()
}

fn right(rows: &[&Row]) -> String {
    Tally::count(rows.iter(), |r| r.is_right()).percent()
}

/// Returns the tables: accuracy of all and of sure verdicts, by class, false limiters and outages, and
/// confusions.
pub fn tables(rows: &[Row]) -> String {
    let all: Vec<&Row> = rows.iter().collect();
    let mut out =
        String::from("| labels | flows | main cause right | labelled high |\n|---|---:|---:|---:|\n");
    let mut line = |name: &str, rows: &[&Row]| {
        let _ = writeln!(out, "| {name} | {} | {} | {} |", rows.len(), right(rows), right(&sure(rows)));
    };
    line("all", &all);
    let with_data: Vec<&Row> = all.iter().copied().filter(|r| r.class() != SETUP_FAILED).collect();
    line("with data", &with_data);
    let limited: Vec<&Row> = with_data.iter().copied().filter(|r| r.class() != "application").collect();
    line("with data, not the application first", &limited);
    let mut classes = BTreeMap::<&str, Vec<&Row>>::new();
    rows.iter().for_each(|r| classes.entry(r.class()).or_default().push(r));
    classes.iter().for_each(|(class, rows)| line(class, rows));
    out += "\n| named, but not in the label | as main cause | as limiter, or for a tenth of the time or more |\n|---|---:|---:|\n";
    for cause in ["policed", "shaped", "outage"] {
        let main = rows.iter().filter(|r| r.verdict == cause && !r.accepts(cause)).count();
        let named = rows.iter().filter(|r| r.named.contains(&cause) && !r.accepts(cause)).count();
        let _ = writeln!(out, "| {cause} | {main} | {named} |");
    }
    let verdicts: Vec<(f64, bool)> = with_data.iter().map(|r| (r.confidence, r.is_right())).collect();
    let _ = write!(out, "\n{}", score::reliability(&verdicts));
    out + "\n" + &confusion(rows)
}

fn confusion(rows: &[Row]) -> String {
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    for r in rows {
        let class = if r.is_right() { r.verdict.as_str() } else { r.class() };
        *counts.entry((class, &r.verdict)).or_default() += 1;
    }
    let mut verdicts: Vec<&str> = counts.keys().map(|k| k.1).collect();
    let mut truth: Vec<&str> = counts.keys().map(|k| k.0).collect();
    for names in [&mut verdicts, &mut truth] {
        names.sort_unstable();
        names.dedup();
    }
    let mut out =
        format!("| label \\ verdict | {} |\n|---|{}\n", verdicts.join(" | "), "---:|".repeat(verdicts.len()));
    for class in truth {
        let cell = |s: &&str| counts.get(&(class, s)).map_or(String::new(), ToString::to_string);
        let cells: Vec<String> = verdicts.iter().map(cell).collect();
        let _ = writeln!(out, "| {class} | {} |", cells.join(" | "));
    }
    out
}

/// Returns a flow as a line, for the half that may be studied.
pub fn case(r: &Row) -> String {
    let verdict = if r.is_right() { "right" } else { "WRONG" };
    format!(
        "{verdict} line {} {} {} {} > {}\n      label {} ({}): {}\n      verdict {} ({:.2}): {}{}",
        r.label.line,
        r.label.repository,
        r.label.path,
        r.label.ends.0,
        r.label.ends.1,
        r.label.causes.join("|"),
        r.label.confidence,
        r.label.why,
        r.verdict,
        r.confidence,
        r.shares,
        if r.named.is_empty() { String::new() } else { format!("; named: {}", r.named.join(", ")) }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0fd089aa00000000000000000000000000000000000000000000000000000000";

    #[test]
    fn a_line_with_quotes_is_a_label() {
        let text = format!(
            "{COLUMNS}\no/n,c,a b.pcap,{HASH},1.2.3.4:5,6.7.8.9:10,a|b,\"one, \"\"two\"\"\",high,build\n"
        );
        let labels = labels("real.csv", &text).unwrap();
        assert_eq!(labels[0].why, "one, \"two\"");
        assert_eq!(labels[0].causes, ["a", "b"]);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |line: &str| labels("real.csv", &format!("{COLUMNS}\n{line}\n")).unwrap_err();
        assert_eq!(error("a,b"), "real.csv:2: 2 fields, expected 10");
        assert_eq!(error("\"a"), "real.csv:2: unclosed quote");
        let other_half = format!("o/n,c,p,{HASH},f,t,a,w,high,judge");
        assert!(error(&other_half).starts_with("real.csv:2: half judge"));
        assert!(labels("real.csv", "x").unwrap_err().starts_with("real.csv:1:"));
    }

    /// Every cause in the table is in the registry, or one of the three other labels.
    #[test]
    fn the_table_names_known_causes() {
        let labels = labels("real.csv", include_str!("../real.csv")).unwrap();
        assert!(labels.len() >= 150);
        for label in labels {
            for cause in label.causes {
                let known = result::Cause::ALL.iter().any(|c| c.name() == cause);
                assert!(known || cause == "receiver-stalled" || cause == SETUP_FAILED, "{cause}");
            }
        }
    }
}
