//! A running proxy over loopback. One at a time, in real seconds: `make netns`.

mod common;
mod leftovers;
mod machine;
mod service;
mod storm;
mod streams;
mod swarm;
