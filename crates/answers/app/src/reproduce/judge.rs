//! Judges claims on the measured numbers.

use crate::reproduce::cells::{CellView, MeasuredCells};
use crate::reproduce::expression::{ClaimExpression, Proved};
use crate::reproduce::model::{ClaimTrace, ClaimVerdict, ClockVerdict};
use crate::reproduce::study::{Study, StudyClaim};
use result::Clock;

/// Returns the verdict on one clock; `None` for a claim that cannot be judged. `trace` is the series that
/// shows why the claim does not hold, where the study names one.
pub(crate) fn judge(
    study: &Study,
    claim: &StudyClaim,
    clock: Clock,
    measured: &MeasuredCells,
    trace: Option<ClaimTrace>,
) -> Option<ClockVerdict> {
    let (holds, direction) = claim.expressions();
    let holds = holds?;
    let view = |repeat| CellView { study, measured, repeat };
    let mut verdict = ClockVerdict {
        clock,
        verdict: None,
        numbers: Vec::new(),
        in_repeats: 0,
        repeats: repeats(&holds, measured),
        reason: None,
        trace: None,
    };
    let proved = match holds.prove(&view(None)) {
        Ok(proved) => proved,
        Err(why) => {
            verdict.reason = Some(why);
            return Some(verdict);
        }
    };
    verdict.numbers = proved.steps.iter().map(|(step, _)| step.clone()).collect();
    let judged = |repeat| verdict_of(&holds, direction.as_ref(), &view(repeat));
    let found = judged(None);
    verdict.in_repeats = (0..verdict.repeats).filter(|&i| judged(Some(i)) == found).count();
    verdict.verdict =
        Some([ClaimVerdict::Holds, ClaimVerdict::HoldsInDirection, ClaimVerdict::DoesNotHold][found]);
    if found > 0 {
        verdict.reason = Some(reason(&proved, claim));
    }
    if found == 2 {
        verdict.trace = trace;
    }
    Some(verdict)
}

/// Returns 0 for "holds", 1 for "holds in direction", 2 for "does not hold" or a missing number.
fn verdict_of(holds: &ClaimExpression, direction: Option<&ClaimExpression>, view: &CellView<'_>) -> usize {
    let is = |claim: &ClaimExpression| claim.prove(view).is_ok_and(|proved| proved.holds);
    match (is(holds), direction.is_some_and(is)) {
        (true, _) => 0,
        (_, true) => 1,
        _ => 2,
    }
}

/// Returns how many repeats can be judged one by one: the smallest number of repeats of a cell. Cells that
/// ran once do not count where others ran several times.
fn repeats(claim: &ClaimExpression, measured: &MeasuredCells) -> usize {
    let counts = claim.cells().0.into_iter().filter_map(|cell| measured.values.get(cell)).map(Vec::len);
    let counts: Vec<usize> = counts.collect();
    let several = counts.iter().copied().filter(|n| *n > 1).min();
    several.or(counts.iter().copied().min()).unwrap_or(0)
}

/// Returns the comparisons that fail, and the explanation in the study's file.
fn reason(proved: &Proved, claim: &StudyClaim) -> String {
    let failed: Vec<&str> =
        proved.steps.iter().filter(|(_, holds)| !holds).map(|(step, _)| step.as_str()).collect();
    let because = claim.because.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("not {}{because}", failed.join(", not "))
}
