//! Parses conditions such as `policer/bulk.rtt.p95 < 50ms` and checks their names against the scenario.

use super::Expected;
use super::comparison::{Comparison, Refusal, bound, read_each, refusal, trimmed};
use crate::CommandError;
use result::measure::is_connection_of;
use result::{Measure, Quantity, Statistic, Subject};
use scenario::{Experiment, RefusalCause, Variant};
use std::ops::Range;
use transport::App;

/// Parses the arguments of `--expect`.
///
/// # Errors
/// Fails when a text is not a condition or names what the scenario does not have. The error gives the place
/// and what would be right.
pub fn read(texts: &[String], experiment: &Experiment) -> Result<Vec<Expected>, CommandError> {
    read_each(texts, |text| ExpectationReader { text, experiment }.read())
}

struct ExpectationReader<'a> {
    text: &'a str,
    experiment: &'a Experiment,
}

impl ExpectationReader<'_> {
    fn read(&self) -> Result<Expected, Refusal> {
        let Comparison { left, relation, right } = Comparison::find(self.text)?;
        let (variants, subject_at) = self.variants(left)?;
        let mut measure = self.measure(subject_at, &variants)?;
        let bound = bound(self.text, right, &mut measure)?;
        let variants = variants.into_iter().map(|v| v.name.clone()).collect();
        let text = self.text.trim().to_string();
        Ok(Expected { text, variants, measure, relation, bound })
    }

    /// Returns the variants named before `/`, and the range after it. A name means the variant of that name,
    /// or else all variants whose names begin with it. Without `/` all variants are meant.
    fn variants(&self, range: Range<usize>) -> Result<(Vec<&Variant>, Range<usize>), Refusal> {
        let all = &self.experiment.variants;
        let Some(slash) = self.text[range.clone()].find('/') else {
            return Ok((all.iter().collect(), range));
        };
        let named = trimmed(self.text, range.start..range.start + slash);
        let name = &self.text[named.clone()];
        let exact: Vec<&Variant> = all.iter().filter(|v| v.name == name).collect();
        let begin = || all.iter().filter(|v| !name.is_empty() && v.name.starts_with(name)).collect();
        let found: Vec<&Variant> = if exact.is_empty() { begin() } else { exact };
        if found.is_empty() {
            let known = all.iter().map(|v| v.name.clone()).collect();
            return Err((named, RefusalCause::UnknownName { what: "variant", name: name.into(), known }));
        }
        Ok((found, trimmed(self.text, range.start + slash + 1..range.end)))
    }

    /// Parses `flow.quantity.statistic` and its shorter forms. It is parsed from its end, because names may
    /// contain dots.
    fn measure(&self, range: Range<usize>, variants: &[&Variant]) -> Result<Measure, Refusal> {
        let text = &self.text[range.clone()];
        let flows = || variants.iter().flat_map(|v| &v.scenario.flows);
        let is_flow = |name: &str| flows().any(|f| f.name == name);
        let mut measure = Measure::parse(text, is_flow).map_err(|e| refusal(e, text, range.clone()))?;
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
