//! Checks the headline on random scenarios: each one is simulated, written as Parquet and JSON and read back,
//! and an independent checker recomputes what the headline states, in numbers and in words.
//!
//! Sources: goodput, drops, queues, states and the ends of transfers from the time series; times of responses
//! and pages from their rows; shared links, limits and a variant's changes from the scenario; quantiles of
//! round trips and counts of packets sent and lost from the summary, because series do not contain each of
//! them; intervals from the repeats' values. Sums, means, aggregates over flows, Student's t, comparisons and
//! thresholds are the checker's own code.
//!
//! | test | checks |
//! |---|---|
//! | `headline` | every clause, its words, and omissions, for every goal |
//! | `chance` | statements based on repeats, against twenty fresh seeds |
//! | `surfaces` | `--expect`, tables, sweeps, studies, repeats and headline against the one definition of each measure |

pub mod check;
pub use held_test::draw;
pub mod checked_run;
pub mod numbers;
pub mod times;
pub mod value;
