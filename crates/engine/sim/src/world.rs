//! A scenario as an environment for learning: a flow whose window or pacing rate somebody else sets, step by step.
//!
//! In this order: [`World::new`], which plays until the flow is established; [`World::step`], as often as wanted: an
//! action is carried out, so much time is played, and what came of it is an observation and a reward; both stay as they
//! are once [`World::is_over`]. Same scenario, seed and actions: the same numbers.
//!
//! What is seen, done and rewarded is a [`Scheme`]: a file and a line each. [`StepFigures`] is what a step measured, and what
//! all of them are made of. A world without an actor is played by the control that its [`WorldWish`] names: a
//! classic control beside the learned ones, with the same rewards.
//!
//! [`WindowActor`] is what of it knows neither clock nor wire: whoever has a sender in real time uses it as the world does, and
//! sends its segments as datagrams ([`encode_segment`]).

mod actor;
mod datagram;
mod error;
mod figures;
mod play;
mod scheme;
mod tally;

pub use actor::WindowActor;
pub use datagram::{decode_segment, encode_segment};
pub use error::WorldError;
pub use figures::StepFigures;
pub use play::{World, WorldStep, WorldWish};
pub use scheme::{ActionSpace, SCHEMES, Scheme, scheme};
pub use tally::{AckTally, TalliedControl};
