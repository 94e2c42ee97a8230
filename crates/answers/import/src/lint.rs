//! What is wrong with a shaping configuration, in a sentence each.
//!
//! A rule looks at one stage and its line: it is one file in `lint/` and one line in `RULES`. What only a format knows
//! (units, default classes, quanta) its reader finds itself.

mod bucket;
mod policer;
mod queue;
mod tree;

use crate::{Draft, DraftStage, Reading};
use result::{Change, ChangeKind, ChangePlace, ChangeUnit};

/// A rule.
type Rule = fn(&DraftStage, &mut Reading);

const RULES: &[Rule] = &[bucket::shaper, bucket::classes, policer::bucket, queue::limit, tree::shares];

/// Another bucket of a limiter, bytes.
fn bucket_size(now: u64, right: u64, why: &str) -> Change {
    let change = Change::new(ChangeKind::BucketSize, ChangePlace::Limiter, why);
    change.set(Some(now as f64), right as f64, ChangeUnit::Bytes)
}

/// Holds every stage against every rule.
pub(crate) fn lint(draft: &Draft, reading: &mut Reading) {
    draft.stages().for_each(|stage| judge(stage, reading));
}

/// Holds one stage against every rule.
pub(crate) fn judge(stage: &DraftStage, reading: &mut Reading) {
    RULES.iter().for_each(|rule| rule(stage, reading));
}
