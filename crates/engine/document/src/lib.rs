//! TOML documents whose values know where they were written.
//!
//! [`SettingsFile`] reads a file into any type that serde knows; what is wrong is a [`DocumentError`] with file, line,
//! column, key, the line under a caret, and what would be right. A format that lets values be overridden works on the tree
//! itself: [`parse`] reads a file, [`steps`] and [`Reader::value`] read one `KEY=VALUE`, and [`TomlTable`] takes both.
//! [`written`] is the way back: plain data as TOML.
//!
//! Nothing here reads a file or knows a format: names, bounds and references are rules of the crate that reads.

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
