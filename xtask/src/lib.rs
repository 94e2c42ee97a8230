//! Helpers for tests that compare generated content with a committed file.
//!
//! [`compare`] fails if the file is out of date. `cargo xtask bless` runs the same tests with [`BLESS`] set,
//! and [`compare`] then writes the file.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The environment variable that makes tests write committed files.
pub const BLESS: &str = "LONGFAT_BLESS";

/// How to update a committed file.
pub const HINT: &str = "run: cargo xtask bless";

/// Whether tests write committed files instead of comparing them.
pub fn is_blessing() -> bool {
    env::var_os(BLESS).is_some()
}

/// The absolute path of a file, given relative to the repository.
pub fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ is in the repository").join(file)
}

/// Compares a committed file, given relative to the repository, with generated content; writes it when
/// blessing.
///
/// # Panics
/// Panics if the file is out of date or cannot be written.
#[track_caller]
pub fn compare(file: &str, generated: &str) {
    let committed = fs::read_to_string(path(file)).unwrap_or_default();
    if committed == generated {
        return;
    }
    if is_blessing() {
        fs::write(path(file), generated).unwrap_or_else(|e| panic!("{file}: {e}"));
        return;
    }
    panic!("{file} is out of date: {}\n{HINT}", difference(&committed, generated));
}

/// Describes the first line that differs.
fn difference(committed: &str, generated: &str) -> String {
    let mut lines = (committed.lines(), generated.lines());
    for number in 1.. {
        match (lines.0.next(), lines.1.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let [old, new] = [old, new].map(|line| line.unwrap_or("(the end)"));
                return format!("line {number} is\n    {old}\nand should be\n    {new}");
            }
        }
    }
    "the ends of its lines differ".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a\nb\n", "a\nc\n"), "line 2 is\n    b\nand should be\n    c");
        assert_eq!(difference("a\n", "a\nc\n"), "line 2 is\n    (the end)\nand should be\n    c");
        assert_eq!(difference("a\n", "a"), "the ends of its lines differ");
    }

    #[test]
    fn files_are_found_from_the_root() {
        assert!(path("xtask/src/lib.rs").is_file());
    }
}
