//! What is fitted to measurements, and what is refused.

mod observed;
mod schema;
mod ss_log;
