//! Tests of plans, of what each cure changes, and of the commands that apply it.

mod commands;
mod cures;
mod plan;
mod same_change;
