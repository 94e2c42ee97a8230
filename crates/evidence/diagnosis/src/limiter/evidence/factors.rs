//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate limiters CASES SEED DIR`.

use super::{LimiterStatement, STATEMENTS};

/// Statements, each with the nats that a unit of it adds: docs/how-diagnosis-works.md has what each costs to remove.
#[allow(clippy::approx_constant, reason = "a factor may be near any")]
pub const LEARNED: [(LimiterStatement, f64); STATEMENTS] = {
    use LimiterStatement::*;
    [
        (Limiter, -3.60),
        (Shaper, 1.35),
        (DropperBehind, -3.00),
        (Losses, 0.62),
        (LossesByRule, 0.24),
        (LossesByDelay, 0.74),
        (Strays, -5.50),
        (PassedBeyond, -1.23),
        (Placed, 2.10),
        (GapsOfLink, -5.80),
        (WaitAtLimit, 0.40),
        (Waits, 1.47),
        (Steady, 0.72),
        (Pinned, 2.52),
        (Ticks, 1.66),
        (Agree, 1.19),
        (Line, 3.30),
        (UnusedPolicer, 1.35),
        (UnusedQueue, 3.30),
        (TwoReadings, -1.70),
        (BucketPackets, 1.47),
        (BucketSeconds, -0.30),
    ]
};
