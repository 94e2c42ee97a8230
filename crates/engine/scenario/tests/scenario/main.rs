//! Scenario files: what they mean, what is wrong with them, and their documents.

mod chosen;
mod docs;
mod errors;
mod file;
mod judged;
mod network;
mod schema;
mod validate;
mod warn;
mod write;
