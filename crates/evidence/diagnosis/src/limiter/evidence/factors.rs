//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.

use super::{LimiterStatement, STATEMENTS};

/// Statements, each with the nats that a unit of it adds.
#[allow(clippy::approx_constant, reason = "a factor may be near any")]
pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {
    use LimiterStatement::*;
    [
        (Limiter, -3.44),
        (Shaper, 1.07),
        (DropperBehind, -2.55),
        (Losses, 0.57),
        (LossesByRule, 0.22),
        (LossesByDelay, 0.71),
        (Strays, -4.57),
        (PassedBeyond, -1.00),
        (Placed, 1.54),
        (WaitAtLimit, 0.36),
        (Waits, 1.34),
        (Steady, 0.65),
        (Pinned, 2.36),
        (Ticks, 2.83),
        (Agree, 1.35),
        (Line, 3.77),
        (UnusedPolicer, 0.72),
        (UnusedQueue, 3.00),
        (TwoReadings, -1.46),
        (BucketPackets, 1.30),
    ]
};
