//! Compares the simulator with recordings of the kernel.

mod recorded;
mod repeats;
mod samples;
