//! The simulator: the topology and flows of a scenario, driven in virtual time by an event queue.
//!
//! Pure: no clock, no file, no ambient randomness; the same scenario and seed give the same bytes. Every
//! chain of path elements, connection end and application has at most one pending event. Events of the same
//! time are handled in the order in which they were scheduled.

mod agenda;
mod cable;
mod collect;
mod datagrams;
mod end_id;
mod flows;
mod host_jitter;
mod network;
mod reroute;
mod run;
mod session;
mod tap;

pub mod wire;
pub mod world;

pub use flows::OwnControls;
pub use run::SimOptions;
pub use session::{SimSession, run};
pub use tap::{Passage, SizeRefusal, Tap};
