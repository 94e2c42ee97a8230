//! Scenario files: parsing, error messages, warnings, writing, and the documentation generated from them.

mod docs;
mod errors;
mod evaluation;
mod file;
mod network;
mod schema;
mod validate;
mod variant_selection;
mod warn;
mod write;
