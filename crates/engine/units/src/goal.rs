//! What variants are judged by.

use crate::Label;
use serde::{Deserialize, Serialize};

/// What a comparison of variants is about: which of two results is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Goal {
    /// More payload a second.
    #[serde(rename = "goodput")]
    Goodput,
    /// A smaller 95th percentile of delay: one-way of datagrams and probes, else round trips.
    #[serde(rename = "p95 delay")]
    Delay,
    /// Transfers that end earlier, exchanges that are answered earlier.
    #[serde(rename = "completion time")]
    Completion,
    /// Pages that are loaded earlier.
    #[serde(rename = "page time")]
    Page,
    /// Flows that get alike (Jain's index).
    #[serde(rename = "fairness")]
    Fairness,
}

impl Goal {
    /// All, in the order of the reference.
    pub const ALL: [Goal; 5] = [Goal::Goodput, Goal::Delay, Goal::Completion, Goal::Page, Goal::Fairness];

    /// As scenarios and results spell it.
    pub fn name(self) -> &'static str {
        self.label().en
    }

    /// The goal of this name.
    pub fn named(name: &str) -> Option<Goal> {
        Goal::ALL.into_iter().find(|g| g.name() == name)
    }

    /// What people call it.
    pub const fn label(self) -> Label {
        match self {
            Goal::Goodput => Label::new("goodput", "有效吞吐量"),
            Goal::Delay => Label::new("p95 delay", "p95 时延"),
            Goal::Completion => Label::new("completion time", "完成时间"),
            Goal::Page => Label::new("page time", "页面加载时间"),
            Goal::Fairness => Label::new("fairness", "公平性"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_has_the_name_that_is_written() {
        for goal in Goal::ALL {
            assert_eq!(Goal::named(goal.name()), Some(goal));
            assert_eq!(serde_json::to_value(goal).unwrap(), goal.name());
        }
        assert_eq!(Goal::named("speed"), None);
    }
}
