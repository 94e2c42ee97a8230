//! What path elements do, packet by packet. One program of them all: what is generic is compiled once.

mod common;
mod damage;
mod limiters;
mod links;
mod mobile;
mod properties;
mod stages;
