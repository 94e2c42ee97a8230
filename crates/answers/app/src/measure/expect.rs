//! `--expect` of a measurement: `up.goodput >= 18Mbit/s`, `down.goodput >= 90%`, `idle.rtt <= 40ms`. (That of
//! `longfat run` names the flows of a scenario.)

use super::model::Measurement;
use crate::CommandError;
use units::{Rate, Span};

/// A condition on a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureExpectation {
    text: String,
    subject: Subject,
    quantity: Quantity,
    at_least: bool,
    /// The bound: Mbit/s or ms; a share of the path's rate or of echoes, 0 to 1.
    bound: f64,
    is_share: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Idle,
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Goodput,
    Rtt,
    Lost,
    Mtu,
}

/// Reads a condition.
///
/// # Errors
/// Fails with what would be right.
pub fn parse(text: &str) -> Result<MeasureExpectation, CommandError> {
    let wrong = |why: &str| CommandError::Usage(format!("--expect `{text}`: {why}"));
    let form = "expected for example `up.goodput >= 18Mbit/s`, `down.goodput >= 90%`, `idle.rtt <= 40ms`, \
                `idle.lost <= 1%`, `up.mtu >= 1400`";
    let (name, at_least, bound) = match (text.split_once(">="), text.split_once("<=")) {
        (Some((name, bound)), None) => (name, true, bound),
        (None, Some((name, bound))) => (name, false, bound),
        _ => return Err(wrong(form)),
    };
    let (subject, quantity) = name.trim().split_once('.').ok_or_else(|| wrong(form))?;
    let subject = match subject {
        "idle" => Subject::Idle,
        "up" => Subject::Up,
        "down" => Subject::Down,
        _ => return Err(wrong("the subjects are idle, up and down")),
    };
    let quantity = match (quantity, subject) {
        ("goodput", Subject::Up | Subject::Down) => Quantity::Goodput,
        ("mtu", Subject::Up | Subject::Down) => Quantity::Mtu,
        ("rtt", _) => Quantity::Rtt,
        ("lost", _) => Quantity::Lost,
        _ => return Err(wrong("the quantities are goodput and mtu (of up and down), rtt and lost")),
    };
    let bound = bound.trim();
    let share = bound.strip_suffix('%').map(|n| n.trim().parse::<f64>().map(|n| n / 100.0));
    let number = |n: Result<f64, String>| n.map_err(|e| wrong(&e));
    let value = match (quantity, &share) {
        (Quantity::Goodput | Quantity::Lost, Some(share)) => {
            number(share.clone().map_err(|e| e.to_string()))?
        }
        (Quantity::Goodput, None) => {
            number(bound.parse::<Rate>().map(|r| r.as_mbps()).map_err(|e| e.to_string()))?
        }
        (Quantity::Rtt, None) => {
            number(bound.parse::<Span>().map(|s| s.as_millis_f64()).map_err(|e| e.to_string()))?
        }
        (Quantity::Mtu, None) => number(bound.parse::<f64>().map_err(|e| e.to_string()))?,
        (Quantity::Lost, None) => return Err(wrong("`lost` needs a share, e.g. 1%")),
        (Quantity::Rtt | Quantity::Mtu, Some(_)) => return Err(wrong("only goodput and lost have a share")),
    };
    if !value.is_finite() {
        return Err(wrong("the bound is not a number"));
    }
    let text = text.to_string();
    Ok(MeasureExpectation { text, subject, quantity, at_least, bound: value, is_share: share.is_some() })
}

/// Checks conditions. Returns a line for each, and whether all are met; one whose quantity was not measured
/// is not.
pub fn check(all: &[MeasureExpectation], m: &Measurement) -> (String, bool) {
    let (mut lines, mut met) = (String::new(), true);
    for e in all {
        let measured = e.measured(m);
        let holds = measured.is_some_and(|is| if e.at_least { is >= e.bound } else { is <= e.bound });
        met &= holds;
        let shown = measured.map_or("not measured".to_string(), |is| match (e.is_share, e.quantity) {
            (true, _) => format!("{:.1} %", 100.0 * is),
            (_, Quantity::Goodput) => format!("{is:.2} Mbit/s"),
            (_, Quantity::Rtt) => format!("{is:.2} ms"),
            _ => format!("{is:.0}"),
        });
        lines += &format!("{}  {}: {shown}\n", if holds { "pass" } else { "FAIL" }, e.text);
    }
    (lines, met)
}

impl MeasureExpectation {
    fn measured(&self, m: &Measurement) -> Option<f64> {
        let up = self.subject == Subject::Up;
        let test = || m.test(if up { "up" } else { "down" });
        let echoes = match self.subject {
            Subject::Idle => m.idle.as_ref(),
            Subject::Up | Subject::Down => test()?.loaded.as_ref(),
        };
        match self.quantity {
            Quantity::Goodput if self.is_share => {
                let capacity = m.capacity_mbps(up).filter(|c| *c > 0.0)?;
                Some(test()?.goodput_mbps / capacity)
            }
            Quantity::Goodput => Some(test()?.goodput_mbps),
            Quantity::Rtt => Some(echoes?.rtt_p50_ms),
            Quantity::Lost => Some(echoes?.lost_share),
            Quantity::Mtu => Some(f64::from((if up { &m.path_up } else { &m.path_down }).as_ref()?.mtu?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::{EchoSummary, StreamTest};

    #[test]
    fn conditions_are_checked_against_what_was_measured() {
        let test = |name: &str, mbps| StreamTest {
            name: name.into(),
            goodput_mbps: mbps,
            mss: 1448,
            ..StreamTest::default()
        };
        let m = Measurement {
            idle: Some(EchoSummary { rtt_p50_ms: 20.0, lost_share: 0.01, ..EchoSummary::default() }),
            tests: vec![test("up", 15.0), test("up-4", 20.0)],
            ..Measurement::default()
        };
        let holds = |text: &str| check(&[parse(text).expect(text)], &m).1;
        assert!(holds("up.goodput >= 15Mbit/s") && !holds("up.goodput >= 16Mbit/s"));
        assert!(holds("up.goodput >= 75%") && !holds("up.goodput >= 76%"), "of 20 Mbit/s");
        assert!(holds("idle.rtt <= 20ms") && !holds("idle.rtt<=19ms"));
        assert!(holds("idle.lost <= 1%") && !holds("idle.lost <= 0.5%"));
        assert!(!holds("down.goodput >= 1%") && !holds("up.mtu >= 1400"), "not measured");
        let wrong = ["", "up.goodput", "up.goodput > 1Mbit/s", "up.goodput >= fast", "x.goodput >= 1%"];
        let wrong = wrong.into_iter().chain([
            "idle.goodput >= 1%",
            "up.rtt <= 5%",
            "idle.lost <= 3",
            "up.goodput >= NaN%",
        ]);
        wrong.for_each(|text| assert!(parse(text).is_err(), "{text}"));
    }
}
