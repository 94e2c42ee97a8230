//! A scenario as an environment for reinforcement learning: a flow whose window or pacing rate an actor sets,
//! step by step.
//!
//! Order of calls: [`World::new`], which simulates until the flow is established; [`World::step`] any number
//! of times. A step carries out an action, simulates a fixed time, and yields an observation and a reward,
//! which no longer change once [`World::is_over`]. The same scenario, seed and actions give the same numbers.
//!
//! A [`Scheme`] defines observations, actions and rewards; each is a file and a registry line.
//! [`StepFigures`] are a step's measurements, from which all schemes derive them. A world with a classic
//! congestion control ([`WorldOptions::classic`]) takes no actions; it gives the rewards of that control for
//! comparison.
//!
//! [`WindowActor`] is the part that knows neither clock nor wire. A sender in real time uses it as the world
//! does, and sends its segments as datagrams ([`encode_segment`]).

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
pub use play::{World, WorldOptions, WorldStep};
pub use scheme::{ActionSpace, SCHEMES, Scheme, scheme};
pub use tally::{AckTally, TalliedControl};
