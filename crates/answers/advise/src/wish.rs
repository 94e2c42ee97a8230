//! What is wanted: an objective, constraints, and how much may be simulated.

use crate::CureOption;
use result::ChangePlace;
use std::num::NonZeroUsize;
use units::{Goal, Span};

/// What a plan is to aim at, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanWish {
    /// What cures are ranked by.
    pub objective: Goal,
    /// Who can act; empty: everybody.
    pub only: Vec<ChangePlace>,
    /// Kinds or names (`link.direction.stage`) of stages that stay as they are.
    pub keep: Vec<String>,
    /// The largest 95th percentile of round trips that is accepted.
    pub max_delay: Option<Span>,
    /// Flows that must lose nothing: by name, or `udp` for all datagrams; `voice` is a call that is added.
    pub no_loss_for: Vec<String>,
    /// How many finalists run for the whole duration.
    pub finalists: usize,
    /// Seeds of each finalist.
    pub repeats: u32,
    /// How many runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

impl Default for PlanWish {
    fn default() -> PlanWish {
        PlanWish {
            objective: Goal::Goodput,
            only: Vec::new(),
            keep: Vec::new(),
            max_delay: None,
            no_loss_for: Vec::new(),
            finalists: 12,
            repeats: 5,
            threads: None,
        }
    }
}

impl PlanWish {
    /// Why an option is out of the question before anything is simulated; `None` where it is not.
    pub fn refuses(&self, option: &CureOption) -> Option<String> {
        if let Some(place) = option.by.iter().find(|p| !self.only.is_empty() && !self.only.contains(p)) {
            return Some(format!("the {} would have to change", place.name()));
        }
        let kept = self.keep.iter().find(|k| option.touches.contains(k));
        kept.map(|kept| format!("it changes {kept}, which is to be kept"))
    }
}
