//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-2.16, 3.01, -1.41, 0.20, 0.82];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.30),
    (Cause::ReceiveWindow, 0.21),
    (Cause::ReceiverStalled, 0.23),
    (Cause::SendBuffer, -2.47),
    (Cause::SlowStart, 2.09),
    (Cause::RandomLoss, -2.31),
    (Cause::Congestion, -1.06),
    (Cause::Bottleneck, 0.27),
    (Cause::Policed, -0.34),
    (Cause::Shaped, -0.28),
    (Cause::Outage, 1.68),
    (Cause::SetupFailed, 2.62),
    (Cause::AckPath, -0.95),
];
