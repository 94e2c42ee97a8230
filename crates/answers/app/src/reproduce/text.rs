//! Shows a reproduction in a terminal: a line for each number, published and ours, then the claims.

use crate::reproduce::model::{
    CellValue, JudgedClaim, ReproducedCell, ReproducedStudy, ReproducedTable, Reproduction, VerdictCounts,
};
use print::{three_digits, wrap};
use report::{Style, Table, TableCell, TableColumn};
use result::Clock;

/// Intervals narrower than this are not shown: they would be printed as 0.
const MIN_INTERVAL: f64 = 0.0005;

/// Returns the text of all studies, then the number of claims per verdict. Lines are at most `width` columns
/// wide; a `width` below 60 counts as 60.
pub fn text(reproduction: &Reproduction, width: usize) -> String {
    let width = width.max(60);
    let mut out = String::new();
    for study in &reproduction.studies {
        study_text(&mut out, study, &reproduction.clocks, width);
    }
    for counts in &reproduction.counts {
        out += &wrap(&counted(counts), width, "");
    }
    out
}

/// Returns the number of claims per verdict as a sentence.
pub(crate) fn counted(c: &VerdictCounts) -> String {
    let all = c.holds + c.holds_in_direction + c.does_not_hold + c.not_judged;
    format!(
        "{}: of {all} claims {} hold, {} hold in direction, {} do not hold, {} could not be judged.",
        long(c.clock),
        c.holds,
        c.holds_in_direction,
        c.does_not_hold,
        c.not_judged
    )
}

/// Returns the clock's name for people.
pub(crate) fn long(clock: Clock) -> &'static str {
    match clock {
        Clock::Sim => "simulator",
        Clock::Kernel => "kernel",
    }
}

fn study_text(out: &mut String, study: &ReproducedStudy, clocks: &[Clock], width: usize) {
    *out += &wrap(&format!("{}: {} ({})", study.name, study.title, study.source), width, "");
    for fit in &study.fitted {
        *out += &wrap(&format!("fitted on {}: {}, {}", fit.on, fit.unknown, fit.value), width, "  ");
    }
    for table in &study.tables {
        *out += "\n";
        table_text(out, table, clocks, width);
    }
    *out += "\n";
    study.claims.iter().for_each(|claim| claim_text(out, claim, width));
    for part in &study.unrun {
        *out += &wrap(&format!("not run: {}: {}", part.what, part.why), width, "  ");
    }
    *out += "\n";
}

fn table_text(out: &mut String, table: &ReproducedTable, clocks: &[Clock], width: usize) {
    *out += &wrap(&format!("{} ({}; {})", table.title, table.name, table.place), width, "");
    let clocks = clocks.iter().map(|clock| TableColumn::numbers(long(*clock), ""));
    let columns = [TableColumn::names(""), TableColumn::numbers("published", "")];
    let mut shown = Table::of(columns.into_iter().chain(clocks).collect());
    for row in &table.rows {
        shown.heading(&row.title);
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            if cell.published.is_none() && cell.ours.iter().all(Option::is_none) {
                continue;
            }
            let name = [format!("  {}", column.with_unit()), published(cell)];
            let ours = cell.ours.iter().map(|value| ours(cell, value.as_ref()));
            shown.row(name.into_iter().chain(ours).map(TableCell::from));
        }
    }
    *out += &shown.text(Style::plain(width));
}

/// Formats the published number, with its range where there is one.
pub(crate) fn published(cell: &ReproducedCell) -> String {
    match (cell.published, cell.between) {
        (None, _) => "–".into(),
        (Some(mean), None) => number(mean),
        (Some(mean), Some([low, high])) => {
            format!("{} ({}…{})", number(mean), number(low), number(high))
        }
    }
}

/// Formats the measured number. `*`: an unknown was fitted on it; `?`: it is not to be trusted.
pub(crate) fn ours(cell: &ReproducedCell, value: Option<&CellValue>) -> String {
    let Some(value) = value else { return "–".into() };
    let interval =
        if value.ci95 >= MIN_INTERVAL { format!(" ±{}", two_digits(value.ci95)) } else { String::new() };
    let fitted = if cell.fitted.is_some() { "*" } else { "" };
    let untrusted = if value.doubts.is_empty() { "" } else { "?" };
    format!("{}{interval}{fitted}{untrusted}", number(value.mean))
}

/// Formats three significant digits, or a whole number as it is.
fn number(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e9 { format!("{x}") } else { three_digits(x) }
}

/// Formats two significant digits, enough for an interval.
fn two_digits(x: f64) -> String {
    let decimals = match x.abs() {
        a if a < 0.095 => 3,
        a if a < 0.95 => 2,
        a if a < 9.5 => 1,
        _ => 0,
    };
    format!("{x:.decimals$}")
}

fn claim_text(out: &mut String, claim: &JudgedClaim, width: usize) {
    *out += &wrap(&format!("{} ({}): {}", claim.name, claim.place, claim.says), width, "");
    if let Some(why) = &claim.cannot {
        *out += &wrap(&format!("cannot be judged here: {why}"), width, "    ");
    }
    for judged in &claim.judged {
        let repeats = match judged.repeats {
            0 | 1 => String::new(),
            n => format!(" ({} of {n} repeats)", judged.in_repeats),
        };
        let verdict = format!("{}: {}{repeats}: {}", long(judged.clock), judged.name(), judged.explanation());
        *out += &wrap(&verdict, width, "    ");
    }
}
