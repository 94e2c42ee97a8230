//! Queues for links, shapers and other elements: one file each in `queue/`, with a `mod` line and a line in
//! `queues!` below.
//!
//! A new queue is one file with a configuration that implements `Discipline`, these two lines, and an arm in
//! `import/src/export/queue.rs` and in `experiment/src/limitations/change.rs`, which list all queues. It then
//! has the syntax `{ kind = "…", … }`, a JSON Schema and a section in the documentation (`cargo xtask
//! bless`), and is covered by the tests and fuzzers of all queues. A kind has the name that `tc` uses if
//! Linux has the discipline.
//!
//! A drop for want of room is [`DropCause::Overflow`](crate::DropCause), whichever packet is dropped; a drop
//! that a control law decides, at the tail (RED, PIE) or at the head (CoDel), is `DropCause::Aqm`.

pub mod codel;
pub mod drr;
pub mod fifo;
mod flows;
pub mod fq_codel;
pub mod pie;
pub mod red;
pub mod wfq;

use crate::problem::Problem;
use crate::{Account, Ecn, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Time};

/// A number of packets and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLoad {
    pub packets: u64,
    pub bytes: u64,
}

impl QueueLoad {
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += size as u64;
    }
    pub(crate) fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= size as u64;
    }
}

/// Decides which packet is sent next and which are dropped.
///
/// Packets passed to the queue are already counted as held in `account`. Packets that it drops it removes
/// there and puts into `out`.
pub trait Queue<B>: Send {
    /// Queues a packet at `now`, or drops it or another one. `in_service` is the packet that a shaper has
    /// taken out but not yet sent: it counts towards the limits, as the head of a Linux TBF does.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    );

    /// The next packet with its arrival time; `None` if the queue is empty.
    fn dequeue(
        &mut self,
        now: Time,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)>;

    /// The queued packets.
    fn load(&self) -> QueueLoad;
}

/// Marks congestion experienced if the packet is ECN-capable (RFC 3168 section 5). Returns whether it did.
pub(crate) fn mark<B>(packet: &mut Packet<B>, account: &mut Account) -> bool {
    if !packet.ecn.is_capable() {
        return false;
    }
    packet.ecn = Ecn::Ce;
    account.marked += 1;
    true
}

/// The interface of a queue's configuration to the registry. The first doc comment of a type that implements
/// this describes the queue in the documentation.
pub(crate) trait Discipline: Sized {
    type Queue<B: Send + 'static>: Queue<B> + 'static;

    /// Display name.
    const LABEL: Label;

    /// Whether the queue drops or marks before it is full.
    const DROPS_EARLY: bool = false;

    /// Maximum size.
    fn limits(&self) -> QueueLoad;

    /// Checks for values out of range.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the queue; `seed` and `name` determine its random stream.
    fn build<B: Send + 'static>(&self, seed: u64, name: &str) -> Self::Queue<B>;

    /// A random valid configuration with small limits and short times, so that a few hundred packets reach
    /// them.
    fn draw(choices: &mut Choices) -> Self;
}

macro_rules! queues {
    ($($kind:literal => $module:ident::$type:ident,)*) => {
        $(pub use $module::$type;)*

        /// A queue's configuration: `{ kind = "fifo", packets = 200 }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        #[allow(missing_docs)] // each is documented where it is configured
        pub enum QueueConfig {
            $(#[serde(rename = $kind)] $type($type),)*
        }

        impl QueueConfig {
            /// All kinds with their display names.
            pub const LABELS: &[(&str, Label)] = &[$(($kind, <$type as Discipline>::LABEL)),*];

            /// All kinds.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// The kind of this queue.
            pub fn kind(&self) -> &'static str {
                match self { $(QueueConfig::$type(_) => $kind,)* }
            }

            /// Whether the queue drops or marks before it is full.
            pub fn drops_early(&self) -> bool {
                match self { $(QueueConfig::$type(_) => <$type as Discipline>::DROPS_EARLY,)* }
            }

            /// Maximum size: packets of all flows together, and bytes.
            pub fn limits(&self) -> QueueLoad {
                match self { $(QueueConfig::$type(q) => q.limits(),)* }
            }

            /// Checks for values out of range.
            pub fn check(&self) -> Result<(), Problem> {
                match self { $(QueueConfig::$type(q) => q.check(),)* }
            }

            /// Builds the queue; `seed` and `name` determine its random stream.
            pub fn build<B: Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Queue<B>> {
                match self { $(QueueConfig::$type(q) => Box::new(q.build(seed, name)),)* }
            }

            /// A random valid queue of a random kind.
            pub fn draw(choices: &mut Choices) -> QueueConfig {
                let kinds = [$(|c: &mut Choices| QueueConfig::$type($type::draw(c))),*];
                kinds[choices.below(kinds.len() as u64) as usize](choices)
            }
        }
    };
}

queues! {
    "fifo" => fifo::Fifo,
    "wfq" => wfq::Wfq,
    "drr" => drr::Drr,
    "codel" => codel::CoDel,
    "fq-codel" => fq_codel::FqCoDel,
    "red" => red::Red,
    "pie" => pie::Pie,
}

pub use wfq::Weight;

impl Default for QueueConfig {
    /// A FIFO of 1000 packets, Linux's `txqueuelen`.
    fn default() -> Self {
        QueueConfig::Fifo(Fifo::default())
    }
}

/// Fails if a limit is zero.
pub(crate) fn at_least_one(key: &str, n: u64) -> Result<(), Problem> {
    if n == 0 { Err(Problem::new(key, "must be at least 1")) } else { Ok(()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(flow: u32, size: u32) -> Box<Packet<()>> {
        let ecn = Ecn::NotEct;
        Box::new(Packet { id: 0, size, overhead: 0, flow, dscp: 0, ecn, fragment: None, body: () })
    }

    /// Queues `n` packets at time zero; returns the flows of the dropped ones.
    pub(crate) fn fill(q: &mut impl Queue<()>, flow: u32, size: u32, n: u32) -> Vec<u32> {
        let (mut account, mut out) = (Account::default(), Outbox::default());
        for _ in 0..n {
            account.enter();
            q.enqueue(Time::ZERO, packet(flow, size), QueueLoad::default(), &mut account, &mut out);
        }
        out.dropped.iter().map(|d| d.1.flow).collect()
    }

    /// Dequeues up to `n` packets at time zero; returns their flows.
    pub(crate) fn drain_flows(q: &mut impl Queue<()>, n: usize) -> Vec<u32> {
        let (mut account, mut out) = (Account::default(), Outbox::default());
        let mut next = || q.dequeue(Time::ZERO, &mut account, &mut out);
        std::iter::from_fn(|| next().map(|(_, p)| p.flow)).take(n).collect()
    }

    #[test]
    fn every_kind_keeps_its_limit_and_counts_every_packet() {
        for kind in QueueConfig::KINDS {
            let config: QueueConfig =
                serde_json::from_value(serde_json::json!({ "kind": kind, "packets": 50 })).unwrap();
            assert_eq!(config.kind(), *kind);
            config.check().unwrap();
            let mut q = config.build::<()>(1, "q");
            let (mut account, mut out) = (Account::default(), Outbox::default());
            for i in 0..200 {
                account.enter();
                let p = packet(i % 7, 100 + i);
                q.enqueue(Time::ZERO, p, QueueLoad::default(), &mut account, &mut out);
                assert_eq!(q.load().packets, account.held, "{kind}");
                assert!(q.load().packets <= 50, "{kind}");
            }
            while let Some((since, p)) = q.dequeue(Time::ZERO, &mut account, &mut out) {
                account.send(&mut out, since, Time::ZERO, p);
                assert_eq!(q.load().packets, account.held, "{kind}");
            }
            assert_eq!(q.load(), QueueLoad::default(), "{kind}");
            assert!(account.balances() && account.passed > 0, "{kind}");
        }
    }
}
