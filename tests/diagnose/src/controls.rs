//! Scores the guess at the sender's congestion control: right, wrong or no opinion, by confidence. Also draws
//! paths on which the simulator plays each control.

use crate::judge::Judge;
use crate::{Case, Vantage};
use result::Cause;
use result::diagnosis::Guess;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::Stream;

/// Controls that a guess can name.
pub const NAMED: &[&str] = &["bbr", "cubic", "reno", "vegas", "westwood"];

/// Controls that the simulator plays; the named ones are twice as frequent.
const PLAYED: [&str; 13] = [
    "bbr",
    "cubic",
    "reno",
    "vegas",
    "westwood",
    "bbr",
    "cubic",
    "reno",
    "vegas",
    "westwood",
    "highspeed",
    "illinois",
    "compound",
];

/// Greatest number of data packets of a case.
const MAX_PACKETS: f64 = 200_000.0;

/// Draws case `number` of the set `master`: one control over a random path, captured at `vantage`.
pub fn case(master: u64, number: u64, vantage: Vantage) -> (&'static str, Case) {
    let cc = PLAYED[number as usize % PLAYED.len()];
    let mut draw = Stream::new(master, &format!("control {number}"));
    let mut unit = || draw.below(1 << 20) as f64 / f64::from(1 << 20);
    let mut scale = |low: f64, high: f64| low * (high / low).powf(unit());
    let rate = scale(1e6, 1e8);
    let rtt = scale(0.01, 0.2);
    let seconds = scale(20.0, 60.0).min(MAX_PACKETS * 12e3 / rate);
    let packets = (scale(0.3, 4.0) * rate * rtt / 12e3).ceil().max(4.0);
    let (lossy, loss, competitor, offload) =
        (scale(1.0, 2.0), scale(5e-5, 1e-3), scale(1.0, 2.0), scale(1.0, 2.0));
    let us = |s: f64| format!("\"{}us\"", (s * 1e6).round());
    let loss =
        if lossy < 1.2 { format!("{{ kind = \"loss\", probability = {loss:.6} }}, ") } else { String::new() };
    let competitor = match competitor < 1.2 {
        true => "[flows.beside]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\nstart = \"2s\"\n",
        false => "",
    };
    let text = format!(
        r#"name = "{cc}-{number}"
duration = {}
sample = "0s"
[hosts.a]
stack = {{ send_buffer = "64MB" }}
[hosts.m]
[hosts.b]
stack = {{ receive_buffer = "64MB" }}
[links.l1]
between = ["a", "m"]
forward = [{{ kind = "link", rate = "1Gbit/s", queue = {{ kind = "fifo", packets = 20000 }} }}, {{ kind = "delay", delay = {q} }}]
backward = [{{ kind = "delay", delay = {q} }}]
[links.l2]
between = ["m", "b"]
forward = [{loss}{{ kind = "link", rate = "{}bit/s", queue = {{ kind = "fifo", packets = {packets} }} }}, {{ kind = "delay", delay = {q} }}]
backward = [{{ kind = "delay", delay = {q} }}]
[flows.f]
from = "a"
to = "b"
cc = "{cc}"
{competitor}"#,
        us(seconds),
        rate.round(),
        q = us(rtt / 4.0),
    );
    let case = Case {
        number,
        seed: number,
        intended: Cause::Bottleneck,
        vantage,
        offload: offload < 1.4,
        rate,
        rtt,
        text,
        outages: Vec::new(),
    };
    (cc, case)
}

/// Plays a case and diagnoses its first flow.
///
/// # Errors
/// Fails as [`Judge::score`] does, or if the flow is not in the capture.
pub fn row(master: u64, number: u64, vantage: Vantage, judge: &Judge) -> Result<Row, String> {
    let (cc, case) = case(master, number, vantage);
    let (_, diagnosis, _) = judge.score(&case)?;
    let flow = diagnosis.flows.iter().min_by_key(|f| f.connection).ok_or("no flow")?;
    let name = format!(
        "{number} at the {}: {:.1} Mbit/s, {:.0} ms",
        vantage.name(),
        case.rate * 1e-6,
        case.rtt * 1e3
    );
    Ok(Row { name, truth: cc.into(), guess: flow.cc.clone() })
}

/// Wrong guesses of at least this confidence are counted separately.
pub const SURE: f64 = 0.8;

/// The guess without a named control.
const OTHER: &str = "other";

/// Ranges of confidence in the table.
const STEPS: [(f64, f64); 4] = [(0.0, 0.5), (0.5, 0.8), (0.8, 0.9), (0.9, f64::INFINITY)];

/// A flow's control and the guess at it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the trace.
    pub name: String,
    /// The control, by its name in the sender's kernel.
    pub truth: String,
    pub guess: Guess,
}

/// The outcome of a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The guess names the control, or "other" for a control that it cannot name.
    Right,
    /// The guess names a different control.
    Wrong,
    /// The guess names no control.
    NoOpinion,
}

impl Row {
    /// Returns the control that acts: Linux's dctcp without ECN falls back to Reno (`net/ipv4/tcp_dctcp.c`,
    /// `dctcp_init`).
    fn control(&self) -> &str {
        if self.truth == "dctcp" { "reno" } else { &self.truth }
    }

    /// Returns the outcome. "other" without confidence is no opinion; with confidence it excludes all named
    /// controls.
    pub fn outcome(&self) -> Outcome {
        let truth = Some(self.control()).filter(|c| NAMED.contains(c)).unwrap_or(OTHER);
        match self.guess.name.as_str() {
            OTHER if self.guess.confidence <= 0.0 => Outcome::NoOpinion,
            name if name == truth => Outcome::Right,
            _ => Outcome::Wrong,
        }
    }
}

fn counts(rows: &[&Row]) -> [usize; 4] {
    let count = |outcome| rows.iter().filter(|r| r.outcome() == outcome).count();
    let sure = |r: &&&Row| r.outcome() == Outcome::Wrong && r.guess.confidence >= SURE;
    let wrong_and_sure = rows.iter().filter(sure).count();
    [count(Outcome::Right), count(Outcome::Wrong), count(Outcome::NoOpinion), wrong_and_sure]
}

/// Returns tables of the guesses by control, of the outcomes, and of the share of right guesses by
/// confidence.
pub fn tables(rows: &[Row]) -> String {
    let mut controls = BTreeMap::<&str, Vec<&Row>>::new();
    rows.iter().for_each(|r| controls.entry(&r.truth).or_default().push(r));
    let word = |r: &Row| match r.outcome() {
        Outcome::NoOpinion => "no opinion".to_string(),
        _ => r.guess.name.clone(),
    };
    let mut guesses: Vec<String> = rows.iter().map(word).collect();
    guesses.sort();
    guesses.dedup();
    let heads = format!(
        "{} | right | wrong | no opinion | wrong with confidence {SURE} or more",
        guesses.join(" | ")
    );
    let mut out = format!("| control \\ guess | {heads} |\n|---|{}\n", "---:|".repeat(guesses.len() + 4));
    let mut line = |name: &str, rows: &[&Row]| {
        let cells: Vec<String> =
            guesses.iter().map(|s| rows.iter().filter(|r| word(r) == *s).count().to_string()).collect();
        let counts = counts(rows).map(|n| n.to_string());
        let _ = writeln!(out, "| {name} | {} | {} |", cells.join(" | "), counts.join(" | "));
    };
    let has = |name: &str| rows.iter().any(|r| r.truth == name && NAMED.contains(&r.control()));
    controls.iter().filter(|c| has(c.0)).for_each(|(name, rows)| line(name, rows));
    controls.iter().filter(|c| !has(c.0)).for_each(|(name, rows)| line(name, rows));
    let (known, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|r| NAMED.contains(&r.control()));
    line("controls with a name", &known);
    line("other controls", &others);
    line("all", &rows.iter().collect::<Vec<_>>());
    out += "\n| confidence | flows | right |\n|---|---:|---:|\n";
    for (from, to) in STEPS {
        let some: Vec<&Row> = rows
            .iter()
            .filter(|r| r.outcome() != Outcome::NoOpinion && (from..to).contains(&r.guess.confidence))
            .collect();
        let _ = writeln!(out, "| from {from} | {} | {} |", some.len(), counts(&some)[0]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_right_wrong_or_no_opinion() {
        let outcome = |truth: &str, name: &str, confidence| {
            let guess = Guess { name: name.into(), confidence };
            Row { name: String::new(), truth: truth.into(), guess }.outcome()
        };
        assert_eq!(outcome("cubic", "cubic", 0.5), Outcome::Right);
        assert_eq!(outcome("cubic", "other", 0.9), Outcome::Wrong);
        assert_eq!(outcome("cubic", "other", 0.0), Outcome::NoOpinion);
        assert_eq!(outcome("bic", "other", 0.9), Outcome::Right);
        assert_eq!(outcome("bic", "cubic", 0.9), Outcome::Wrong);
        assert_eq!(outcome("dctcp", "reno", 0.9), Outcome::Right);
    }

    /// Every case parses, so each control that is played has its name in the simulator.
    #[test]
    fn every_drawn_case_is_a_valid_scenario() {
        for number in 0..PLAYED.len() as u64 {
            let (cc, case) = case(1, number, Vantage::Middle);
            assert!(case.text.contains(&format!("cc = \"{cc}\"")));
            assert!(crate::play::variant(&case).is_ok(), "{}", case.text);
        }
    }
}
