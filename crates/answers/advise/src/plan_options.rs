//! The user's options for a plan: an objective, constraints, and the effort of the simulation.

use crate::CureOption;
use result::ChangePlace;
use std::num::NonZeroUsize;
use units::{Goal, Span};

/// The objective and the constraints of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// The objective that cures are ranked by.
    pub objective: Goal,
    /// The parties that can act; all if empty.
    pub only: Vec<ChangePlace>,
    /// Kinds or names (`link.direction.stage`) of stages that must not be changed.
    pub keep: Vec<String>,
    /// Largest accepted 95th percentile of the round-trip time.
    pub max_delay: Option<Span>,
    /// Flows that must not lose packets: by name, or `udp` for all datagrams; `voice` is an added call.
    pub no_loss_for: Vec<String>,
    /// Number of finalists, which run for the whole duration.
    pub finalists: usize,
    /// Number of seeds of each finalist.
    pub repeats: u32,
    /// Number of runs at a time; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions {
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

impl PlanOptions {
    /// Returns why an option is excluded before anything is simulated; `None` where it is not.
    pub fn exclusion_reason(&self, option: &CureOption) -> Option<String> {
        if let Some(place) = option.by.iter().find(|p| !self.only.is_empty() && !self.only.contains(p)) {
            return Some(format!("the {} would have to change", place.name()));
        }
        let kept = self.keep.iter().find(|k| option.touches.contains(k));
        kept.map(|kept| format!("it changes {kept}, which must be kept"))
    }
}
