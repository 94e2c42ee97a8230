//! Any text as any import format: see `crates/answers/import/tests/common/mod.rs`. The first byte is the format's index in
//! `ImportFormat::ALL`; the environment variable LONGFAT_IMPORT_FORMAT restricts the target to the format with that name.
#![no_main]

#[path = "../../crates/answers/import/tests/common/mod.rs"]
mod common;

use import::ImportFormat;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The only format to fuzz, if the environment variable names one.
static ONLY: LazyLock<Option<ImportFormat>> = LazyLock::new(|| {
    let name = std::env::var("LONGFAT_IMPORT_FORMAT").ok()?;
    let known = ImportFormat::ALL.iter().find(|(n, _)| *n == name);
    Some(known.unwrap_or_else(|| panic!("LONGFAT_IMPORT_FORMAT: there is no format {name}")).1)
});

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let format = ONLY.unwrap_or(ImportFormat::ALL[*first as usize % ImportFormat::ALL.len()].1);
    // Only the bytes up to the first that is not UTF-8 are used.
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    common::check(format, text);
});
