//! Claims held against what was measured.

use crate::reproduce::cells::{CellView, MeasuredCells};
use crate::reproduce::expression::{ClaimExpression, Proved};
use crate::reproduce::model::{ClaimTrace, ClaimVerdict, ClockVerdict};
use crate::reproduce::study::{Study, StudyClaim};
use result::Clock;

/// The verdict on one clock; `trace` is what shows it, where the study names something.
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
    verdict.numbers = proved.steps.iter().map(|(told, _)| told.clone()).collect();
    let of = |repeat| verdict_of(&holds, direction.as_ref(), &view(repeat));
    let found = of(None);
    verdict.in_repeats = (0..verdict.repeats).filter(|&i| of(Some(i)) == found).count();
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

/// 0 it holds, 1 in direction, 2 not, also where a number is missing.
fn verdict_of(holds: &ClaimExpression, direction: Option<&ClaimExpression>, view: &CellView<'_>) -> usize {
    let is = |claim: &ClaimExpression| claim.prove(view).is_ok_and(|proved| proved.holds);
    match (is(holds), direction.is_some_and(is)) {
        (true, _) => 0,
        (_, true) => 1,
        _ => 2,
    }
}

/// How many repeats can be judged alone: as many as the cell with fewest has, those aside that were run once only.
fn repeats(claim: &ClaimExpression, measured: &MeasuredCells) -> usize {
    let counts = claim.cells().0.into_iter().filter_map(|cell| measured.values.get(cell)).map(Vec::len);
    let counts: Vec<usize> = counts.collect();
    let several = counts.iter().copied().filter(|n| *n > 1).min();
    several.or(counts.iter().copied().min()).unwrap_or(0)
}

/// Which comparisons fail, and what the study's file knows of why.
fn reason(proved: &Proved, claim: &StudyClaim) -> String {
    let failed: Vec<&str> =
        proved.steps.iter().filter(|(_, holds)| !holds).map(|(told, _)| told.as_str()).collect();
    let because = claim.because.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("not {}{because}", failed.join(", not "))
}
