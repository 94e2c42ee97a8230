//! Parses conditions such as `policer/bulk.rtt.p95 < 50ms` and checks their names against the scenario.

use super::{Expected, Relation};
use crate::CommandError;
use result::measure::{MeasureError, is_connection_of};
use result::{Measure, MeasureUnit, Quantity, Statistic, Subject};
use scenario::{DocumentError, Experiment, RefusalCause, Variant};
use std::ops::Range;
use transport::App;
use units::{Rate, Span};

/// Parses a share of packets, such as `0.1%` or `0.001`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
    let value = number.trim().parse::<f64>().map(|n| n / scale);
    let value = value.map_err(|_| format!("`{text}` is not a share: write 0.1% or 0.001"))?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("a share must be from 0% to 100%".into()) }
}

/// Parses the arguments of `--expect`.
///
/// # Errors
/// Fails when a text is not a condition or names what the scenario does not have. The error gives the place
/// and what would be right.
pub fn read(texts: &[String], experiment: &Experiment) -> Result<Vec<Expected>, CommandError> {
    let one = |(text, n): (&String, usize)| {
        let refused = |(range, cause)| {
            let error = DocumentError::in_argument(&format!("--expect {n}"), text, range, cause);
            CommandError::Scenario(Box::new(error))
        };
        ExpectationReader { text, experiment }.read().map_err(refused)
    };
    texts.iter().zip(1..).map(one).collect()
}

/// The place of an error in the text, and its cause.
type Refusal = (Range<usize>, RefusalCause);

struct ExpectationReader<'a> {
    text: &'a str,
    experiment: &'a Experiment,
}

impl ExpectationReader<'_> {
    fn read(&self) -> Result<Expected, Refusal> {
        let places = Relation::ALL.into_iter().filter_map(|(sign, r)| Some((self.text.find(sign)?, sign, r)));
        // The first sign in the text; of two signs at one place the longer, which comes first in the list.
        let Some((at, sign, relation)) = places.min_by_key(|(at, ..)| *at) else {
            let message = "a comparison is missing: write for example \"upload.goodput > 18Mbit/s\"".into();
            return Err((0..self.text.len(), RefusalCause::BadValue { message }));
        };
        let (left, right) = (self.trimmed(0..at), self.trimmed(at + sign.len()..self.text.len()));
        let (variants, subject_at) = self.variants(left)?;
        let mut measure = self.measure(subject_at, &variants)?;
        let bound = self.bound(right, &mut measure)?;
        let variants = variants.into_iter().map(|v| v.name.clone()).collect();
        let text = self.text.trim().to_string();
        Ok(Expected { text, variants, measure, relation, bound })
    }

    /// The same range without the blanks around it.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let part = &self.text[range.clone()];
        let begin = range.start + part.len() - part.trim_start().len();
        begin..begin + part.trim().len()
    }

    /// Returns the variants named before `/`, and the range after it. A name means the variant of that name,
    /// or else all variants whose names begin with it. Without `/` all variants are meant.
    fn variants(&self, range: Range<usize>) -> Result<(Vec<&Variant>, Range<usize>), Refusal> {
        let all = &self.experiment.variants;
        let Some(slash) = self.text[range.clone()].find('/') else {
            return Ok((all.iter().collect(), range));
        };
        let named = self.trimmed(range.start..range.start + slash);
        let name = &self.text[named.clone()];
        let exact: Vec<&Variant> = all.iter().filter(|v| v.name == name).collect();
        let begin = || all.iter().filter(|v| !name.is_empty() && v.name.starts_with(name)).collect();
        let found: Vec<&Variant> = if exact.is_empty() { begin() } else { exact };
        if found.is_empty() {
            let known = all.iter().map(|v| v.name.clone()).collect();
            return Err((named, RefusalCause::UnknownName { what: "variant", name: name.into(), known }));
        }
        Ok((found, self.trimmed(range.start + slash + 1..range.end)))
    }

    /// Parses `flow.quantity.statistic` and its shorter forms. It is parsed from its end, because names may
    /// contain dots.
    fn measure(&self, range: Range<usize>, variants: &[&Variant]) -> Result<Measure, Refusal> {
        let text = &self.text[range.clone()];
        let flows = || variants.iter().flat_map(|v| &v.scenario.flows);
        let is_flow = |name: &str| flows().any(|f| f.name == name);
        let part_at = |part: &str| {
            let from = text.rfind(part).unwrap_or(0);
            range.start + from..range.start + from + part.len()
        };
        let mut measure = Measure::parse(text, is_flow).map_err(|error| match error {
            MeasureError::Quantity(word) => {
                let known = Quantity::ALL.map(|q| q.name().to_string()).into();
                (part_at(&word), RefusalCause::UnknownWord { what: "quantity", word: word.clone(), known })
            }
            MeasureError::Statistic(_, statistic) => {
                (part_at(statistic), RefusalCause::BadValue { message: error.to_string() })
            }
            MeasureError::Subject(..) => (
                range.clone(),
                RefusalCause::Conflict { message: format!("{error}: remove the text before it") },
            ),
        })?;
        self.known(&measure, range.clone(), variants)?;
        // The delay of a probe is a round trip, which is a quantity of its own.
        if let (Subject::Flow(name), Quantity::Delay) = (&measure.subject, measure.quantity)
            && flows().any(|f| is_connection_of(name, &f.name) && matches!(f.app, App::Probe { .. }))
        {
            measure.quantity = Quantity::Probe;
        }
        let wrong = |message: &str| Err((range.clone(), RefusalCause::Conflict { message: message.into() }));
        let single = |name: &str| flows().any(|f| f.name == name && f.count == 1);
        match (&measure.subject, measure.quantity, measure.statistic) {
            (Subject::Flow(name), Quantity::Completion, Some(_)) if single(name) => {
                wrong("a flow has one completion time; `completion.p95` is that of all flows")
            }
            (_, Quantity::Response | Quantity::Page, Some(Statistic::Min)) => {
                wrong("the minimum of these times is not recorded; use mean, p50, p95, p99 or max")
            }
            _ => Ok(measure),
        }
    }

    /// Fails when the scenario does not have the flow or stage that is measured.
    fn known(&self, measure: &Measure, range: Range<usize>, variants: &[&Variant]) -> Result<(), Refusal> {
        let (name, kind) = match &measure.subject {
            Subject::Flow(name) => (name, "flow"),
            Subject::Element(name) => (name, "stage"),
            Subject::Run | Subject::Tcp | Subject::Datagrams => return Ok(()),
        };
        let at = range.start..range.start + name.len();
        let mut known: Vec<String> = Vec::new();
        if kind == "stage" {
            known.extend(variants.iter().flat_map(|v| elements(v)));
        } else {
            let flows = variants.iter().flat_map(|v| &v.scenario.flows);
            known.extend(flows.clone().map(|f| f.name.clone()));
            // The name of one connection of a flow that has several.
            let single = |f: &scenario::Flow| (1..=f.count).any(|n| format!("{}-{n}", f.name) == *name);
            if flows.into_iter().filter(|f| f.count > 1).any(single) {
                return Ok(());
            }
        }
        known.sort();
        known.dedup();
        if known.contains(name) {
            return Ok(());
        }
        Err((at, RefusalCause::UnknownName { what: kind, name: name.clone(), known }))
    }

    /// Parses the bound into the measure's unit. A bound in percent on goodput changes the quantity to the
    /// share of the limit.
    fn bound(&self, range: Range<usize>, measure: &mut Measure) -> Result<f64, Refusal> {
        let text = &self.text[range.clone()];
        let bad =
            |message: String| (range.start..range.end.max(range.start), RefusalCause::BadValue { message });
        let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        match (measure.unit(), text.strip_suffix('%')) {
            (MeasureUnit::Mbps, Some(share)) => {
                measure.quantity = Quantity::LimitShare;
                plain(share).ok_or_else(|| bad(format!("`{text}` is not a share of the limit, such as 90%")))
            }
            (MeasureUnit::Mbps, None) => {
                text.parse::<Rate>().map(Rate::as_mbps).map_err(|e| bad(e.to_string()))
            }
            (MeasureUnit::Percent, Some(share)) => {
                let share = plain(share).filter(|s| *s >= 0.0);
                share.ok_or_else(|| bad(format!("`{text}` is not a share: write for example 0.1%")))
            }
            (MeasureUnit::Percent, None) if plain(text) == Some(0.0) => Ok(0.0),
            // A bare 1 could mean all packets or one in a hundred.
            (MeasureUnit::Percent, None) => Err(bad(match plain(text) {
                Some(_) => format!("a share needs its unit: write {text}%"),
                None => format!("`{text}` is not a share: write for example 0.1%"),
            })),
            (unit @ (MeasureUnit::Millis | MeasureUnit::Seconds), _) => {
                let span = text.parse::<Span>().map_err(|e| bad(e.to_string()))?;
                Ok(if unit == MeasureUnit::Seconds { span.as_secs_f64() } else { span.as_millis_f64() })
            }
            (MeasureUnit::Plain | MeasureUnit::Packets, _) => {
                plain(text).ok_or_else(|| bad(format!("`{text}` is not a number")))
            }
        }
    }
}

/// Returns the names of a variant's elements as results spell them.
fn elements(variant: &Variant) -> Vec<String> {
    let links = variant.scenario.links.iter();
    let directions = links.flat_map(|l| [(l, "forward", &l.forward), (l, "backward", &l.backward)]);
    directions
        .flat_map(|(l, direction, stages)| {
            stages.iter().map(move |s| format!("{}.{direction}.{}", l.name, s.name))
        })
        .collect()
}
