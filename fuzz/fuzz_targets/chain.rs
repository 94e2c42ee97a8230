//! Any bytes, interpreted as a chain of elements, packets and wake-ups: the contract of `path` holds.
//!
//! Uses the generator and the invariants of the property tests.
#![no_main]

#[path = "../../crates/engine/path/tests/path/common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::check_script(bytes));
