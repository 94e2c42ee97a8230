//! `--expect` of a measurement: `up.goodput >= 18Mbit/s`, `idle.rtt.p95 <= 40ms`, `up.mtu >= 1400`. The
//! grammar is that of `longfat run`, with the tests in the place of flows.

use super::model::{Direction, EchoSummary, Measurement};
use crate::CommandError;
use crate::expect::comparison::{Comparison, Refusal, Relation, bound, read_each, refusal};
use report::figures::{ascending, quantile};
use result::{Clock, Expectation, Measure, Quantity, Statistic, Subject};
use scenario::RefusalCause;

/// The subject of the echoes on the idle path.
const IDLE: &str = "idle";
/// The quantity of a direction that runs do not have: its path MTU, bytes.
const MTU: &str = "mtu";

/// A condition on a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureExpectation {
    text: String,
    measured: Measured,
    relation: Relation,
    /// The bound, in the unit of the quantity.
    bound: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Measured {
    Quantity(Measure),
    Mtu(Direction),
}

/// Reads the arguments of `--expect`.
///
/// # Errors
/// Fails when a text is not a condition, or measures something else than a measurement does. The error gives
/// the place and what would be right.
pub fn read(texts: &[String]) -> Result<Vec<MeasureExpectation>, CommandError> {
    read_each(texts, read_one)
}

fn read_one(text: &str) -> Result<MeasureExpectation, Refusal> {
    let Comparison { left, relation, right } = Comparison::find(text)?;
    let name = &text[left.clone()];
    let expectation =
        |measured, bound| MeasureExpectation { text: text.trim().into(), measured, relation, bound };
    if let Some(subject) = name.strip_suffix(MTU).and_then(|rest| rest.strip_suffix('.')) {
        let known = || Direction::BOTH.map(|d| d.name().to_string()).into();
        let direction = Direction::BOTH.into_iter().find(|d| d.name() == subject).ok_or_else(|| {
            let at = left.start..left.start + subject.len();
            (at, RefusalCause::UnknownName { what: "direction", name: subject.into(), known: known() })
        })?;
        let bytes = text[right.clone()].parse::<f64>().ok().filter(|bytes| bytes.is_finite());
        let message = || format!("`{}` is not a number of bytes", &text[right.clone()]);
        let bytes = bytes.ok_or_else(|| (right.clone(), RefusalCause::BadValue { message: message() }))?;
        return Ok(expectation(Measured::Mtu(direction), bytes));
    }
    let mut measure = Measure::parse(name, |_| true).map_err(|error| refusal(error, name, left.clone()))?;
    let bound = bound(text, right, &mut measure)?;
    has_quantity(&measure).map_err(|message| (left.clone(), RefusalCause::Conflict { message }))?;
    Ok(expectation(Measured::Quantity(measure), bound))
}

/// Fails, with what would be right, when no measurement has the quantity.
fn has_quantity(measure: &Measure) -> Result<(), String> {
    let tests = Direction::BOTH.into_iter().flat_map(|d| [d.name(), d.several()]);
    let known: Vec<&str> = std::iter::once(IDLE).chain(tests).collect();
    let Subject::Flow(subject) = &measure.subject else {
        return Err(format!("a test is missing: one of {}, as in `up.goodput`", known.join(", ")));
    };
    if !known.contains(&subject.as_str()) {
        return Err(format!("`{subject}` is not a test: one of {}", known.join(", ")));
    }
    let of_echoes = matches!(measure.quantity, Quantity::Rtt | Quantity::Lost);
    let of_streams = matches!(
        measure.quantity,
        Quantity::Goodput | Quantity::LimitShare | Quantity::ResentShare | Quantity::Timeouts
    );
    if !(of_echoes || of_streams && subject != IDLE) {
        return Err(format!(
            "a measurement has no `{}` of `{subject}`: rtt and lost of echoes, and of tests goodput, resent_share, \
             timeouts, and mtu of up and down",
            measure.quantity.name()
        ));
    }
    match (measure.quantity, measure.statistic) {
        (_, None) | (Quantity::Rtt, Some(Statistic::Min | Statistic::P50 | Statistic::P95)) => Ok(()),
        (_, Some(other)) => Err(format!("`{}` is not measured: only rtt has min, p50 and p95", other.name())),
    }
}

impl Measurement {
    /// Returns a quantity of a test, or of the echoes on the idle path (subject `idle`), in its own unit;
    /// `None` where it was not measured.
    pub fn value(&self, measure: &Measure) -> Option<f64> {
        let Subject::Flow(subject) = &measure.subject else { return None };
        let test = self.test(subject);
        let echoes: Option<&EchoSummary> =
            if subject == IDLE { self.idle.as_ref() } else { test.and_then(|t| t.loaded.as_ref()) };
        match measure.quantity {
            Quantity::Goodput => Some(test?.goodput_mbps),
            Quantity::LimitShare => {
                let capacity = self.capacity_mbps(test?.direction).filter(|c| *c > 0.0)?;
                Some(100.0 * test?.goodput_mbps / capacity)
            }
            Quantity::ResentShare => Some(100.0 * test?.retransmitted_share),
            Quantity::Timeouts => Some(test?.timeouts as f64),
            Quantity::Lost => Some(100.0 * echoes?.lost_share),
            Quantity::Rtt => match measure.statistic() {
                Some(Statistic::Min) => Some(echoes?.rtt_min_ms),
                Some(Statistic::P95) => Some(echoes?.rtt_p95_ms),
                Some(Statistic::P50) => Some(echoes?.rtt_p50_ms),
                _ => None,
            },
            _ => None,
        }
    }
}

impl MeasureExpectation {
    fn value(&self, m: &Measurement) -> Option<f64> {
        match &self.measured {
            Measured::Quantity(measure) => m.value(measure),
            Measured::Mtu(direction) => Some(f64::from(m.direction(*direction).path.as_ref()?.mtu?)),
        }
    }
}

/// Checks conditions: on the median where there are several measurements. One whose quantity was not measured
/// is not met.
pub fn hold(all: &[MeasureExpectation], measurements: &[&Measurement]) -> Vec<Expectation> {
    let one = |e: &MeasureExpectation| {
        let values = ascending(measurements.iter().filter_map(|m| e.value(m)));
        let measured = quantile(&values, 0.5);
        let unit = match &e.measured {
            Measured::Quantity(measure) => measure.unit().symbol(),
            Measured::Mtu(_) => "bytes",
        };
        Expectation {
            expected: e.text.clone(),
            variant: String::new(),
            clock: Clock::Kernel,
            measured,
            unit: unit.into(),
            met: measured.is_some_and(|is| e.relation.holds(is, e.bound)),
        }
    };
    all.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::StreamTest;

    #[test]
    fn conditions_are_checked_against_what_was_measured() {
        let test = |name: &str, mbps| StreamTest {
            name: name.into(),
            goodput_mbps: mbps,
            mss: 1448,
            ..StreamTest::default()
        };
        let m = Measurement {
            idle: Some(EchoSummary {
                rtt_p50_ms: 20.0,
                rtt_p95_ms: 25.0,
                lost_share: 0.01,
                ..EchoSummary::default()
            }),
            tests: vec![test("up", 15.0), test("up-4", 20.0)],
            ..Measurement::default()
        };
        let holds = |text: &str| hold(&[read_one(text).expect(text)], &[&m])[0].met;
        assert!(holds("up.goodput >= 15Mbit/s") && !holds("up.goodput >= 16Mbit/s"));
        assert!(holds("up.goodput >= 75%") && !holds("up.goodput >= 76%"), "of 20 Mbit/s");
        assert!(holds("up-4.goodput > 19Mbit/s") && holds("up.timeouts == 0"));
        assert!(holds("idle.rtt <= 20ms") && !holds("idle.rtt<=19ms") && holds("idle.rtt.p95 < 26ms"));
        assert!(holds("idle.lost <= 1%") && !holds("idle.lost <= 0.5%"));
        assert!(!holds("down.goodput >= 1%") && !holds("up.mtu >= 1400"), "not measured");
        let wrong =
            ["", "up.goodput", "up.goodput >= fast", "x.goodput >= 1%", "goodput > 1Mbit/s", "x.mtu > 1"];
        let wrong = wrong.into_iter().chain([
            "idle.goodput >= 1%",
            "up.rtt <= 5%",
            "up.rtt.p99 <= 5ms",
            "up.completion <= 5s",
            "idle.lost <= 3",
            "up.goodput >= NaN%",
        ]);
        wrong.for_each(|text| assert!(read_one(text).is_err(), "{text}"));
    }

    #[test]
    fn of_several_measurements_the_median_is_checked() {
        let m = |mbps| Measurement {
            tests: vec![StreamTest { name: "up".into(), goodput_mbps: mbps, ..StreamTest::default() }],
            ..Measurement::default()
        };
        let all = [m(1.0), m(9.0), m(10.0)];
        let expected = [read_one("up.goodput >= 9Mbit/s").expect("a condition")];
        let held = hold(&expected, &all.each_ref());
        assert_eq!((held[0].met, held[0].measured), (true, Some(9.0)));
    }
}
