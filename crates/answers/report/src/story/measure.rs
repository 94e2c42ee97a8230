//! Decides which differences between two variants are reported, by [`Measure`].

use super::{NOTICED_DELAY_MS, NOTICED_JAIN, NOTICED_LOSS, NOTICED_MOS, NOTICED_SHARE, NOTICED_TIMES};
use crate::figures::Row;
use result::{Measure, Quantity, Statistic, Subject};

/// The measures by which two variants are compared, the most important to users first.
pub(crate) fn compared() -> Vec<Measure> {
    use Quantity::{Completion, Delay, Goodput, Jain, Lost, Mos, Page, Probe, ResentShare, Response, Rtt};
    let p95 = |quantity| Measure::at(quantity, Statistic::P95);
    let of_subject = |quantity, subject| Measure::new(quantity).of_subject(subject);
    vec![
        Measure::new(Mos),
        p95(Page),
        p95(Response),
        p95(Completion),
        p95(Delay),
        p95(Probe),
        p95(Rtt),
        of_subject(Goodput, Subject::Tcp),
        of_subject(Goodput, Subject::Datagrams),
        of_subject(Lost, Subject::Tcp),
        of_subject(ResentShare, Subject::Tcp),
        of_subject(Lost, Subject::Datagrams),
        Measure::new(Jain),
    ]
}

/// Whether a user would notice that `is` is better (`Some(true)`) or worse than `was`.
pub(crate) fn noticed(measure: &Measure, was: f64, is: f64) -> Option<bool> {
    use Quantity::*;
    let (low, high) = if was < is { (was, is) } else { (is, was) };
    let differ = match measure.quantity {
        Goodput if matches!(measure.subject, Subject::Flow(_)) => low * NOTICED_TIMES <= high && high > 0.0,
        Goodput | LimitShare => low < (1.0 - NOTICED_SHARE) * high,
        Rtt | Delay | Probe | Jitter => high - low >= NOTICED_DELAY_MS && high >= NOTICED_TIMES * low,
        Lost | ResentShare | Waited => high - low >= NOTICED_LOSS,
        Completion | Response | Page => high > 0.0 && high >= NOTICED_TIMES * low && low < high,
        Mos => high - low >= NOTICED_MOS,
        Jain => high - low >= NOTICED_JAIN,
        Resent | Timeouts | Drops | Marks | Queue => high >= NOTICED_TIMES * low && low < high,
    };
    differ.then(|| measure.is_better(is, was))
}

/// Whether `is` is better than `was` by more than simulator and kernel differ.
pub(crate) fn is_ahead(measure: &Measure, was: f64, is: f64) -> bool {
    if measure.prefers_larger() { (1.0 - NOTICED_SHARE) * is > was } else { is < (1.0 - NOTICED_SHARE) * was }
}

/// The value of a measure in a row; `None` if it was not measured.
pub(crate) fn value_of(measure: &Measure, row: &Row) -> Option<f64> {
    match (row.flow, &measure.subject) {
        // Each flow that was measured one at a time is a run of its own.
        (Some(flow), Subject::Run | Subject::Tcp | Subject::Datagrams) => {
            let udp = measure.subject == Subject::Datagrams;
            let fits = measure.subject == Subject::Run || flow.is_udp() == udp;
            fits.then(|| measure.of_flows(&[flow])).flatten()
        }
        _ => measure.of(row.variant),
    }
}

/// Whether the difference is not significant: 0 is within the interval of the differences, paired by seed.
pub(crate) fn is_chance(measure: &Measure, was: &Row, is: &Row) -> bool {
    let (Some(a), Some(b)) = (&was.variant.repeats, &is.variant.repeats) else { return false };
    let measure = match was.flow {
        Some(flow) => measure.clone().of_subject(Subject::Flow(flow.name.clone())),
        None => measure.clone(),
    };
    a.difference(b, &measure).is_some_and(|d| d.mean.abs() <= d.ci95)
}
