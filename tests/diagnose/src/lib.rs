//! The diagnosis held against scenarios whose truth is known: a corpus drawn from a seed, played by the
//! simulator, labelled by what the simulator knows, and scored.

pub mod draw;
pub mod judge;
pub mod line;
pub mod play;
pub mod score;
pub mod truth;
pub mod watch;
pub mod wire;

pub use draw::{Case, Vantage};
pub use play::{PcapSink, play};
pub use truth::{FlowTruth, LimiterTruth, Truth};
