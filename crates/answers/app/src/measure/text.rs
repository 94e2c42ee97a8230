//! A measurement as the terminal shows it: headline, facts, a table of the tests.

use super::headline::advised;
use super::model::{Measurement, StreamTest};
use print::{three_digits as digits, wrap};

/// Returns the text; no line is wider than `width` (at least 60).
pub fn text(m: &Measurement, width: usize) -> String {
    let width = width.max(60);
    let mut text = wrap(&m.headline, width, "");
    m.facts.iter().for_each(|fact| text += &wrap(fact, width, "  - "));
    m.cannot_tell.iter().for_each(|why| text += &wrap(&format!("cannot tell: {why}"), width, "  - "));
    let cures: Vec<&StreamTest> = m.cures.iter().map(|c| &c.test).collect();
    let rows: Vec<[String; 7]> = m.tests.iter().chain(cures).map(row).collect();
    if !rows.is_empty() {
        text += "\n";
        text += &table(&rows);
    }
    if let Some(cure) = advised(m) {
        text += "\n";
        text += &wrap(&format!("{}: {}", cure.title, cure.how), width, "");
    }
    text
}

const HEAD: [&str; 7] = ["test", "flows", "Mbit/s", "CC", "resent", "RTT loaded", "limited by"];

fn row(t: &StreamTest) -> [String; 7] {
    let share = |share: Option<f64>| share.filter(|s| *s >= 0.05).map(|s| format!("{:.0} %", 100.0 * s));
    let window = share(t.window_limited_share).map(|s| format!("window {s}"));
    let buffer = share(t.buffer_limited_share).map(|s| format!("send buffer {s}"));
    let limits: Vec<String> = window.into_iter().chain(buffer).collect();
    [
        t.name.clone(),
        t.connections.to_string(),
        digits(t.goodput_mbps),
        t.control.clone(),
        format!("{:.2} %", 100.0 * t.retransmitted_share),
        t.loaded.as_ref().map_or("-".into(), |l| format!("{} ms", digits(l.rtt_p50_ms))),
        if limits.is_empty() { "-".into() } else { limits.join(", ") },
    ]
}

fn table(rows: &[[String; 7]]) -> String {
    let width = |i: usize| {
        rows.iter().map(|row| row[i].chars().count()).chain([HEAD[i].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |cells: [&str; 7]| {
        let cell = |(i, text): (usize, &str)| match i {
            1 | 2 | 4 | 5 => format!("{text:>w$}", w = widths[i]),
            _ => format!("{text:<w$}", w = widths[i]),
        };
        let cells: Vec<String> = cells.into_iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_string() + "\n"
    };
    let head = line(HEAD);
    rows.iter().fold(head, |text, row| text + &line(std::array::from_fn(|i| row[i].as_str())))
}
