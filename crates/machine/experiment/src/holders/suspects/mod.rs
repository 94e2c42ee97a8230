//! The registry of suspects: one file, its `mod` line and one line below each. Their order is the order of ties, the more
//! specific ones first.

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
use result::{Carried, HolderKind};
use scenario::Scenario;
use std::sync::Arc;
use units::Goal;

/// Something that may hold flows.
pub(super) trait Suspect: Sync {
    fn kind(&self) -> HolderKind;

    /// Where it is in this scenario, and how its effect is switched off there.
    fn find(&self, case: &Case<'_>) -> Vec<Removal>;

    /// It is tried only where all others gain nothing.
    fn is_late(&self, goal: Goal) -> bool {
        let _ = goal;
        false
    }
}

/// All of them.
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

/// A suspect at its place, and the edit that switches its effect off.
#[derive(Clone)]
pub(super) struct Removal {
    pub kind: HolderKind,
    /// The first is the one that is named; the others are switched off with it.
    pub places: Vec<String>,
    pub carries: Option<Carried>,
    pub rate_mbps: Option<f64>,
    pub change: Change,
}

impl Removal {
    /// At a host, flow, relay or fault.
    fn at(kind: HolderKind, place: &str, change: impl Fn(&mut Scenario) + Send + Sync + 'static) -> Removal {
        let change: Change = Arc::new(change);
        Removal { kind, places: vec![place.into()], carries: None, rate_mbps: None, change }
    }

    /// At a stage.
    fn of_stage(
        kind: HolderKind,
        seen: &SeenStage<'_>,
        change: impl Fn(&mut Stage) + Send + Sync + 'static,
    ) -> Removal {
        let key: StageKey = seen.key;
        let removal = Removal::at(kind, &seen.name, move |s| change(stage_mut(s, key)));
        Removal { carries: Some(seen.carries), ..removal }
    }

    /// A stage in the place of this one.
    fn replaced(kind: HolderKind, seen: &SeenStage<'_>, new: Stage) -> Removal {
        Removal::of_stage(kind, seen, move |stage| *stage = new.clone())
    }

    /// All of these at once.
    pub fn together(kind: HolderKind, list: &[&Removal]) -> Removal {
        let changes: Vec<Change> = list.iter().map(|r| r.change.clone()).collect();
        let places = list.iter().flat_map(|r| r.places.clone()).collect();
        let change: Change = Arc::new(move |s: &mut Scenario| changes.iter().for_each(|change| change(s)));
        let same = |r: &&&Removal| r.carries == list[0].carries;
        let carries = list[0].carries.filter(|_| list.iter().all(|r| same(&r)));
        Removal { kind, places, carries, rate_mbps: list[0].rate_mbps, change }
    }
}
