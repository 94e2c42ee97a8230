//! Goals that variants are judged by.

use crate::Label;
use serde::{Deserialize, Serialize};

/// The quantity by which variants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Goal {
    /// Higher goodput.
    #[serde(rename = "goodput")]
    Goodput,
    /// Lower 95th percentile of delay: one-way delay for datagrams and probes, otherwise round-trip time.
    #[serde(rename = "p95 delay")]
    Delay,
    /// Shorter completion time of transfers, shorter response time of requests.
    #[serde(rename = "completion time")]
    Completion,
    /// Shorter load time of pages.
    #[serde(rename = "page time")]
    Page,
    /// More equal rates of flows (Jain's index).
    #[serde(rename = "fairness")]
    Fairness,
}

impl Goal {
    /// All goals, in the order of the documentation.
    pub const ALL: [Goal; 5] = [Goal::Goodput, Goal::Delay, Goal::Completion, Goal::Page, Goal::Fairness];

    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        self.label().en
    }

    /// The goal with this name.
    pub fn named(name: &str) -> Option<Goal> {
        Goal::ALL.into_iter().find(|g| g.name() == name)
    }

    /// The name for display.
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
    fn names_equal_the_serialised_form() {
        for goal in Goal::ALL {
            assert_eq!(Goal::named(goal.name()), Some(goal));
            assert_eq!(serde_json::to_value(goal).unwrap(), goal.name());
        }
        assert_eq!(Goal::named("speed"), None);
    }
}
