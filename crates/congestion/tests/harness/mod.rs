//! The connection around a controller that every test here drives: see [`vectors::Flow`].
#![allow(unused_imports)] // each test binary uses its part

pub use vectors::{Flow, Subject};
