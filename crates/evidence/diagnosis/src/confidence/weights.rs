//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-1.23, 2.11, -1.46, 0.47, 0.70];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.73),
    (Cause::ReceiveWindow, 0.17),
    (Cause::ReceiverStalled, 0.65),
    (Cause::SendBuffer, -0.95),
    (Cause::SlowStart, 0.36),
    (Cause::RandomLoss, -2.58),
    (Cause::Congestion, -0.10),
    (Cause::Bottleneck, 0.23),
    (Cause::Policed, -1.22),
    (Cause::Shaped, -0.38),
    (Cause::Outage, 1.68),
    (Cause::SetupFailed, 2.60),
    (Cause::AckPath, -1.20),
];
