//! Path elements (links, queues, limiters, loss) as state machines without a clock.
//!
//! An [`Element`] has four operations, called in this order:
//!
//! 1. input: [`Element::handle_packet`], a packet arrives at `now`;
//! 2. input: [`Element::handle_wake`], time has passed; the element catches up to `now`;
//! 3. output: the [`Outbox`] that both inputs write to: packets sent (each with the time at which it was
//!    *due*), packets dropped, packets bounced (too big);
//! 4. next wake-up: [`Element::next_wake`].
//!
//! Early calls are harmless; late calls lose nothing and change no schedule. The same elements run in virtual
//! time (simulator) and in real time (lab), so they are generic over a packet's body.

mod bucket;
mod cells;
mod chain;
mod config;
pub mod delay;
mod depth;
pub mod duplicate;
mod element;
mod events;
pub mod handover;
pub mod htb;
pub mod jitter;
mod line;
pub mod link;
pub mod loss;
pub mod outage;
mod packet;
pub mod policer;
mod problem;
pub mod queue;
pub mod radio;
pub mod rate_trace;
pub mod reorder;
mod server;
pub mod shaper;
mod size_limit;
mod stage;
pub mod train;
pub mod tunnel;
pub mod tunnel_end;

pub use chain::{Chain, Passage};
pub use config::{Config, DisplayNames, StageLimit};
pub use element::{Account, DropCause, Element, Gauge, Outbox};
pub use events::RateStep;
pub use htb::Class;
pub use jitter::Distribution;
pub use loss::LossModel;
pub use outage::Buffer;
pub use packet::{Body, Ecn, Fragment, Packet};
pub use policer::{Action, Meter};
pub use problem::Problem;
pub use queue::QueueConfig;
pub use shaper::Refill;
pub use size_limit::{RefusedSize, SizeLimit};
pub use tunnel::{Overhead, Preset};

// The registry of elements, one line each, in the order of the documentation. See `stage.rs`.
stage::stages! {
    "link" => link::Link,
    "delay" => delay::Delay,
    "jitter" => jitter::Jitter,
    "rate-trace" => rate_trace::RateTrace,
    "outage" => outage::Outage,
    "handover" => handover::Handover,
    "train" => train::Train,
    "policer" => policer::Policer,
    "shaper" => shaper::Shaper,
    "htb" => htb::Htb,
    "loss" => loss::Loss,
    "duplicate" => duplicate::Duplicate,
    "reorder" => reorder::Reorder,
    "tunnel" => tunnel::Tunnel,
    "tunnel-end" => tunnel_end::TunnelEnd,
}
