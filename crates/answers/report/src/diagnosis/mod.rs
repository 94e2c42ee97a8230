//! The results of `longfat diagnose`: as text for the terminal and as data for the page.

mod between;
mod cause;
mod control;
mod encode;
mod facts;
mod figures;
mod group;
mod notes;
pub(crate) mod page;
mod rows;
mod summary;
mod table;
mod udp;
mod values;
pub(crate) mod words;

pub use cause::cause_label;
pub use page::{page, page_data};
pub use rows::{MAX_ROWS, Rows};

use crate::strings::{Lang, fill};
use crate::style::{Style, Tone};
use print::wrap;
use result::Diagnosis;

/// The diagnosis as the terminal prints it: what limited which flows and what to do, with the evidence; a
/// table of the first `rows` flows; notes on the capture.
///
/// The text ends with a newline. No line is wider than `style.width` (at least 60).
pub fn text(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    let width = style.columns();
    let mut text = String::new();
    let (groups, rest) = summary::summary(d, lang);
    for group in &groups {
        text += &wrap(&group.headline, width, "");
        group.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
        text.push('\n');
    }
    for line in rest {
        text += &wrap(&line, width, "");
        text.push('\n');
    }
    let (flows, _) = control::split(d);
    if !flows.is_empty() {
        text += &table::table(d, &flows, rows, style, lang);
        let more = flows.len().saturating_sub(rows);
        if more > 0 {
            let line = fill("diag.note.more", lang, &[("n", &more.to_string())]);
            text += &(style.paint(Tone::Dim, &line) + "\n");
        }
    }
    text += &udp_flows(d, rows, style, lang);
    let notes = notes::notes(d, lang);
    if !notes.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        notes.iter().for_each(|note| text += &wrap(note, width, ""));
    }
    text
}

/// The headline of each group of flows: what limited them and what to do.
pub fn headlines(d: &Diagnosis, lang: Lang) -> Vec<String> {
    summary::summary(d, lang).0.into_iter().map(|group| group.headline).collect()
}

/// The UDP flows: sentences, and a table of the first `rows`.
fn udp_flows(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    if d.udp_flows.is_empty() {
        return String::new();
    }
    let mut text = String::from(if d.flows.is_empty() { "" } else { "\n" });
    for sentence in udp::sentences(d, lang) {
        text += &(wrap(&sentence, style.columns(), "") + "\n");
    }
    text += &udp::table(d, rows, style, lang);
    let more = d.udp_flows.len().saturating_sub(rows) as u64 + d.capture.omitted_udp_flows;
    if more > 0 {
        let line = fill("diag.note.more-udp", lang, &[("n", &more.to_string())]);
        text += &(style.paint(Tone::Dim, &line) + "\n");
    }
    text
}
