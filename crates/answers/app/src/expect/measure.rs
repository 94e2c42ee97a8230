//! Checks a condition against a result.

use super::Expected;
use result::{Expectation, Run, Subject, VariantResult, measure::connections};

impl Expected {
    /// Checks the condition in each variant that it applies to and that has the flow or stage it names. A
    /// variant without any result does not meet the condition.
    pub fn hold(&self, run: &Run) -> Vec<Expectation> {
        let mut list = Vec::new();
        for name in &self.variants {
            let results: Vec<&VariantResult> = run.variants.iter().filter(|v| v.name == *name).collect();
            let held = |variant: &VariantResult, measured: Option<f64>| Expectation {
                expected: self.text.clone(),
                variant: name.clone(),
                clock: variant.clock,
                measured,
                unit: self.measure.unit().symbol().into(),
                met: measured.is_some_and(|m| self.relation.holds(m, self.bound)),
            };
            if results.is_empty() {
                list.push(held(&VariantResult::default(), None));
            }
            let there = results.into_iter().filter(|v| self.has_subject(v));
            list.extend(there.map(|v| held(v, self.measure.of(v))));
        }
        list
    }

    /// Whether the variant has the measured flow or stage, which it may have disabled.
    fn has_subject(&self, variant: &VariantResult) -> bool {
        match &self.measure.subject {
            Subject::Flow(name) => !connections(&variant.flows, name).is_empty(),
            Subject::Element(_) => self.measure.of(variant).is_some(),
            Subject::Run | Subject::Tcp | Subject::Datagrams => true,
        }
    }
}
