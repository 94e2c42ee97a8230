//! The grammar that conditions on runs and on measurements share: `MEASURE RELATION BOUND`.

use crate::CommandError;
use result::measure::MeasureError;
use result::{Measure, MeasureUnit, Quantity};
use scenario::{DocumentError, RefusalCause};
use std::ops::Range;
use units::{Rate, Span};

/// The place of an error in the text, and its cause.
pub(crate) type Refusal = (Range<usize>, RefusalCause);

/// Relation between the measured value and the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Relation {
    /// The longer signs come first, so that `>=` is not read as `>`.
    const ALL: [(&'static str, Relation); 5] = [
        (">=", Relation::AtLeast),
        ("<=", Relation::AtMost),
        ("==", Relation::Equal),
        (">", Relation::Above),
        ("<", Relation::Below),
    ];

    /// Whether the measured value has this relation to the bound.
    pub(crate) fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Relation::Above => measured > bound,
            Relation::AtLeast => measured >= bound,
            Relation::Below => measured < bound,
            Relation::AtMost => measured <= bound,
            Relation::Equal => measured == bound,
        }
    }
}

/// The parts of a condition, as ranges of its text without blanks around them.
pub(crate) struct Comparison {
    pub(crate) left: Range<usize>,
    pub(crate) relation: Relation,
    pub(crate) right: Range<usize>,
}

impl Comparison {
    /// Splits a condition at its first sign; of two signs at one place the longer one counts.
    pub(crate) fn find(text: &str) -> Result<Comparison, Refusal> {
        let places = Relation::ALL.into_iter().filter_map(|(sign, r)| Some((text.find(sign)?, sign, r)));
        let Some((at, sign, relation)) = places.min_by_key(|(at, ..)| *at) else {
            let message = "a comparison is missing: write for example \"upload.goodput > 18Mbit/s\"".into();
            return Err((0..text.len(), RefusalCause::BadValue { message }));
        };
        let (left, right) = (trimmed(text, 0..at), trimmed(text, at + sign.len()..text.len()));
        Ok(Comparison { left, relation, right })
    }
}

/// Returns a range of a text without the blanks around it.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let begin = range.start + part.len() - part.trim_start().len();
    begin..begin + part.trim().len()
}

/// Reads the arguments of `--expect`; an error says which argument, and where in it.
pub(crate) fn read_each<T>(
    texts: &[String],
    read: impl Fn(&str) -> Result<T, Refusal>,
) -> Result<Vec<T>, CommandError> {
    let one = |(text, n): (&String, usize)| {
        read(text).map_err(|(range, cause)| {
            let error = DocumentError::in_argument(&format!("--expect {n}"), text, range, cause);
            CommandError::Scenario(Box::new(error))
        })
    };
    texts.iter().zip(1..).map(one).collect()
}

/// Places the error of a measure, whose text is at this range of the condition.
pub(crate) fn refusal(error: MeasureError, text: &str, range: Range<usize>) -> Refusal {
    let part_at = |part: &str| {
        let from = text.rfind(part).unwrap_or(0);
        range.start + from..range.start + from + part.len()
    };
    match error {
        MeasureError::Quantity(word) => {
            let known = Quantity::ALL.map(|q| q.name().to_string()).into();
            (part_at(&word), RefusalCause::UnknownWord { what: "quantity", word, known })
        }
        MeasureError::Statistic(_, statistic) => {
            (part_at(statistic), RefusalCause::BadValue { message: error.to_string() })
        }
        MeasureError::Subject(..) => {
            (range, RefusalCause::Conflict { message: format!("{error}: remove the text before it") })
        }
    }
}

/// Parses the bound of a measure into the measure's unit. A bound in percent on goodput changes the quantity
/// to the share of the limit.
pub(crate) fn bound(text: &str, range: Range<usize>, measure: &mut Measure) -> Result<f64, Refusal> {
    let text = &text[range.clone()];
    let bad = |message: String| (range.clone(), RefusalCause::BadValue { message });
    let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    match (measure.unit(), text.strip_suffix('%')) {
        (MeasureUnit::Mbps, Some(share)) => {
            measure.quantity = Quantity::LimitShare;
            plain(share).ok_or_else(|| bad(format!("`{text}` is not a share of the limit, such as 90%")))
        }
        (MeasureUnit::Mbps, None) => text.parse::<Rate>().map(Rate::as_mbps).map_err(|e| bad(e.to_string())),
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

/// Parses a share of packets, such as `0.1%` or `0.001`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
    let value = number.trim().parse::<f64>().map(|n| n / scale);
    let value = value.map_err(|_| format!("`{text}` is not a share: write 0.1% or 0.001"))?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("a share must be from 0% to 100%".into()) }
}
