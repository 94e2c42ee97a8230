//! Why there is no plan.

use experiment::Unfinished;
use units::Goal;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The scenario has no flow.
    #[error("no flow here: there is nothing to make better")]
    NoFlows,
    /// Nothing that the objective is about: no page, no transfer with an end, no two flows that share.
    #[error("the objective is {}, and {}; choose another", .0.name(), lacking(*.0))]
    NoFigure(Goal),
    /// A name of a constraint that means nothing here: what it is for, the name, and what would be right.
    #[error("{0}: `{1}` means nothing here; there are: {known}", known = .2.join(", "))]
    Unknown(&'static str, String, Vec<String>),
    /// The caller ended it.
    #[error("ended before there was a plan")]
    Stopped,
    /// A run failed.
    #[error("{0}")]
    Failed(String),
}

/// What a scenario without a figure for this objective lacks.
fn lacking(goal: Goal) -> &'static str {
    match goal {
        Goal::Completion => "no flow has an end or asks for anything",
        Goal::Page => "no flow loads pages",
        Goal::Fairness => "no two flows here should get the same",
        Goal::Goodput | Goal::Delay => "nothing was measured",
    }
}

impl From<Unfinished> for PlanError {
    fn from(why: Unfinished) -> PlanError {
        match why {
            Unfinished::Stopped => PlanError::Stopped,
            Unfinished::Failed(how) => PlanError::Failed(how),
        }
    }
}
