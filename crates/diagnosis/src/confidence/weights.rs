//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-0.66, 2.00, -0.83, 0.23, 0.40];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.85),
    (Cause::ReceiveWindow, 1.07),
    (Cause::ReceiverStalled, 1.04),
    (Cause::SendBuffer, -1.75),
    (Cause::SlowStart, 2.04),
    (Cause::RandomLoss, -1.90),
    (Cause::Congestion, -0.50),
    (Cause::Bottleneck, 0.42),
    (Cause::Policed, -0.15),
    (Cause::Shaped, -0.61),
    (Cause::Outage, -2.04),
    (Cause::SetupFailed, 2.26),
    (Cause::AckPath, -0.73),
];
