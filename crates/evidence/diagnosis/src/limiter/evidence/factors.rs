//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.

use super::{LimiterStatement, STATEMENTS};

/// Statements, each with the nats that a unit of it adds.
#[allow(clippy::approx_constant, reason = "a factor may be near any")]
pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {
    use LimiterStatement::*;
    [
        (Limiter, -3.28),
        (Shaper, 1.00),
        (DropperBehind, -2.66),
        (Losses, 0.51),
        (LossesByRule, 0.26),
        (LossesByDelay, 0.69),
        (Strays, -4.03),
        (PassedBeyond, -0.93),
        (Placed, 1.58),
        (WaitAtLimit, 0.39),
        (Waits, 1.41),
        (Steady, 0.60),
        (Pinned, 2.36),
        (Ticks, 2.93),
        (Agree, 1.44),
        (Line, 3.47),
        (UnusedPolicer, 0.83),
        (UnusedQueue, 3.41),
        (TwoReadings, -1.15),
        (BucketPackets, 1.23),
    ]
};
