//! Tests of the program on the real kernel, as root, one at a time and in real time: `make netns`.

mod apply;
mod attach;
mod cc;
mod common;
#[path = "../../../../answers/audit/tests/kernel/engines.rs"]
mod engines;
mod faults;
mod measure;
mod plan;
mod site;
mod watch;
