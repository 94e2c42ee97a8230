//! Studies together, and how many of their claims came to what; read back and joined where they were run apart.

use crate::model::{ClaimVerdict, REPRODUCTION_SCHEMA, ReproducedStudy, Reproduction, VerdictCounts};
use result::Clock;

/// The studies, counted.
pub(crate) fn gathered(clocks: Vec<Clock>, studies: Vec<ReproducedStudy>) -> Reproduction {
    let counts = clocks.iter().map(|clock| counted(&studies, *clock)).collect();
    Reproduction { schema: REPRODUCTION_SCHEMA.into(), clocks, counts, studies }
}

/// Reads what `--json` wrote: an error names line and column, or the other schema.
///
/// # Errors
/// No JSON, keys missing or of another type, or another schema.
pub fn read_json(text: &str) -> Result<Reproduction, String> {
    let read: Reproduction = serde_json::from_str(text).map_err(|e| format!("not a reproduction: {e}"))?;
    if read.schema != REPRODUCTION_SCHEMA {
        return Err(format!("schema is `{}`, expected `{REPRODUCTION_SCHEMA}`", read.schema));
    }
    Ok(read)
}

/// Studies that were run apart, in the order given.
///
/// # Errors
/// They were run on different clocks, or one is there twice: then no table can show them.
pub fn joined(all: Vec<Reproduction>) -> Result<Reproduction, String> {
    let clocks = all.first().map(|r| r.clocks.clone()).unwrap_or_default();
    if all.iter().any(|r| r.clocks != clocks) {
        return Err("they were run on different clocks".into());
    }
    let studies: Vec<ReproducedStudy> = all.into_iter().flat_map(|r| r.studies).collect();
    let twice = studies.iter().enumerate().find(|(i, s)| studies[..*i].iter().any(|t| t.name == s.name));
    match twice {
        Some((_, study)) => Err(format!("the study {} is in two of them", study.name)),
        None => Ok(gathered(clocks, studies)),
    }
}

fn counted(studies: &[ReproducedStudy], clock: Clock) -> VerdictCounts {
    let mut counts = VerdictCounts { clock, ..VerdictCounts::default() };
    for claim in studies.iter().flat_map(|s| &s.claims) {
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
