//! Congestion controls compared with their papers, with the kernel, and under random ACKs. One test program,
//! so that generic code is compiled once.

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
