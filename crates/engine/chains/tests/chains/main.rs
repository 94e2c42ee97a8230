//! A scenario's chains, and what a run's summary says of them.

mod summary;
mod topology;
