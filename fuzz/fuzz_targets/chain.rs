//! Any bytes, read as a chain, packets and wake-ups: the contract of `path` holds.
//!
//! The generator and the invariants are those of the property tests.
#![no_main]

#[path = "../../crates/engine/path/tests/path/common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::check_script(bytes));
