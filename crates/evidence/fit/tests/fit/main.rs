//! What is fitted to measurements, and what is refused.

mod observed;
mod ss_log;
mod verdict;
