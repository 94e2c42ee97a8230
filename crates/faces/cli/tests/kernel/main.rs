//! The program on the real kernel, as root. One at a time, in real seconds: `make netns`.

mod cc;
mod common;
mod faults;
mod plan;
mod watch;
