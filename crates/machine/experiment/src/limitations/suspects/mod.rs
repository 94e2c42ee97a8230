//! The registry of suspects: each has one file, a `mod` line and a line in [`SUSPECTS`]. If gains are equal,
//! the earlier suspect wins, so more specific ones come first.

mod application;
mod buffers;
mod competing_flow;
mod congestion_control;
mod duplication;
mod fault;
mod handover;
mod jitter;
mod loss;
mod mtu;
mod outage;
mod pacing_cap;
mod policer;
mod queue_limit;
mod radio_errors;
mod rate;
mod receive_window;
mod relay_buffer;
mod reordering;
mod sack;
mod send_buffer;
mod slow_start;
mod standing_queue;

use super::case::{Case, SeenStage, StageKey};
use super::change::stage_mut;
use path::Stage;
use result::{Carried, LimitationKind};
use scenario::Scenario;
use std::sync::Arc;
use units::Goal;

/// A possible limitation.
pub(super) trait Suspect: Sync {
    fn kind(&self) -> LimitationKind;

    /// The places in this scenario where the suspect occurs, and how to switch off its effect there.
    fn find(&self, case: &Case<'_>) -> Vec<Removal>;

    /// Whether to try the suspect only if all others have no gain.
    fn is_last_resort(&self, goal: Goal) -> bool {
        let _ = goal;
        false
    }
}

/// All suspects.
pub(super) const SUSPECTS: &[&dyn Suspect] = &[
    &loss::Loss,
    &outage::Outages,
    &fault::Faults,
    &handover::Handovers,
    &radio_errors::RadioErrors,
    &policer::Policers,
    &mtu::Mtu,
    &reordering::Reordering,
    &duplication::Duplication,
    &jitter::JitterSuspect,
    &queue_limit::QueueLimit,
    &standing_queue::StandingQueue,
    &receive_window::ReceiveWindow,
    &send_buffer::SendBuffer,
    &buffers::Buffers,
    &relay_buffer::RelayBuffer,
    &sack::Sack,
    &pacing_cap::PacingCap,
    &application::Application,
    &competing_flow::CompetingFlow,
    &rate::RateSuspect,
    &slow_start::SlowStart,
    &congestion_control::CongestionControl,
];

/// An edit of a scenario.
pub(super) type Change = Arc<dyn Fn(&mut Scenario) + Send + Sync>;

/// A suspect at a place, with the edit that switches off its effect.
#[derive(Clone)]
pub(super) struct Removal {
    pub kind: LimitationKind,
    /// The first place is the one to report; the others are switched off with it.
    pub places: Vec<String>,
    pub carries: Option<Carried>,
    pub rate_mbps: Option<f64>,
    pub change: Change,
}

impl Removal {
    /// A suspect at a host, flow, relay or fault.
    fn at(
        kind: LimitationKind,
        place: &str,
        change: impl Fn(&mut Scenario) + Send + Sync + 'static,
    ) -> Removal {
        let change: Change = Arc::new(change);
        Removal { kind, places: vec![place.into()], carries: None, rate_mbps: None, change }
    }

    /// A suspect at a stage.
    fn of_stage(
        kind: LimitationKind,
        seen: &SeenStage<'_>,
        change: impl Fn(&mut Stage) + Send + Sync + 'static,
    ) -> Removal {
        let key: StageKey = seen.key;
        let removal = Removal::at(kind, &seen.name, move |s| change(stage_mut(s, key)));
        Removal { carries: Some(seen.carries), ..removal }
    }

    /// A suspect whose stage is replaced by `new`.
    fn replaced(kind: LimitationKind, seen: &SeenStage<'_>, new: Stage) -> Removal {
        Removal::of_stage(kind, seen, move |stage| *stage = new.clone())
    }

    /// Several suspects switched off at once.
    pub fn combined(kind: LimitationKind, list: &[&Removal]) -> Removal {
        let changes: Vec<Change> = list.iter().map(|r| r.change.clone()).collect();
        let places = list.iter().flat_map(|r| r.places.clone()).collect();
        let change: Change = Arc::new(move |s: &mut Scenario| changes.iter().for_each(|change| change(s)));
        let same = |r: &&&Removal| r.carries == list[0].carries;
        let carries = list[0].carries.filter(|_| list.iter().all(|r| same(&r)));
        Removal { kind, places, carries, rate_mbps: list[0].rate_mbps, change }
    }
}
