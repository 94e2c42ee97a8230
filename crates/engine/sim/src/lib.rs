//! The virtual clock: a scenario's topology and flows driven by an event queue.
//!
//! Pure: no clock, no file, no ambient randomness; the same scenario and seed give the same bytes.
//! Every chain of path elements, every connection end and every application has at most one event
//! pending. Ties in time are served first-in first-out.

mod agenda;
mod cable;
mod collect;
mod datagrams;
mod end_id;
mod flows;
mod heap;
mod network;
mod reroute;
mod run;
mod session;
mod tap;
mod unrest;
pub mod wire;
pub mod world;

pub use flows::OwnControls;
pub use run::SimOptions;
pub use session::{SimSession, run};
pub use tap::{Passage, SizeRefusal, Tap};
