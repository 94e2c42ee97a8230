//! What was reproduced as Markdown: docs/reproduction.md is this of all studies.

use crate::reproduce::model::{JudgedClaim, ReproducedStudy, ReproducedTable, Reproduction};
use crate::reproduce::text::{counted, long, ours, published};
use std::fmt::Write;

/// The page: counts, then each study with its tables and claims.
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut out = String::from("# Published numbers beside ours\n\n");
    let clocks: Vec<&str> = reproduction.clocks.iter().map(|c| long(*c)).collect();
    let _ = writeln!(
        out,
        "Written by `longfat reproduce --on {} --markdown FILE` ([reproduce.md](reproduce.md)); what it means is told in \
         [studies.md](studies.md).\nA cell is what is published, then {}; `–`: none, `*`: an unknown was fitted on it, `?`: the \
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
    if !study.fitted.is_empty() {
        let _ = writeln!(out, "\n| fitted | to | on |\n|---|---|---|");
        for fit in &study.fitted {
            let _ = writeln!(out, "| {} | {} | `{}` |", cell(&fit.unknown), cell(&fit.value), fit.on);
        }
    }
    study.tables.iter().for_each(|table| table_part(out, table));
    if !study.claims.is_empty() {
        let _ = writeln!(out, "\n| claim | verdict |\n|---|---|");
        study.claims.iter().for_each(|claim| claim_part(out, claim));
    }
    for part in &study.unrun {
        let _ = writeln!(out, "\nNot run: `{}`: {}.", part.what, part.why.trim_end_matches('.'));
    }
}

fn table_part(out: &mut String, table: &ReproducedTable) {
    let _ = writeln!(out, "\n### {}\n\n`{}`; {}.", table.title, table.name, table.place);
    if let Some(note) = &table.note {
        let _ = writeln!(out, "{note}");
    }
    let head = table.columns.iter().map(|c| match c.unit.as_str() {
        "" => c.title.clone(),
        unit => format!("{}, {unit}", c.title),
    });
    let head: Vec<String> = head.collect();
    let _ = writeln!(out, "\n| | {} |\n|---|{}", head.join(" | "), "---|".repeat(head.len()));
    for row in &table.rows {
        let cells = row.cells.iter().map(|c| {
            let mine: Vec<String> = c.ours.iter().map(|value| ours(c, value.as_ref())).collect();
            let nothing = c.published.is_none() && c.ours.iter().all(Option::is_none);
            if nothing { String::new() } else { format!("{} / {}", published(c), mine.join(" / ")) }
        });
        let _ = writeln!(out, "| {} | {} |", cell(&row.title), cells.collect::<Vec<_>>().join(" | "));
    }
}

fn claim_part(out: &mut String, claim: &JudgedClaim) {
    let verdicts = claim.judged.iter().map(|judged| {
        let repeats = match judged.repeats {
            0 | 1 => String::new(),
            n => format!(" ({} of {n})", judged.in_repeats),
        };
        format!("{}: **{}**{repeats}: {}", long(judged.clock), judged.name(), judged.told())
    });
    let mut verdicts: Vec<String> = verdicts.collect();
    verdicts.extend(claim.cannot.as_ref().map(|why| format!("cannot be judged here: {why}")));
    let says = format!("{} ({})", claim.says, claim.place);
    let _ = writeln!(out, "| {} | {} |", cell(&says), cell(&verdicts.join("<br>")));
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
