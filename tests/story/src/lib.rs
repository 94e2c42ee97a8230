//! The headline held against random scenarios: each is simulated, written as Parquet and JSON and read back, and an
//! independent checker works out again what the headline says, in numbers and in words.
//!
//! What it takes from where: goodput, drops, queues, states and the ends of transfers from the time series; times of answers
//! and pages from their rows; which flows share a link, what limits them and what a variant changed from the scenario;
//! quantiles of round trips, counts of packets sent and lost from the summary, since series do not hold each of them. Sums, means,
//! comparisons and thresholds are written anew here.

pub mod check;
pub use held_test::draw;
pub mod numbers;
pub mod seen;
pub mod times;
pub mod value;
