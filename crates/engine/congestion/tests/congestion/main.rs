//! Congestion controls against their papers, their kernel and random ACKs. One program of them all: what is generic is compiled once.

mod bbr;
mod bbr_path;
mod compound;
mod cubic;
mod harness;
mod hsr;
mod invariants;
mod kernel;
mod pipe;
mod response;
mod rfc9438;
mod vectors;
mod westwood;
