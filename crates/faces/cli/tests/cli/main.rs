//! Tests of the program as a user or a script runs it.

mod begin;
mod cc;
mod check;
mod circles;
mod consent;
mod diagnose;
mod expect;
mod explore;
mod fit;
mod house;
mod import;
mod keep;
mod measure;
mod measured;
mod place;
mod plan;
mod proxy;
mod proxy_machine;
mod reproduce;
mod run;
mod safe;
mod shell;
mod sweep;
#[path = "../../../../engine/scenario/tests/scenario/validate.rs"]
mod validate;
mod watch;
