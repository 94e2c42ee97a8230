//! What a packet meets between two hosts, as state machines without a clock.
//!
//! An [`Element`] is driven by four verbs, in this order:
//!
//! 1. input: [`Element::handle_packet`], a packet arrives at `now`;
//! 2. input: [`Element::handle_wake`], time has passed; the element catches up to `now`;
//! 3. output: the [`Outbox`] both inputs write to: packets handed on (each stamped with the time
//!    it was *due*), packets dropped, packets bounced (too big);
//! 4. next wake-up: [`Element::next_wake`].
//!
//! Early calls are harmless, late calls lose nothing and move no schedule. The same elements run
//! in virtual time (simulator) and in real time (lab), so they are generic over a packet's body.

mod bucket;
mod cells;
mod chain;
mod config;
mod delay;
mod disorder;
mod element;
mod events;
mod handover;
mod htb;
mod jitter;
mod line;
mod link;
mod loss;
mod outage;
mod packet;
mod policer;
pub mod queue;
pub mod radio;
mod rate_trace;
mod server;
mod shaper;
mod stage;
mod train;
mod tunnel;

pub use chain::{Chain, Passage};
pub use config::{Config, Problem};
pub use delay::Delay;
pub use disorder::{Duplicate, Reorder};
pub use element::{Account, Cause, Element, Gauge, Outbox};
pub use events::Step;
pub use handover::Handover;
pub use htb::{Class, Htb};
pub use jitter::{Distribution, Jitter};
pub use link::Link;
pub use loss::{Loss, LossModel};
pub use outage::{Buffer, Outage};
pub use packet::{Body, Ecn, Fragment, Packet};
pub use policer::{Action, Meter, Policer};
pub use queue::QueueConfig;
pub use rate_trace::RateTrace;
pub use shaper::{Refill, Shaper};
pub use stage::Stage;
pub use train::Train;
pub use tunnel::{Overhead, Preset, Tunnel, TunnelEnd};
