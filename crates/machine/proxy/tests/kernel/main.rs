//! Tests of a running proxy over loopback. One at a time, in real time: `make netns`.

mod common;
mod leftovers;
mod machine;
mod service;
mod storm;
mod streams;
mod swarm;
