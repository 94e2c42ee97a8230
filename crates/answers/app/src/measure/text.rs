//! A measurement as the terminal shows it: headline, facts, a table of the tests.

use super::headline::advised;
use super::model::{Cure, Measurement, StreamTest, cure_title, test_title};
use print::{three_digits as digits, wrap};
use report::{Lang, Style, Table, word};

/// Returns the text; no line is wider than `width` (at least 60).
pub fn text(m: &Measurement, width: usize) -> String {
    let width = width.max(60);
    let mut text = wrap(&m.headline, width, "");
    m.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
    m.cannot_tell
        .iter()
        .for_each(|why| text += &wrap(&say!(m.lang, "measure.cannot-tell", why = why), width, "  - "));
    let tests = table(m);
    if tests.rows() > 0 {
        text += "\n";
        text += &tests.text(Style::plain(width));
    }
    if let Some(cure) = advised(m) {
        text += "\n";
        text += &commands(cure, m.lang);
    }
    text
}

/// A row for each test and cure.
pub fn table(m: &Measurement) -> Table<'static> {
    let lang = m.lang;
    let tests = m.tests.iter().map(|t| row(test_title(t, lang), t, lang));
    let cures = m.cures.iter().map(|c| row(cure_title(&c.change, lang), &c.test, lang));
    let rows: Vec<Vec<String>> = tests.chain(cures).collect();
    let heads = [
        ("measure.head.test", None),
        ("measure.head.flows", Some("")),
        ("measure.head.goodput", Some("Mbit/s")),
        ("measure.head.control", None),
        ("measure.head.resent", Some("%")),
        ("measure.head.loaded", Some("ms")),
        ("measure.head.limited", None),
    ];
    Table::worded(lang, &heads, &rows)
}

/// The commands that apply a cure, and their undo.
pub fn commands(cure: &Cure, lang: Lang) -> String {
    let name = cure_title(&cure.change, lang);
    let commands = report::commands(&cure.change.commands);
    say!(lang, "measure.colon", what = name, text = "").trim_end().to_string() + "\n" + &commands
}

fn row(name: String, t: &StreamTest, lang: Lang) -> Vec<String> {
    let share = |share: Option<f64>| share.filter(|s| *s >= 0.05).map(|s| format!("{:.0}", 100.0 * s));
    let window = share(t.window_limited_share).map(|s| say!(lang, "measure.limited.window", share = s));
    let buffer = share(t.buffer_limited_share).map(|s| say!(lang, "measure.limited.buffer", share = s));
    let limits: Vec<String> = window.into_iter().chain(buffer).collect();
    vec![
        name,
        t.connections.to_string(),
        digits(t.goodput_mbps),
        t.control.clone(),
        format!("{:.2}", 100.0 * t.retransmitted_share),
        t.loaded.as_ref().map_or("-".into(), |l| digits(l.rtt_p50_ms)),
        if limits.is_empty() { "-".into() } else { limits.join(word(lang, "measure.comma")) },
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
