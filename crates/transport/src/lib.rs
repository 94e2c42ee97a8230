//! Simulated TCP and UDP endpoints.

mod config;

pub use config::{App, Arrival, Profile, Stack};
