//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-1.58, 2.17, -1.73, 0.60, 0.72];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.99),
    (Cause::ReceiveWindow, 0.34),
    (Cause::ReceiverStalled, 0.85),
    (Cause::SendBuffer, -2.17),
    (Cause::SlowStart, 0.63),
    (Cause::RandomLoss, -2.32),
    (Cause::Congestion, -0.24),
    (Cause::Bottleneck, 0.26),
    (Cause::Policed, -0.72),
    (Cause::Shaped, -1.03),
    (Cause::Outage, 1.54),
    (Cause::SetupFailed, 2.81),
    (Cause::AckPath, -0.94),
];
