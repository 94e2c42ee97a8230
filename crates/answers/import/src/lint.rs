//! Finds mistakes in a shaping configuration.
//!
//! A rule checks one stage: it is one file in `lint/` and one line in `RULES`. Mistakes that only a format
//! can have (units, default classes, quanta) are found by its reader.

mod bucket;
mod policer;
mod queue;
mod tree;

use crate::{Draft, DraftStage, Reading};
use result::{Change, ChangeKind, ChangePlace, ChangeUnit};

/// A rule checks a stage and reports mistakes.
type Rule = fn(&DraftStage, &mut Reading);

const RULES: &[Rule] = &[bucket::shaper, bucket::classes, policer::bucket, queue::limit, tree::shares];

/// The change of a limiter's bucket size, bytes.
fn bucket_size(now: u64, right: u64, why: &str) -> Change {
    let change = Change::new(ChangeKind::BucketSize, ChangePlace::Limiter, why);
    change.set(Some(now as f64), right as f64, ChangeUnit::Bytes)
}

/// Checks all stages by all rules.
pub(crate) fn lint(draft: &Draft, reading: &mut Reading) {
    draft.stages().for_each(|stage| lint_stage(stage, reading));
}

/// Checks one stage by all rules.
pub(crate) fn lint_stage(stage: &DraftStage, reading: &mut Reading) {
    RULES.iter().for_each(|rule| rule(stage, reading));
}
