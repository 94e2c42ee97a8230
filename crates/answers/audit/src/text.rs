//! The report for a terminal.

use crate::finding::{AuditFinding, FindingLevel};
use crate::path::{number, size};
use crate::report::{CheckReport, NamespaceReport};
use print::wrap;
use report::{Style, Table, TableCell, TableColumn};
use result::change::{ChangeEffect, ChangeUnit};
use std::fmt::Write;

/// Commands of one finding that are shown; JSON has all.
const MOST_COMMANDS: usize = 4;
/// Names of namespaces of one finding that are shown.
const MOST_NAMES: usize = 4;
/// Namespaces in the table.
const MOST_ROWS: usize = 40;

/// A table of the namespaces and the findings, in lines of `width` columns; commands stay whole.
pub fn text(report: &CheckReport, width: usize) -> String {
    let mut out = table(report, width);
    if let Some(path) = &report.path {
        let line =
            format!("path: {} ({}), {} in one round trip", path.words(), path.source, size(path.bdp()));
        let _ = write!(out, "\n{}", wrap(&line, width, ""));
    }
    for finding in &report.findings {
        let _ = write!(out, "\n{}", told(report, finding, width));
    }
    let problems = report.findings.iter().filter(|f| f.level == FindingLevel::Problem).count();
    let notes = report.findings.len() - problems;
    let _ = write!(out, "\n{}", wrap(&summary(report, problems, notes), width, ""));
    for line in &report.not_seen {
        out.push_str(&wrap(&format!("not seen: {line}"), width, ""));
    }
    out
}

fn summary(report: &CheckReport, problems: usize, notes: usize) -> String {
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let looked = plural(report.namespaces.len(), "network namespace");
    let found = match (problems, notes) {
        (0, 0) => format!("{looked}: nothing wrong"),
        (0, _) => format!("{looked}: nothing wrong, {}", plural(notes, "note")),
        _ => format!("{looked}: {}, {}", plural(problems, "problem"), plural(notes, "note")),
    };
    match report.path {
        Some(_) => found,
        None => format!(
            "{found}; with --rate and --rtt what depends on the path is looked at too, and each cost simulated"
        ),
    }
}

/// A row a namespace.
fn table(report: &CheckReport, width: usize) -> String {
    let names = TableColumn::names;
    let mut table = Table::of(vec![
        names("namespace"),
        names("control"),
        names("pacing").ranked(40),
        names("connections").ranked(50),
        names("rmem").ranked(30),
        names("wmem").ranked(30),
        names("qdisc"),
    ]);
    report.namespaces.iter().take(MOST_ROWS).for_each(|ns| table.row(row(ns)));
    let mut out = table.text(Style::plain(width));
    if report.namespaces.len() > MOST_ROWS {
        let _ = writeln!(out, "… and {} more (--json has all)", report.namespaces.len() - MOST_ROWS);
    }
    out
}

fn row(ns: &NamespaceReport) -> [TableCell; 7] {
    let most = |name: &str| {
        let value = ns.settings.get(name).and_then(|v| v.split(' ').nth(2)?.parse().ok());
        value.map_or("-".into(), size)
    };
    let sockets: Vec<String> = ns.connections.iter().map(|c| format!("{} {}", c.count, c.control)).collect();
    let mut qdiscs: Vec<&str> =
        ns.devices.iter().filter(|d| d.up && d.name != "lo").map(|d| d.qdisc.as_str()).collect();
    qdiscs.sort_unstable();
    qdiscs.dedup();
    let or_dash = |text: String| if text.is_empty() { "-".into() } else { text };
    [
        ns.name.clone(),
        ns.control.clone().unwrap_or("-".into()),
        match ns.pacing {
            Some(p) => p.words().trim_start_matches("paced ").to_string(),
            None => "-".into(),
        },
        or_dash(sockets.join(", ")),
        most("net.ipv4.tcp_rmem"),
        most("net.ipv4.tcp_wmem"),
        or_dash(qdiscs.join(", ")),
    ]
    .map(TableCell::from)
}

fn told(report: &CheckReport, f: &AuditFinding, width: usize) -> String {
    let level = match f.level {
        FindingLevel::Problem => "problem",
        FindingLevel::Note => "note",
    };
    let mut out = wrap(&format!("{level} {}{}: {}", f.rule, place(report, f), f.seen), width, "");
    if let Some(cost) = &f.cost {
        out.push_str(&wrap(&cost_words(cost), width, "  "));
    }
    out.push_str(&wrap(&format!("{} ({})", f.why, f.source), width, "  "));
    let shown = |out: &mut String, what: &str, lines: &[String]| {
        for (i, line) in lines.iter().take(MOST_COMMANDS).enumerate() {
            // Whole, to be copied.
            let _ = writeln!(out, "  {:<5} {line}", if i == 0 { what } else { "" });
        }
        if lines.len() > MOST_COMMANDS {
            let _ = writeln!(out, "        … and {} more (--json has all)", lines.len() - MOST_COMMANDS);
        }
    };
    shown(&mut out, "do:", &f.commands());
    if f.remedies.iter().any(|r| r.commands.is_empty()) {
        let why =
            "what is there now was not read and so could not be restored, or nothing enters the namespace";
        out.push_str(&wrap(&format!("not all commands are shown: {why}"), width, "  "));
    }
    shown(&mut out, "undo:", &f.undo());
    out
}

/// ` in web, db and 3 more`.
fn place(report: &CheckReport, f: &AuditFinding) -> String {
    if f.namespaces.is_empty() || report.namespaces.len() == 1 {
        return String::new();
    }
    let names = f.namespaces.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match f.namespaces.len().saturating_sub(MOST_NAMES) {
        0 => format!(" in {names}"),
        more => format!(" in {names} and {more} more"),
    }
}

fn cost_words(c: &ChangeEffect) -> String {
    let value = |x: f64| match c.unit {
        ChangeUnit::Seconds => format!("{} ms", number(1000.0 * x)),
        _ => format!("{} Mbit/s", number(x)),
    };
    let (now, then) = (value(c.now.unwrap_or_default()), value(c.then));
    let ratio = match c.gain() {
        None => "nothing arrives now".into(),
        Some(gain) if (0.98..1.02).contains(&gain) => "no difference on this path".into(),
        Some(gain) if gain < 1.0 => format!("worse: {} times", number(gain)),
        Some(gain) => format!("{} times as good", number(gain)),
    };
    format!("cost, simulated: {now} now, {then} then, {ratio} ({})", c.formula)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{clean, host};
    use crate::report::report;
    use crate::rule::judge;

    #[test]
    fn a_clean_host_says_so() {
        let facts = host(vec![clean("host")]);
        let report = report(&facts, None, judge(&facts, None));
        assert!(report.findings.is_empty() && !report.has_problems());
        let told = text(&report, 200);
        assert!(
            told.contains("host       cubic    not paced  -            6.29 MB  4.19 MB  pfifo_fast"),
            "{told}"
        );
        assert!(told.contains("1 network namespace: nothing wrong; with --rate"), "{told}");
    }

    #[test]
    fn a_finding_is_told_with_place_reason_command_and_undo() {
        let mut web = clean("web");
        web.settings.set("net.ipv4.tcp_sack", "0");
        let facts = host(vec![clean("host"), web]);
        let report = report(&facts, None, judge(&facts, None));
        let told = text(&report, 200);
        assert!(report.has_problems());
        assert!(told.contains("problem sack in web: net.ipv4.tcp_sack is 0\n"), "{told}");
        assert!(told.contains("  do:   ip netns exec web sysctl -w net.ipv4.tcp_sack=1\n"), "{told}");
        assert!(told.contains("  undo: ip netns exec web sysctl -w net.ipv4.tcp_sack=0\n"), "{told}");
        assert!(told.contains("2 network namespaces: 1 problem, 0 notes"), "{told}");
    }
}
