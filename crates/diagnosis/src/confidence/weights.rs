//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-2.27, 2.89, -1.54, 0.25, 0.82];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.50),
    (Cause::ReceiveWindow, 0.32),
    (Cause::ReceiverStalled, 0.35),
    (Cause::SendBuffer, -2.31),
    (Cause::SlowStart, 2.23),
    (Cause::RandomLoss, -2.45),
    (Cause::Congestion, -0.87),
    (Cause::Bottleneck, 0.27),
    (Cause::Policed, -0.55),
    (Cause::Shaped, -0.39),
    (Cause::Outage, 0.92),
    (Cause::SetupFailed, 2.79),
    (Cause::AckPath, -0.80),
];
