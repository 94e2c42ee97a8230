//! What a plan offers, what each cure changes, and the commands that carry it out.

mod commands;
mod cures;
mod plan;
mod same_change;
