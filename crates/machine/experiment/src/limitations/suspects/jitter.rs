//! A varying delay, replaced by its mean.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use path::{Delay, Jitter, Stage};
use result::LimitationKind;
use units::Span;

pub(super) struct JitterSuspect;

fn mean(jitter: &Jitter) -> Span {
    let n = jitter.delays.len().max(1) as u64;
    let sum: u64 = jitter.delays.iter().map(|d| d.as_nanos()).sum();
    jitter.delay + Span::from_nanos(sum / n)
}

impl Suspect for JitterSuspect {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Jitter
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let even = |s: SeenStage<'_>| {
            let Stage::Jitter(jitter) = s.stage else { return None };
            Some(Removal::replaced(
                self.kind(),
                &s,
                Delay { delay: mean(jitter), packets: jitter.packets }.into(),
            ))
        };
        case.stages().into_iter().filter_map(even).collect()
    }
}
