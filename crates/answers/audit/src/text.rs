//! Formats the report for a terminal.

use crate::finding::{AuditFinding, FindingLevel};
use crate::path::{number, size};
use crate::report::{CheckReport, NamespaceReport};
use print::wrap;
use report::{Style, Table, TableCell, TableColumn};
use result::change::{ChangeEffect, ChangeUnit};
use std::fmt::Write;

/// Limit of the commands shown for a finding; JSON has all.
const MAX_COMMANDS: usize = 4;
/// Limit of the namespaces named in a finding.
const MAX_NAMES: usize = 4;
/// Limit of the namespaces in the table.
const MAX_ROWS: usize = 40;

/// Returns a table of the namespaces and the findings, in lines of `width` columns. Commands are not wrapped.
pub fn text(report: &CheckReport, width: usize) -> String {
    let mut out = table(report, width);
    if let Some(path) = &report.path {
        let line =
            format!("path: {} ({}), {} in one round trip", path.words(), path.source, size(path.bdp()));
        let _ = write!(out, "\n{}", wrap(&line, width, ""));
    }
    for finding in &report.findings {
        let _ = write!(out, "\n{}", finding_text(report, finding, width));
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
        None => {
            format!("{found}; add --rate and --rtt to check what depends on the path and to simulate costs")
        }
    }
}

/// Builds the table, a row for each namespace.
fn table(report: &CheckReport, width: usize) -> String {
    let names = TableColumn::names;
    let mut table = Table::of(vec![
        names("namespace"),
        names("default cc"),
        names("pacing").ranked(40),
        names("connections").ranked(50),
        names("max rmem").ranked(30),
        names("max wmem").ranked(30),
        names("qdisc"),
    ]);
    report.namespaces.iter().take(MAX_ROWS).for_each(|ns| table.row(row(ns)));
    let mut out = table.text(Style::plain(width));
    if report.namespaces.len() > MAX_ROWS {
        let _ = writeln!(out, "… and {} more (--json has all)", report.namespaces.len() - MAX_ROWS);
    }
    out
}

fn row(ns: &NamespaceReport) -> [TableCell; 7] {
    let largest = |name: &str| {
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
        largest("net.ipv4.tcp_rmem"),
        largest("net.ipv4.tcp_wmem"),
        or_dash(qdiscs.join(", ")),
    ]
    .map(TableCell::from)
}

fn finding_text(report: &CheckReport, f: &AuditFinding, width: usize) -> String {
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
        for (i, line) in lines.iter().take(MAX_COMMANDS).enumerate() {
            // Not wrapped, so that it can be copied.
            let _ = writeln!(out, "  {:<5} {line}", if i == 0 { what } else { "" });
        }
        if lines.len() > MAX_COMMANDS {
            let _ = writeln!(out, "        … and {} more (--json has all)", lines.len() - MAX_COMMANDS);
        }
    };
    shown(&mut out, "do:", &f.commands());
    if f.remedies.iter().any(|r| r.commands.is_empty()) {
        let why =
            "the current value is unknown and could not be restored, or the namespace cannot be entered";
        out.push_str(&wrap(&format!("some commands are missing: {why}"), width, "  "));
    }
    shown(&mut out, "undo:", &f.undo());
    out
}

/// Returns the namespaces of a finding, such as ` in web, db and 3 more`.
fn place(report: &CheckReport, f: &AuditFinding) -> String {
    if f.namespaces.is_empty() || report.namespaces.len() == 1 {
        return String::new();
    }
    let names = f.namespaces.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match f.namespaces.len().saturating_sub(MAX_NAMES) {
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
    format!("simulated: {now} now, {then} with the change, {ratio} ({})", c.formula)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean, host};
    use crate::report::report;
    use crate::rule::judge;

    #[test]
    fn a_clean_host_has_nothing_wrong() {
        let facts = host(vec![clean("host")]);
        let report = report(&facts, None, judge(&facts, None));
        assert!(report.findings.is_empty() && !report.has_problems());
        let shown = text(&report, 200);
        assert!(
            shown.contains("host       cubic       not paced  -            6.29 MB   4.19 MB   pfifo_fast"),
            "{shown}"
        );
        assert!(shown.contains("1 network namespace: nothing wrong; add --rate"), "{shown}");
    }

    #[test]
    fn a_finding_is_shown_with_place_reason_command_and_undo() {
        let mut web = clean("web");
        web.settings.set("net.ipv4.tcp_sack", "0");
        let facts = host(vec![clean("host"), web]);
        let report = report(&facts, None, judge(&facts, None));
        let shown = text(&report, 200);
        assert!(report.has_problems());
        assert!(shown.contains("problem sack in web: net.ipv4.tcp_sack is 0\n"), "{shown}");
        assert!(shown.contains("  do:   ip netns exec web sysctl -w net.ipv4.tcp_sack=1\n"), "{shown}");
        assert!(shown.contains("  undo: ip netns exec web sysctl -w net.ipv4.tcp_sack=0\n"), "{shown}");
        assert!(shown.contains("2 network namespaces: 1 problem, 0 notes"), "{shown}");
    }
}
