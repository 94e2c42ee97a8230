//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.

use super::{LimiterStatement, STATEMENTS};

/// Statements, each with the nats that a unit of it adds.
#[allow(clippy::approx_constant, reason = "a factor may be near any")]
pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {
    use LimiterStatement::*;
    [
        (Limiter, -5.06),
        (Losses, 0.66),
        (LossesByRule, 0.29),
        (LossesByDelay, 0.73),
        (Strays, -3.48),
        (PassedBeyond, -0.71),
        (WaitAtLimit, 0.23),
        (Waits, 1.45),
        (Steady, 1.03),
        (Pinned, 4.47),
        (Ticks, 4.03),
        (Agree, 2.15),
        (Line, 3.60),
        (UnusedQueue, 3.00),
        (TwoReadings, -3.09),
        (BucketPackets, 0.87),
    ]
};
