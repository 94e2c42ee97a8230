//! A measurement as the terminal shows it: headline, facts, a table of the tests.

use super::headline::advised;
use super::model::{Cure, Measurement, StreamTest};
use print::{three_digits as digits, wrap};
use report::{Style, Table};

/// Returns the text; no line is wider than `width` (at least 60).
pub fn text(m: &Measurement, width: usize) -> String {
    let width = width.max(60);
    let mut text = wrap(&m.headline, width, "");
    m.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
    m.cannot_tell.iter().for_each(|why| text += &wrap(&format!("cannot tell: {why}"), width, "  - "));
    let tests = table(m);
    if tests.rows() > 0 {
        text += "\n";
        text += &tests.text(Style::plain(width));
    }
    if let Some(cure) = advised(m) {
        text += "\n";
        text += &commands(cure);
    }
    text
}

/// A row for each test and cure.
pub fn table(m: &Measurement) -> Table<'static> {
    let cures = m.cures.iter().map(|c| &c.test);
    let rows: Vec<Vec<String>> = m.tests.iter().chain(cures).map(row).collect();
    Table::filled(&HEADS, &rows)
}

/// The commands that apply a cure, and their undo.
pub fn commands(cure: &Cure) -> String {
    format!("{}:\n{}", cure.test.name, report::commands(&cure.change.commands))
}

const HEADS: [(&str, Option<&str>); 7] = [
    ("test", None),
    ("flows", Some("")),
    ("goodput", Some("Mbit/s")),
    ("CC", None),
    ("resent", Some("%")),
    ("loaded RTT", Some("ms")),
    ("limited by", None),
];

fn row(t: &StreamTest) -> Vec<String> {
    let share = |share: Option<f64>| share.filter(|s| *s >= 0.05).map(|s| format!("{:.0} %", 100.0 * s));
    let window = share(t.window_limited_share).map(|s| format!("window {s}"));
    let buffer = share(t.buffer_limited_share).map(|s| format!("send buffer {s}"));
    let limits: Vec<String> = window.into_iter().chain(buffer).collect();
    vec![
        t.name.clone(),
        t.connections.to_string(),
        digits(t.goodput_mbps),
        t.control.clone(),
        format!("{:.2}", 100.0 * t.retransmitted_share),
        t.loaded.as_ref().map_or("-".into(), |l| digits(l.rtt_p50_ms)),
        if limits.is_empty() { "-".into() } else { limits.join(", ") },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_reports_cannot_write_control_characters_into_the_table() {
        let test = StreamTest {
            name: "down".into(),
            connections: 1,
            goodput_mbps: 514.0,
            control: "re\u{1b}no".into(),
            ..StreamTest::default()
        };
        let shown = text(&Measurement { tests: vec![test], ..Measurement::default() }, 80);
        assert!(shown.contains("down") && shown.contains("514") && !shown.contains('\u{1b}'), "{shown:?}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
