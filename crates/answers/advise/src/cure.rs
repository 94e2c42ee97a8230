//! The cures: a file each, with its `mod` line and a line in the registry below.
//!
//! A [`Cure`] inspects a [`Situation`] and returns what it could do there as [`CureOption`]s: a change of the
//! scenario with concrete settings, who must be able to make it, and the changes on a real path with their
//! commands. A cure that makes no sense in a situation returns nothing.

use crate::Situation;
use result::{Change, ChangePlace, CommandSet};
use scenario::Scenario;
use std::fmt;
use std::sync::Arc;

mod bbr;
mod bbr3;
mod bursts;
mod codel;
mod connections;
mod cubic;
mod fq_codel;
mod max_pacing_rate;
mod mss;
mod mtu_probing;
mod pace;
mod policer_bucket;
mod queue_depth;
mod receive_buffer;
mod relay;
mod relay_bbr;
mod rto_min;
mod send_buffer;
mod shaper_burst;
mod shaper_front;
mod shaper_instead;
mod shaper_port;
mod tune;
mod wfq;

/// The part of a path that a cure changes. Options that change the same part are never combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lever {
    Control,
    /// Pacing of the sender.
    Pacing,
    /// Size of the sender's bursts.
    Bursts,
    /// Socket buffers at the ends.
    Buffers,
    /// The limiter, or what is in front of it.
    Limiter,
    /// The queue at the slowest link.
    Queue,
    /// The segment size.
    Segments,
    /// The sender's retransmission timeout.
    Timers,
    /// The number of connections.
    Connections,
    /// A proxy that terminates the connections.
    Relay,
}

/// A measure that may help.
pub trait Cure: Sync {
    /// Returns the cure's name in options and JSON.
    fn name(&self) -> &'static str;
    /// Describes the cure in a sentence.
    fn about(&self) -> &'static str;
    /// Describes the scenarios that the cure applies to, as the end of a sentence that begins "only for
    /// scenarios": exactly those where [`Cure::options`] returns any.
    fn applies(&self) -> &'static str;
    /// Describes in a sentence when the cure does harm.
    fn hurts(&self) -> &'static str;
    /// Whether a released Linux kernel has what it needs.
    fn is_released(&self) -> bool {
        true
    }
    /// Whether commands for several hosts are alternatives, of which one is enough.
    fn is_at_one_host(&self) -> bool {
        false
    }
    /// Returns what the cure changes.
    fn lever(&self) -> Lever;
    /// Returns what the cure could do here; nothing where it makes no sense.
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption>;
}

/// A change of a scenario.
pub type ScenarioChange = Arc<dyn Fn(&mut Scenario) + Send + Sync>;

/// Applies all options to a scenario, in their order.
pub fn cured(base: &Scenario, options: &[CureOption]) -> Scenario {
    options.iter().fold(base.clone(), |scenario, option| option.applied(&scenario))
}

/// A change that a cure proposes in a situation.
#[derive(Clone)]
pub struct CureOption {
    /// The cure's name.
    pub cure: &'static str,
    /// Name among all options of all cures: the cure's name, with a suffix if the cure has several.
    pub name: String,
    /// Short description of what it does.
    pub title: String,
    /// The parties that must be able to apply it, all of them.
    pub by: Vec<ChangePlace>,
    /// Stages that it changes or removes, as `link.direction.stage`, and their kinds.
    pub touches: Vec<String>,
    /// The change of the scenario.
    pub change: ScenarioChange,
    /// The changes on a real path, with their commands.
    pub remedies: Vec<Change>,
    /// How the scenario must be changed before the commands are run on it. For example, the policer is
    /// removed that a Linux shaper replaces. `None` if it stays as it is.
    pub beneath: Option<ScenarioChange>,
}

impl fmt::Debug for CureOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CureOption")
            .field("name", &self.name)
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

impl CureOption {
    /// Creates an option that touches no stage.
    fn new(
        cure: &dyn Cure,
        title: impl Into<String>,
        by: &[ChangePlace],
        change: impl Fn(&mut Scenario) + Send + Sync + 'static,
    ) -> CureOption {
        CureOption {
            cure: cure.name(),
            name: cure.name().into(),
            title: title.into(),
            by: by.to_vec(),
            touches: Vec::new(),
            change: Arc::new(change),
            remedies: Vec::new(),
            beneath: None,
        }
    }

    /// Appends `more` to the option's name.
    fn named(self, more: &str) -> CureOption {
        CureOption { name: format!("{}-{more}", self.cure), ..self }
    }

    /// Sets the stages that the option touches.
    fn touching(self, touches: Vec<String>) -> CureOption {
        CureOption { touches, ..self }
    }

    /// Adds the changes on a real path.
    fn with(mut self, remedies: impl IntoIterator<Item = Change>) -> CureOption {
        self.remedies.extend(remedies);
        self
    }

    /// Sets how the scenario must be changed before the commands are run.
    fn on_changed_scenario(self, change: impl Fn(&mut Scenario) + Send + Sync + 'static) -> CureOption {
        CureOption { beneath: Some(Arc::new(change)), ..self }
    }

    /// Returns the commands of all changes.
    pub fn commands(&self) -> impl Iterator<Item = &CommandSet> {
        self.remedies.iter().flat_map(|r| &r.commands)
    }

    /// Returns the hosts that need commands, each once.
    pub fn hosts(&self) -> Vec<&str> {
        let one = named(self.cure).is_some_and(|c| c.is_at_one_host());
        let needed = self.remedies.iter().flat_map(|r| {
            let first = r.commands.first();
            let like_first = move |c: &&CommandSet| first.is_some_and(|first| c.platform == first.platform);
            r.commands.iter().filter(like_first).take(if one { 1 } else { usize::MAX })
        });
        let mut hosts: Vec<&str> = needed.map(|c| c.at.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Returns the scenario with the change applied.
    pub fn applied(&self, scenario: &Scenario) -> Scenario {
        let mut changed = scenario.clone();
        (self.change)(&mut changed);
        changed
    }
}

pub use shaper_front::shaper_in_front_of;

/// Returns the cure of this name.
pub fn named(name: &str) -> Option<&'static dyn Cure> {
    CURES.iter().copied().find(|c| c.name() == name)
}

macro_rules! cures {
    ($($module:ident::$type:ident,)*) => {
        /// All cures, in the order of the reference.
        pub const CURES: &[&dyn Cure] = &[$(&$module::$type),*];
    };
}

// The registry of cures, a line each.
cures! {
    bbr::BbrControl,
    bbr3::Bbr3Control,
    cubic::CubicControl,
    pace::FqPacing,
    max_pacing_rate::MaxPacingRate,
    shaper_instead::ShaperInstead,
    shaper_front::ShaperInFront,
    shaper_port::ShaperAtPort,
    policer_bucket::PolicerBucket,
    shaper_burst::ShaperBurst,
    codel::CoDelQueueing,
    fq_codel::FqCoDelQueueing,
    wfq::WfqQueueing,
    queue_depth::QueueDepth,
    receive_buffer::LargerReceiveBuffer,
    send_buffer::LargerSendBuffer,
    mss::SegmentSize,
    mtu_probing::MtuProbes,
    rto_min::ShortTimeout,
    bursts::SmallBursts,
    connections::MoreConnections,
    relay::NearRelay,
    relay_bbr::NearRelayBbr,
}
