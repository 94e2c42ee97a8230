//! Any text as ios: see `crates/answers/import/tests/common/mod.rs`.
#![no_main]

#[path = "../../crates/answers/import/tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|data: &str| common::check(import::ImportFormat::Ios, data));
