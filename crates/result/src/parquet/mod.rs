//! Time series as Parquet, long format: one row per variant, clock, repeat, name and sample; and back.
//!
//! [`FILES`] says which files there are and what their columns mean; `docs/result-schema.md` is made of it.
//! The footers' key-value metadata hold `longfat.schema`, `longfat.scenario` and `longfat.seed`.
//!
//! Writing is the crate `parquet`'s. Reading is our own: that crate trusts a file's footer (its reader aborts on
//! some broken ones, and reserves whatever sizes a page claims), and a report is made of files that came by
//! mail. What is read is what is written here, and what pyarrow writes unasked: flat columns of doubles,
//! 64-bit integers and texts, plain or by dictionary, uncompressed or Snappy, in pages of version 1.

mod columns;
mod guard;
mod read;
mod table;
mod write;

pub use columns::{Column, ELEMENTS, FILES, FLOWS, File, Kind, RETRANSMISSIONS, STATES};
pub use read::{Series, read_series};
pub use table::SeriesError;
pub use write::{Origin, Sampled, write_elements, write_flows, write_retransmissions, write_states};
