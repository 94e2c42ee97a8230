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

mod element;
mod packet;

pub use element::{Account, Cause, Element, Gauge, Outbox};
pub use packet::{Body, Ecn, Fragment, Packet};
