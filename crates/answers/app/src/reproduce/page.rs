//! Shows a reproduction as an HTML page: tables, bars, lines over time, claims.

use crate::reproduce::model::{
    ClaimVerdict, JudgedClaim, ReproducedColumn, ReproducedStudy, ReproducedTable, Reproduction,
};
use crate::reproduce::plot::{bars_of, curve, lines};
use crate::reproduce::text::{counted, long, ours, published};
use report::{PlainPage, Table, TableCell, TableColumn, Tone};
use result::Clock;

/// Returns the page.
pub fn page(reproduction: &Reproduction) -> String {
    let counts: Vec<String> = reproduction.counts.iter().map(counted).collect();
    let mut page = PlainPage::new("Published numbers and ours", &counts.join(" "));
    page.note(
        "*: an unknown was fitted on this number; ?: the kernel's measurement is not to be trusted; ±: the 95 % interval of the mean",
    );
    reproduction.studies.iter().for_each(|study| study_part(&mut page, study, &reproduction.clocks));
    page.html()
}

fn study_part(page: &mut PlainPage, study: &ReproducedStudy, clocks: &[Clock]) {
    page.heading(&study.title);
    page.note(&format!("{}: {}", study.name, study.source));
    page.text(&study.about);
    for fit in &study.fitted {
        page.text(&format!("fitted on {}: {}, {}", fit.on, fit.unknown, fit.value));
    }
    let names = TableColumn::names;
    let mut claims = Table::of(vec![names("claim"), names("on"), names("verdict"), names("because")]);
    study.claims.iter().for_each(|claim| claim_rows(&mut claims, claim));
    page.table(&claims);
    for judged in study.claims.iter().flat_map(|c| &c.judged) {
        if let Some(trace) = &judged.trace {
            page.drawing(|look| lines(&format!("{} {}", trace.row, trace.flow), &[trace], look));
        }
    }
    study.tables.iter().for_each(|table| table_part(page, table, clocks));
    for part in &study.unrun {
        page.text(&format!("Not run: {}: {}", part.what, part.why));
    }
}

/// Appends a row for each clock; the claim itself stands in the first.
fn claim_rows(table: &mut Table<'_>, claim: &JudgedClaim) {
    let mut says = format!("{} ({})", claim.says, claim.place);
    if let Some(why) = &claim.cannot {
        let verdict = TableCell::toned("cannot be judged here", Tone::Dim);
        table.row([std::mem::take(&mut says).into(), "".into(), verdict, why.as_str().into()]);
    }
    for judged in &claim.judged {
        let tone = match judged.verdict {
            Some(ClaimVerdict::Holds) => Tone::Good,
            Some(ClaimVerdict::HoldsInDirection) => Tone::Fair,
            Some(ClaimVerdict::DoesNotHold) => Tone::Bad,
            None => Tone::Dim,
        };
        let verdict = TableCell::toned(judged.name(), tone);
        table.row([
            std::mem::take(&mut says).into(),
            long(judged.clock).into(),
            verdict,
            judged.explanation().into(),
        ]);
    }
}

fn table_part(page: &mut PlainPage, table: &ReproducedTable, clocks: &[Clock]) {
    page.subheading(&table.title);
    page.note(&format!("{}; {}", table.name, table.place));
    if let Some(note) = &table.note {
        page.text(note);
    }
    let heads: Vec<String> = table.columns.iter().map(ReproducedColumn::with_unit).collect();
    let mut columns = vec![TableColumn::names("")];
    for head in &heads {
        columns.push(TableColumn::numbers(head, "published"));
        columns.extend(clocks.iter().map(|clock| TableColumn::numbers("", long(*clock))));
    }
    let mut shown = Table::of(columns);
    for row in &table.rows {
        let cells = row.cells.iter().flat_map(|cell| {
            let ours = cell.ours.iter().map(|value| ours(cell, value.as_ref()).into());
            [TableCell::toned(published(cell), Tone::Dim)].into_iter().chain(ours)
        });
        shown.row([row.title.as_str().into()].into_iter().chain(cells));
    }
    page.table(&shown);
    for column in 0..table.columns.len() {
        page.drawing(|look| bars_of(table, column, clocks, look));
    }
    for plot in &table.curves {
        page.drawing(|look| curve(table, plot, clocks, look));
    }
    for plot in &table.plots {
        page.drawing(|look| lines(&plot.title, &plot.series.iter().collect::<Vec<_>>(), look));
    }
}
