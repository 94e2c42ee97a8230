//! The connection around a controller that every test here drives: see [`vectors::Flow`].

pub use vectors::{Flow, Subject};
