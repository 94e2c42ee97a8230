//! The simulator against what was recorded of the kernel.

mod recorded;
mod repeats;
mod samples;
