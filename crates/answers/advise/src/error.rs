//! The error that ends planning.

use experiment::Unfinished;
use units::Goal;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The scenario has no flow.
    #[error("the scenario has no flow, so there is nothing to improve")]
    NoFlows,
    /// The scenario has no figure for the objective: no page, no transfer with an end, or no two flows that
    /// share.
    #[error("the objective is {}, but {}; choose another one", .0.name(), lacking(*.0))]
    NoFigure(Goal),
    /// A constraint names something unknown: the option, the name, and the known names.
    #[error("{0}: unknown name `{1}`; known are: {known}", known = .2.join(", "))]
    Unknown(&'static str, String, Vec<String>),
    /// The caller stopped the plan.
    #[error("stopped before there was a plan")]
    Stopped,
    /// A run failed.
    #[error("{0}")]
    Failed(String),
}

/// Names what a scenario needs to have a figure for this objective.
fn lacking(goal: Goal) -> &'static str {
    match goal {
        Goal::Completion => "no flow has an end or sends requests",
        Goal::Page => "no flow loads pages",
        Goal::Fairness => "no two flows should get equal shares",
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
