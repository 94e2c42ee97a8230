//! Tests which measurements can be fitted and which are refused.

mod observed;
mod simulated;
mod ss_log;
mod verdict;
