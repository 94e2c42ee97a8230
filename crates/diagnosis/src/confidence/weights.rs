//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-2.09, 2.51, -0.90, 0.15, 0.86];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.51),
    (Cause::ReceiveWindow, 0.02),
    (Cause::ReceiverStalled, 0.25),
    (Cause::SendBuffer, -1.79),
    (Cause::SlowStart, 0.63),
    (Cause::RandomLoss, -2.57),
    (Cause::Congestion, -1.30),
    (Cause::Bottleneck, 0.12),
    (Cause::Policed, -0.91),
    (Cause::Shaped, 1.19),
    (Cause::Outage, 1.88),
    (Cause::SetupFailed, 2.94),
    (Cause::AckPath, -0.97),
];
