//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 600 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-1.07, 1.61, -1.18, 0.39, 0.76];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.79),
    (Cause::ReceiveWindow, -0.05),
    (Cause::ReceiverStalled, 0.45),
    (Cause::SendBuffer, -0.97),
    (Cause::SlowStart, 0.42),
    (Cause::RandomLoss, -2.81),
    (Cause::Congestion, -0.76),
    (Cause::Bottleneck, -0.06),
    (Cause::Policed, -0.92),
    (Cause::Shaped, 0.55),
    (Cause::Outage, 1.82),
    (Cause::SetupFailed, 2.84),
    (Cause::AckPath, -1.32),
];
