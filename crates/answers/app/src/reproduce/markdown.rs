//! Shows a reproduction as Markdown; docs/measured/reproduction.md shows all studies this way.

use crate::reproduce::model::{
    JudgedClaim, ReproducedColumn, ReproducedStudy, ReproducedTable, Reproduction,
};
use crate::reproduce::text::{counted, long, ours, published};
use report::{Table, TableCell, TableColumn};
use std::fmt::Write;

/// Returns the page: counts, then each study with its tables and claims.
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut out = String::from("# Published numbers and ours\n\n");
    let clocks: Vec<&str> = reproduction.clocks.iter().map(|c| long(*c)).collect();
    let _ = writeln!(
        out,
        "Written by `longfat reproduce --on {} --markdown FILE` ([reproduce.md](../reproduce.md)); \
         [studies.md](studies.md) explains it.\nA cell shows the published number, then {}; `–`: none, `*`: an unknown was fitted on it, `?`: the \
         kernel's measurement is not to be trusted.\n± is the 95 % interval of the mean.\n",
        if reproduction.clocks.len() > 1 {
            "both"
        } else {
            reproduction.clocks.first().map_or("sim", |c| c.name())
        },
        clocks.join(", then ")
    );
    for counts in &reproduction.counts {
        let _ = writeln!(out, "- {}", counted(counts));
    }
    reproduction.studies.iter().for_each(|study| study_part(&mut out, study));
    out
}

fn study_part(out: &mut String, study: &ReproducedStudy) {
    let _ = writeln!(out, "\n## {}\n\n`{}`, {}. {}", study.title, study.name, study.source, study.about);
    let mut fitted = empty_table(&["fitted", "to", "on"]);
    for fit in &study.fitted {
        fitted.row([fit.unknown.as_str(), &fit.value, &format!("`{}`", fit.on)].map(TableCell::from));
    }
    part(out, &fitted);
    study.tables.iter().for_each(|table| table_part(out, table));
    let mut claims = empty_table(&["claim", "verdict"]);
    study.claims.iter().for_each(|claim| claims.row(claim_row(claim)));
    part(out, &claims);
    for part in &study.unrun {
        let _ = writeln!(out, "\nNot run: `{}`: {}.", part.what, part.why.trim_end_matches('.'));
    }
}

fn table_part(out: &mut String, table: &ReproducedTable) {
    let _ = writeln!(out, "\n### {}\n\n`{}`; {}.", table.title, table.name, table.place);
    if let Some(note) = &table.note {
        let _ = writeln!(out, "{note}");
    }
    let head: Vec<String> = table.columns.iter().map(ReproducedColumn::with_unit).collect();
    let head: Vec<&str> = [""].into_iter().chain(head.iter().map(String::as_str)).collect();
    let mut shown = empty_table(&head);
    for row in &table.rows {
        let cells = row.cells.iter().map(|c| {
            let mine: Vec<String> = c.ours.iter().map(|value| ours(c, value.as_ref())).collect();
            let nothing = c.published.is_none() && c.ours.iter().all(Option::is_none);
            if nothing { String::new() } else { format!("{} / {}", published(c), mine.join(" / ")) }
        });
        shown.row([row.title.clone()].into_iter().chain(cells).map(TableCell::from));
    }
    part(out, &shown);
}

/// Creates a table without rows.
fn empty_table<'a>(head: &[&'a str]) -> Table<'a> {
    Table::of(head.iter().map(|head| TableColumn::names(head)).collect())
}

/// Appends the table after an empty line; nothing if it has no rows.
fn part(out: &mut String, table: &Table<'_>) {
    if table.rows() > 0 {
        let _ = write!(out, "\n{}", table.markdown());
    }
}

fn claim_row(claim: &JudgedClaim) -> [TableCell; 2] {
    let verdicts = claim.judged.iter().map(|judged| {
        let repeats = match judged.repeats {
            0 | 1 => String::new(),
            n => format!(" ({} of {n})", judged.in_repeats),
        };
        format!("{}: **{}**{repeats}: {}", long(judged.clock), judged.name(), judged.explanation())
    });
    let mut verdicts: Vec<String> = verdicts.collect();
    verdicts.extend(claim.cannot.as_ref().map(|why| format!("cannot be judged here: {why}")));
    [format!("{} ({})", claim.says, claim.place).into(), verdicts.join("<br>").into()]
}
