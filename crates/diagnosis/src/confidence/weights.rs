//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-2.14, 2.92, -1.00, 0.03, 0.84];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.29),
    (Cause::ReceiveWindow, 0.23),
    (Cause::ReceiverStalled, -0.05),
    (Cause::SendBuffer, -2.53),
    (Cause::SlowStart, 2.07),
    (Cause::RandomLoss, -2.36),
    (Cause::Congestion, -1.18),
    (Cause::Bottleneck, 0.53),
    (Cause::Policed, -0.43),
    (Cause::Shaped, 0.09),
    (Cause::Outage, 1.69),
    (Cause::SetupFailed, 2.67),
    (Cause::AckPath, -1.01),
];
