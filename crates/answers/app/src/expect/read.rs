//! From `policer/bulk.rtt.p95 < 50ms` to what is to be measured; names are held against the scenario.

use super::{Expected, Kind, Quantity, Relation, Statistic, Subject};
use crate::CommandError;
use scenario::{DocumentError, Experiment, RefusalCause, Variant};
use std::ops::Range;
use units::{Rate, Span};

/// A share of packets: `0.1%` or `0.001`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
    let value = number.trim().parse::<f64>().map(|n| n / scale);
    let value = value.map_err(|_| format!("`{text}` is no share: write 0.1% or 0.001"))?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("a share is from 0% to 100%".into()) }
}

/// Reads the arguments of `--expect`.
///
/// # Errors
/// What is no expectation, or names what the scenario does not have: with its place and what would be right.
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

/// A place in the text and what is wrong there.
type Refusal = (Range<usize>, RefusalCause);

struct ExpectationReader<'a> {
    text: &'a str,
    experiment: &'a Experiment,
}

impl ExpectationReader<'_> {
    fn read(&self) -> Result<Expected, Refusal> {
        let places = Relation::ALL.into_iter().filter_map(|(sign, r)| Some((self.text.find(sign)?, sign, r)));
        // The first in the text; of two at one place the longer, which stands first in the list.
        let Some((at, sign, relation)) = places.min_by_key(|(at, ..)| *at) else {
            let message = "a comparison is missing: write for example \"upload.goodput > 18Mbit/s\"".into();
            return Err((0..self.text.len(), RefusalCause::BadValue { message }));
        };
        let (left, right) = (self.trimmed(0..at), self.trimmed(at + sign.len()..self.text.len()));
        let (variants, subject_at) = self.variants(left)?;
        let (subject, what, statistic) = self.subject(subject_at, &variants)?;
        let (bound, of_limit) = self.bound(right, what)?;
        let variants = variants.into_iter().map(|v| v.name.clone()).collect();
        let text = self.text.trim().to_string();
        Ok(Expected { text, variants, subject, what, statistic, relation, bound, of_limit })
    }

    /// The same range without blanks around.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let part = &self.text[range.clone()];
        let begin = range.start + part.len() - part.trim_start().len();
        begin..begin + part.trim().len()
    }

    /// The variants before `/`: the one of that name, else those whose names begin so; without it all. And what is
    /// left.
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

    /// `flow.quantity.statistic` and its shorter forms. Names may have dots, so it is read from its end.
    fn subject(
        &self,
        range: Range<usize>,
        variants: &[&Variant],
    ) -> Result<(Subject, Quantity, Statistic), Refusal> {
        let text = &self.text[range.clone()];
        let (before, last) = text.rsplit_once('.').unwrap_or(("", text));
        let named = Statistic::ALL.into_iter().find(|(name, _)| *name == last);
        let (rest, statistic) = match named {
            Some((_, statistic)) => (before, Some(statistic)),
            None => (text, None),
        };
        let (of, word) = rest.rsplit_once('.').unwrap_or(("", rest));
        let word_at = range.start + rest.len() - word.len()..range.start + rest.len();
        let Some((_, what)) = Quantity::ALL.into_iter().find(|(name, _)| *name == word) else {
            let known = Quantity::ALL.iter().map(|(name, _)| name.to_string()).collect();
            return Err((word_at, RefusalCause::UnknownWord { what: "quantity", word: word.into(), known }));
        };
        if statistic.is_some() && !what.has_statistics() {
            let message = format!("`{word}` is one number: it has no `{last}`");
            return Err((range.end - last.len()..range.end, RefusalCause::BadValue { message }));
        }
        let of_at = range.start..range.start + of.len();
        let subject = self.named(of, of_at.clone(), what, variants)?;
        let wrong = |message: &str| Err((range.clone(), RefusalCause::Conflict { message: message.into() }));
        match (&subject, what, statistic) {
            (Subject::Flow(_), Quantity::Completion, Some(_)) => {
                wrong("a flow has one completion time; `completion.p95` is that of all flows")
            }
            (_, Quantity::Completion | Quantity::Response | Quantity::Page, Some(Statistic::Min)) => {
                wrong("the smallest of these times is not kept; there are mean, p50, p95, p99, max")
            }
            _ => Ok((subject, what, statistic.unwrap_or_default())),
        }
    }

    /// Whose quantity it is.
    fn named(
        &self,
        name: &str,
        at: Range<usize>,
        what: Quantity,
        variants: &[&Variant],
    ) -> Result<Subject, Refusal> {
        if name.is_empty() || name == "total" {
            return Ok(Subject::Whole);
        }
        let mut known: Vec<String> = Vec::new();
        if what.of_elements() {
            known.extend(variants.iter().flat_map(|v| elements(v)));
        } else if what.of_flows() {
            let flows = variants.iter().flat_map(|v| &v.scenario.flows);
            known.extend(flows.clone().map(|f| f.name.clone()));
            // A single connection of several.
            let several = flows.filter(|f| f.count > 1);
            let single = |f: &scenario::Flow| (1..=f.count).any(|n| format!("{}-{n}", f.name) == name);
            if several.into_iter().any(single) {
                return Ok(Subject::Flow(name.into()));
            }
        } else {
            let message = "is of all flows together: leave out what stands before it".into();
            return Err((at, RefusalCause::Conflict { message }));
        }
        known.sort();
        known.dedup();
        if known.iter().any(|k| k == name) {
            let name = name.to_string();
            return Ok(if what.of_elements() { Subject::Element(name) } else { Subject::Flow(name) });
        }
        let kind = if what.of_elements() { "stage" } else { "flow" };
        Err((at, RefusalCause::UnknownName { what: kind, name: name.into(), known }))
    }

    /// The bound in the quantity's unit, and whether it is a share of the limit.
    fn bound(&self, range: Range<usize>, what: Quantity) -> Result<(f64, bool), Refusal> {
        let text = &self.text[range.clone()];
        let bad =
            |message: String| (range.start..range.end.max(range.start), RefusalCause::BadValue { message });
        let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        match (what.kind(), text.strip_suffix('%')) {
            (Kind::Rate, Some(share)) => {
                let share =
                    plain(share).ok_or_else(|| bad(format!("`{text}` is no share of the limit, as 90%")))?;
                Ok((share, true))
            }
            (Kind::Rate, None) => {
                let rate = text.parse::<Rate>().map_err(|e| bad(e.to_string()))?;
                Ok((rate.as_mbps(), false))
            }
            (Kind::Share, _) => Ok((share(text).map_err(bad)? * 100.0, false)),
            (Kind::Millis | Kind::Seconds, _) => {
                let span = text.parse::<Span>().map_err(|e| bad(e.to_string()))?;
                let seconds = what.kind() == Kind::Seconds;
                Ok((if seconds { span.as_secs_f64() } else { span.as_millis_f64() }, false))
            }
            (Kind::Plain, _) => {
                let number = plain(text).ok_or_else(|| bad(format!("`{text}` is no number")))?;
                Ok((number, false))
            }
        }
    }
}

/// The names of a variant's elements, as results have them.
fn elements(variant: &Variant) -> Vec<String> {
    let links = variant.scenario.links.iter();
    let ways = links.flat_map(|l| [(l, "forward", &l.forward), (l, "backward", &l.backward)]);
    ways.flat_map(|(l, way, stages)| stages.iter().map(move |s| format!("{}.{way}.{}", l.name, s.name)))
        .collect()
}
