//! Behaviour of path elements, packet by packet. One test program, so that generic code is compiled once.

mod common;
mod damage;
mod limiters;
mod links;
mod mobile;
mod properties;
mod stages;
