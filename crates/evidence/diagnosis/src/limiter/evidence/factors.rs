//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.

use super::{LimiterStatement, STATEMENTS};

/// Statements, each with the nats that a unit of it adds.
#[allow(clippy::approx_constant, reason = "a factor may be near any")]
pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {
    use LimiterStatement::*;
    [
        (Limiter, -3.27),
        (Shaper, 0.96),
        (DropperBehind, -2.61),
        (Losses, 0.53),
        (LossesByRule, 0.28),
        (LossesByDelay, 0.68),
        (Strays, -3.84),
        (PassedBeyond, -0.92),
        (Placed, 1.50),
        (WaitAtLimit, 0.38),
        (Waits, 1.42),
        (Steady, 0.60),
        (Pinned, 2.32),
        (Ticks, 2.88),
        (Agree, 1.43),
        (Line, 3.42),
        (UnusedPolicer, 0.65),
        (UnusedQueue, 3.46),
        (TwoReadings, -1.14),
        (BucketPackets, 1.20),
    ]
};
