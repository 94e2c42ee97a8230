//! The headline held against random scenarios: each is simulated, written as Parquet and JSON and read back, and an
//! independent checker works out again what the headline says, in numbers and in words.
//!
//! What it takes from where: goodput, drops, queues, states and the ends of transfers from the time series; times of answers
//! and pages from their rows; which flows share a link, what limits them and what a variant changed from the scenario;
//! quantiles of round trips, counts of packets sent and lost from the summary, since series do not hold each of them; intervals
//! from the repeats' values. Sums, means, aggregates over flows, Student's t, comparisons and thresholds are its own code.
//!
//! | test | holds |
//! |---|---|
//! | `headline` | every clause, its words, what is untold, by every goal |
//! | `chance` | what repeats show, against twenty fresh seeds |
//! | `surfaces` | `--expect`, tables, sweeps, studies, repeats and headline against the one definition of each measure |

pub mod check;
pub use held_test::draw;
pub mod numbers;
pub mod seen;
pub mod times;
pub mod value;
