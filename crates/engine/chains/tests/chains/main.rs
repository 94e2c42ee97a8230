//! The chains of a scenario, and the summary of a run over them.

mod summary;
mod topology;
