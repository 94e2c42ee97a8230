//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-2.03, 2.89, -1.49, 0.24, 0.80];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.33),
    (Cause::ReceiveWindow, 0.24),
    (Cause::ReceiverStalled, 0.25),
    (Cause::SendBuffer, -2.44),
    (Cause::SlowStart, 2.07),
    (Cause::RandomLoss, -2.28),
    (Cause::Congestion, -1.02),
    (Cause::Bottleneck, 0.14),
    (Cause::Policed, -0.33),
    (Cause::Shaped, -0.28),
    (Cause::Outage, 1.67),
    (Cause::SetupFailed, 2.61),
    (Cause::AckPath, -0.96),
];
