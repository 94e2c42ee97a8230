//! Puts studies together and counts verdicts; reads reproductions back and joins those that were run
//! separately.

use crate::reproduce::model::{
    ClaimVerdict, REPRODUCTION_SCHEMA, ReproducedStudy, Reproduction, VerdictCounts,
};
use result::Clock;

/// Counts the verdicts of the studies on each clock.
pub(crate) fn gathered(clocks: Vec<Clock>, studies: Vec<ReproducedStudy>) -> Reproduction {
    let counts = clocks.iter().map(|clock| counted(&studies, *clock)).collect();
    Reproduction { schema: REPRODUCTION_SCHEMA.into(), clocks, counts, studies }
}

/// Parses what `--json` wrote.
///
/// # Errors
/// Fails on invalid JSON, on missing keys or keys of another type (with line and column), and on another
/// schema.
pub fn read_json(text: &str) -> Result<Reproduction, String> {
    let read: Reproduction = serde_json::from_str(text).map_err(|e| format!("not a reproduction: {e}"))?;
    if read.schema != REPRODUCTION_SCHEMA {
        return Err(format!("schema is `{}`, expected `{REPRODUCTION_SCHEMA}`", read.schema));
    }
    Ok(read)
}

/// Joins studies that were run separately, in the order given.
///
/// # Errors
/// Fails when a study occurs twice, because a table could not show it.
pub fn joined(all: Vec<Reproduction>) -> Result<Reproduction, String> {
    let on = |clock: &Clock| all.iter().any(|r| r.clocks.contains(clock));
    let clocks: Vec<Clock> = [Clock::Sim, Clock::Kernel].into_iter().filter(on).collect();
    let mut studies: Vec<ReproducedStudy> = Vec::new();
    for reproduction in all {
        let from = reproduction.clocks;
        studies.extend(reproduction.studies.into_iter().map(|study| with_clocks(study, &from, &clocks)));
    }
    let twice = studies.iter().enumerate().find(|(i, s)| studies[..*i].iter().any(|t| t.name == s.name));
    match twice {
        Some((_, study)) => Err(format!("the study {} is in two of the files", study.name)),
        None => Ok(gathered(clocks, studies)),
    }
}

/// Rearranges a study's numbers from the clocks `of`, which it ran on, to `clocks`; clocks that it did not
/// run on get none.
fn with_clocks(mut study: ReproducedStudy, from: &[Clock], clocks: &[Clock]) -> ReproducedStudy {
    for cell in study.tables.iter_mut().flat_map(|t| &mut t.rows).flat_map(|r| &mut r.cells) {
        let mut values = std::mem::take(&mut cell.ours);
        values.resize(from.len(), None);
        let place = |clock: &Clock| from.iter().position(|c| c == clock);
        cell.ours = clocks.iter().map(|clock| place(clock).and_then(|i| values[i].take())).collect();
    }
    study.clocks = from.to_vec();
    study
}

fn counted(studies: &[ReproducedStudy], clock: Clock) -> VerdictCounts {
    let mut counts = VerdictCounts { clock, ..VerdictCounts::default() };
    for claim in studies.iter().filter(|s| s.clocks.contains(&clock)).flat_map(|s| &s.claims) {
        let verdict = claim.judged.iter().find(|j| j.clock == clock).and_then(|j| j.verdict);
        *match verdict {
            Some(ClaimVerdict::Holds) => &mut counts.holds,
            Some(ClaimVerdict::HoldsInDirection) => &mut counts.holds_in_direction,
            Some(ClaimVerdict::DoesNotHold) => &mut counts.does_not_hold,
            None => &mut counts.not_judged,
        } += 1;
    }
    counts
}
