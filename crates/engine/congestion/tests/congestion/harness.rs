//! The simulated connection that the tests drive a controller with: see [`vectors::Flow`].

pub use vectors::{Flow, Subject};
