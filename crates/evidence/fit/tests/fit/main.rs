//! What is fitted to measurements, and what is refused.

mod observed;
mod simulated;
mod ss_log;
mod verdict;
