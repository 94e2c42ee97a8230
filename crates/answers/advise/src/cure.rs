//! Cures: one file each, with its `mod` line and a line in the registry below.
//!
//! A [`Cure`] looks at a [`Situation`] and offers what it could do there: [`CureOption`]s, each a change of the scenario
//! with its settings worked out, who must be able to make it, and the changes that make it on a real path, with their commands. One that would make no sense there
//! offers nothing.

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

/// What a cure changes. Two options that change the same are never combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lever {
    /// The sender's congestion control.
    Control,
    /// How evenly the sender sends.
    Pacing,
    /// How much leaves the sender at once.
    Bursts,
    /// Buffers at the ends.
    Buffers,
    /// The limiter, or what stands in front of it.
    Limiter,
    /// The queue at the slowest line.
    Queue,
    /// The size of segments.
    Segments,
    /// How long the sender waits before it takes a packet for lost.
    Timers,
    /// How many connections there are.
    Connections,
    /// Who ends the connections.
    Relay,
}

/// Something that may help.
pub trait Cure: Sync {
    /// Its name, as options and JSON spell it.
    fn name(&self) -> &'static str;
    /// What it is, a sentence.
    fn about(&self) -> &'static str;
    /// For what scenarios it is, to follow "only for scenarios": exactly those where [`Cure::options`] has any.
    fn applies(&self) -> &'static str;
    /// When it hurts, a sentence.
    fn hurts(&self) -> &'static str;
    /// Whether a released Linux kernel has what it needs.
    fn is_released(&self) -> bool {
        true
    }
    /// Whether commands for several hosts are alternatives, of which one is enough.
    fn is_at_one_host(&self) -> bool {
        false
    }
    /// What it changes.
    fn lever(&self) -> Lever;
    /// What it could do here; nothing where it makes no sense.
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption>;
}

/// A change of a scenario.
pub type ScenarioChange = Arc<dyn Fn(&mut Scenario) + Send + Sync>;

/// A scenario with all of these done, one after the other.
pub fn cured(base: &Scenario, options: &[CureOption]) -> Scenario {
    options.iter().fold(base.clone(), |scenario, option| option.applied(&scenario))
}

/// What a cure could do in a situation.
#[derive(Clone)]
pub struct CureOption {
    /// The cure's name.
    pub cure: &'static str,
    /// Its name among all options of all cures: the cure's, and what tells it from the cure's others.
    pub name: String,
    /// What it does, in a few words.
    pub title: String,
    /// Who must be able to do it: those who run these places, all of them.
    pub by: Vec<ChangePlace>,
    /// Stages that it changes or takes away, as `link.direction.stage`, and their kinds.
    pub touches: Vec<String>,
    /// What it changes.
    pub change: ScenarioChange,
    /// The changes that make it on a real path, with their commands.
    pub remedies: Vec<Change>,
    /// What the scenario is like where the commands are run as well, if it is not left as it is: without the policer that a
    /// shaper on Linux takes the place of.
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
    /// One that touches no stage.
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

    /// The same under a name of its own.
    fn named(self, more: &str) -> CureOption {
        CureOption { name: format!("{}-{more}", self.cure), ..self }
    }

    /// The same with what it touches.
    fn touching(self, touches: Vec<String>) -> CureOption {
        CureOption { touches, ..self }
    }

    /// The same with the changes that make it on a real path.
    fn with(mut self, remedies: impl IntoIterator<Item = Change>) -> CureOption {
        self.remedies.extend(remedies);
        self
    }

    /// The same with what stays where the commands are run.
    fn beneath(self, change: impl Fn(&mut Scenario) + Send + Sync + 'static) -> CureOption {
        CureOption { beneath: Some(Arc::new(change)), ..self }
    }

    /// The commands of all its changes.
    pub fn commands(&self) -> impl Iterator<Item = &CommandSet> {
        self.remedies.iter().flat_map(|r| &r.commands)
    }

    /// Hosts at which something has to be typed, each once.
    pub fn hosts(&self) -> Vec<&str> {
        let one = named(self.cure).is_some_and(|c| c.is_at_one_host());
        let same = self.remedies.iter().flat_map(|r| {
            let first = r.commands.first();
            let like_first = move |c: &&CommandSet| first.is_some_and(|first| c.platform == first.platform);
            r.commands.iter().filter(like_first).take(if one { 1 } else { usize::MAX })
        });
        let mut hosts: Vec<&str> = same.map(|c| c.at.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// The scenario with the change made.
    pub fn applied(&self, scenario: &Scenario) -> Scenario {
        let mut changed = scenario.clone();
        (self.change)(&mut changed);
        changed
    }
}

/// The cure of this name.
pub fn named(name: &str) -> Option<&'static dyn Cure> {
    CURES.iter().copied().find(|c| c.name() == name)
}

macro_rules! cures {
    ($($module:ident::$type:ident,)*) => {
        /// All cures, in the order of the reference.
        pub const CURES: &[&dyn Cure] = &[$(&$module::$type),*];
    };
}

// The registry of cures: a line each.
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
