//! A fit as text for a terminal.

use crate::model::{Fit, FitFigures};
use print::{three_digits as short, wrap};
use std::fmt::Write as _;

/// A figure of the comparison: its name, and how to read it.
type Row = (&'static str, fn(&FitFigures) -> f64);

/// Headline, comparison, numbers, and what the capture does not show, wrapped at `width` columns.
pub fn text(fit: &Fit, width: usize) -> String {
    let mut out = wrap(&fit.headline, width.max(40), "");
    if let Some(verdict) = &fit.verdict {
        verdict.facts.iter().for_each(|fact| out += &wrap(fact, width.max(40), "  - "));
    }
    let c = &fit.compared;
    let _ = writeln!(
        out,
        "\n{:<24}{:>10}{:>10}{:>10}",
        "",
        if fit.verdict.is_some() { "measured" } else { "capture" },
        "scenario",
        "spread"
    );
    let rows: [Row; 5] = [
        ("goodput, Mbit/s", |f| f.goodput_mbps),
        ("RTT min, ms", |f| f.rtt_min_ms),
        ("RTT median, ms", |f| f.rtt_p50_ms),
        ("RTT 95 %, ms", |f| f.rtt_p95_ms),
        ("retransmitted, %", |f| 100.0 * f.retransmitted_share),
    ];
    for (name, of) in rows {
        let cells = [of(&c.captured), of(&c.fitted), of(&c.spread)].map(short);
        let _ = writeln!(out, "{name:<24}{:>10}{:>10}{:>10}", cells[0], cells[1], cells[2]);
    }
    let _ = writeln!(out, "\n{:<24}{:>10} {:<8} fits nearly as well", "", "", "");
    for v in &fit.values {
        let [low, high] = v.range.map(short);
        let _ = writeln!(out, "{:<24}{:>10} {:<8} {low} to {high}", v.name, short(v.value), v.unit);
    }
    for p in fit.policers.iter().skip(1) {
        let label = format!("rate of {}", p.flows.join(", "));
        let _ =
            writeln!(out, "{label:<24}{:>10} Mbit/s   bucket {} kB", short(p.rate_mbps), short(p.bucket_kb));
    }
    for c in &fit.cross {
        let [rate, from, to] = [c.rate_mbps, c.from_s, c.to_s].map(short);
        let _ = writeln!(out, "{:<24}{rate:>10} {:<8} from {from} to {to} s", "cross traffic", "Mbit/s");
    }
    if !fit.not_shown.is_empty() {
        out.push_str("\nNot shown by the capture:\n");
        fit.not_shown.iter().for_each(|line| out += &wrap(line, width.max(40), "  - "));
    }
    if let Some(verdict) = fit.verdict.as_ref().filter(|v| !v.next.is_empty()) {
        out.push_str("\nTo find out more:\n");
        verdict.next.iter().for_each(|command| out += &format!("  {command}\n"));
    }
    let s = &fit.simulated;
    let part = match s.seconds < MIN_WHOLE_SHARE * s.of_seconds {
        true => format!(", a part of {} s: both columns are of that part", short(s.of_seconds)),
        false => String::new(),
    };
    let _ = writeln!(out, "\nSimulated: {} runs of {} s{part}.", s.runs, short(s.seconds));
    out
}

/// A run of at least this share of the time counts as all of it.
const MIN_WHOLE_SHARE: f64 = 0.9;
