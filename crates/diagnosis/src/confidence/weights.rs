//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-1.11, 1.64, -1.11, 0.36, 0.77];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.78),
    (Cause::ReceiveWindow, -0.07),
    (Cause::ReceiverStalled, 0.43),
    (Cause::SendBuffer, -1.00),
    (Cause::SlowStart, 0.41),
    (Cause::RandomLoss, -2.79),
    (Cause::Congestion, -0.83),
    (Cause::Bottleneck, -0.09),
    (Cause::Policed, -0.78),
    (Cause::Shaped, 0.59),
    (Cause::Outage, 1.82),
    (Cause::SetupFailed, 2.85),
    (Cause::AckPath, -1.32),
];
