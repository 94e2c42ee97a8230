//! What the commands do, without their terminal: what the command line and Python both call, so that both give the same.
//!
//! * [`load`]: a scenario from a file, or a built-in one ([`examples`]), with the files that its stages name;
//! * [`budget`], [`warn`]: what its runs take, and what of it is probably not meant, before they begin;
//! * [`summary`], [`identity`]: what the runs of [`experiment`] came to, as `run --json` prints it;
//! * [`mod@diagnose`], [`qlog`]: captures, diagnosed; [`mod@fit`], [`plan`]: what is fitted to, and what is made faster;
//! * `watch` (Linux): live connections, diagnosed as captures are;
//! * [`names`]: how results' files and folders are called, and the program;
//! * [`mod@sweep`]: a grid of values, or many captures; [`mod@reproduce`]: published studies, run again and judged;
//! * [`tables`]: results as Parquet files, and back;
//! * [`mod@folder`], [`output`], [`keep`], [`provenance`], [`tap`]: a folder of results, written whole; unfinished runs kept
//!   and resumed; captures of runs; [`mod@expect`]: what `--expect` requires of them;
//! * [`mod@inventory`]: which congestion controls this machine has and what uses them;
//! * [`regular`], [`sys`], [`settings`]: files read and written with care, and of what work a folder's results are.

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
