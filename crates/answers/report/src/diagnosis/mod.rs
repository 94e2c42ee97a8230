//! What `longfat diagnose` says of a capture, in words and on a page.

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
mod table;
mod told;
mod udp;
mod values;
pub(crate) mod words;

pub use cause::cause_label;
pub use page::{page, page_data};
pub use rows::{MOST_ROWS, Rows};

use crate::strings::{Lang, fill};
use crate::style::{Style, Tone};
use print::wrap;
use result::Diagnosis;

/// What the terminal shows: what held which flows and what to do, with the evidence; a table of the first `rows` flows;
/// what should be known of the capture.
///
/// The text ends with a newline and no line is wider than `style.width` (60 at least).
pub fn text(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    let width = style.columns();
    let mut text = String::new();
    let (told, rest) = told::told(d, lang);
    for group in &told {
        text += &wrap(&group.text, width, "");
        group.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
        text.push('\n');
    }
    for line in rest {
        text += &wrap(&line, width, "");
        text.push('\n');
    }
    let (flows, _) = control::apart(d);
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

/// What is said of UDP flows: sentences, and a table of the first `rows`.
fn udp_flows(d: &Diagnosis, rows: usize, style: Style, lang: Lang) -> String {
    if d.udp_flows.is_empty() {
        return String::new();
    }
    let mut text = String::from(if d.flows.is_empty() { "" } else { "\n" });
    for sentence in udp::told(d, lang) {
        text += &(wrap(&sentence, style.columns(), "") + "\n");
    }
    text += &udp::table(d, rows, style, lang);
    let more = d.udp_flows.len().saturating_sub(rows) as u64 + d.capture.forgotten_udp_flows;
    if more > 0 {
        let line = fill("diag.note.more-udp", lang, &[("n", &more.to_string())]);
        text += &(style.paint(Tone::Dim, &line) + "\n");
    }
    text
}
