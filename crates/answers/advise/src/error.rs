//! Why there is no plan.

use experiment::Unfinished;
use std::fmt;
use units::Goal;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The scenario has no TCP flow.
    NoFlows,
    /// Nothing that the objective is about: no page, no transfer with an end, no two flows that share.
    NoFigure(Goal),
    /// A name of a constraint that means nothing here: what it is for, the name, and what would be right.
    Unknown(&'static str, String, Vec<String>),
    /// The caller ended it.
    Stopped,
    /// A run failed.
    Failed(String),
}

impl From<Unfinished> for PlanError {
    fn from(why: Unfinished) -> PlanError {
        match why {
            Unfinished::Stopped => PlanError::Stopped,
            Unfinished::Failed(how) => PlanError::Failed(how),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoFlows => f.write_str("no flow here sends TCP: there is nothing to make faster"),
            PlanError::NoFigure(goal) => {
                let needs = match goal {
                    Goal::Completion => "no flow has an end or asks for anything",
                    Goal::Page => "no flow loads pages",
                    Goal::Fairness => "no two flows here should get the same",
                    Goal::Goodput | Goal::Delay => "nothing was measured",
                };
                write!(f, "the objective is {}, and {needs}; choose another", goal.name())
            }
            PlanError::Unknown(what, name, known) => {
                write!(f, "{what}: `{name}` means nothing here; there are: {}", known.join(", "))
            }
            PlanError::Stopped => f.write_str("ended before there was a plan"),
            PlanError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PlanError {}
