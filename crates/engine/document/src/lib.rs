//! TOML documents in which every value knows its position in the text.
//!
//! [`SettingsFile`] reads a file into any type that implements serde's `Deserialize`. Errors are
//! [`DocumentError`]s with file, line, column, key, the line with a caret, and what would be right. Formats
//! with overrides use the tree directly: [`parse`] reads a file, [`steps`] and [`Reader::value`] read one
//! `KEY=VALUE`, and [`TomlTable`] merges both. [`written`] is the opposite direction: it writes plain data as
//! TOML.
//!
//! This crate opens no files and is independent of any format: its callers check names, limits and
//! references.

mod cause;
mod de;
mod error;
mod fault;
mod key_path;
mod origin;
mod place;
mod read;
mod settings;
mod tree;
pub mod written;

pub use cause::{RefusalCause, list, suggest};
pub use de::{Entries, place_in, read_tagged};
pub use error::{DocumentError, NamedText};
pub use fault::Fault;
pub use key_path::{check_name, key_path, quote, split_assignment, steps};
pub use origin::{Key, Origin};
pub use read::{MAX_BYTES, Reader, parse};
pub use settings::SettingsFile;
pub use tree::{ListNames, Node, TomlTable, Value};
