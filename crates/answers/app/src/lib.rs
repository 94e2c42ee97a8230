//! The commands without their terminal output. The command line and the Python package both call these
//! functions, so both give the same results.
//!
//! * [`load`]: reads a scenario from a file, or a built-in one ([`examples`]), with the files that its stages
//!   name;
//! * [`budget`], [`warn`]: before the runs begin, estimates what they take and finds settings that are
//!   probably not meant;
//! * [`summary`], [`identity`]: the result of the runs of [`experiment`], as `run --json` prints it;
//! * [`mod@diagnose`], [`qlog`]: diagnoses captures; [`mod@fit`], [`plan`]: fit a scenario to a path, and
//!   make it faster;
//! * `watch` (Linux): diagnoses live connections as captures are; [`mod@measure`]: tests the path to another
//!   host (Linux) and the cures that its sender can apply;
//! * [`names`]: names of the files and folders of results, and of the program;
//! * [`mod@sweep`]: runs a grid of values, or diagnoses many captures; [`mod@reproduce`]: runs published
//!   studies again and judges their claims;
//! * [`tables`]: writes results as Parquet files and reads them back;
//! * [`mod@folder`], [`output`], [`keep`], [`provenance`], [`tap`]: writes a result folder atomically, keeps
//!   and resumes unfinished runs, captures the packets of runs; [`mod@expect`]: the conditions of `--expect`;
//! * [`mod@inventory`]: the congestion controls of this machine, and the sockets that use them;
//! * [`regular`], [`sys`], [`settings`]: reads and writes files with care; the settings that a folder's
//!   results belong to.

mod both_ends;
pub mod budget;
pub mod diagnose;
mod error;
pub mod examples;
pub mod expect;
pub mod fit;
pub mod folder;
pub mod identity;
pub mod inventory;
pub mod keep;
pub mod load;
pub mod measure;
pub mod names;
pub mod output;
pub mod plan;
pub mod provenance;
pub mod qlog;
pub mod regular;
pub mod reproduce;
pub mod settings;
pub mod summary;
pub mod sweep;
pub mod sys;
pub mod tables;
pub mod tap;
pub mod warn;
#[cfg(target_os = "linux")]
pub mod watch;

pub use error::CommandError;
