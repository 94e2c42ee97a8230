//! Made by `cargo run --release -p longfat-diagnose-test --bin calibrate -- 500 DIR`.

use super::GENERAL;
use result::Cause;

/// Of the signs that every verdict has.
pub(super) const OF_GENERAL: [f64; GENERAL] = [-1.17, 1.96, -0.21, 0.07, 0.46];

/// Of each cause; none for those that were not met.
pub(super) const OF_CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 1.13),
    (Cause::ReceiveWindow, 1.09),
    (Cause::ReceiverStalled, 1.19),
    (Cause::SendBuffer, -1.45),
    (Cause::SlowStart, 2.17),
    (Cause::RandomLoss, -1.56),
    (Cause::Congestion, -0.76),
    (Cause::Bottleneck, 0.85),
    (Cause::Policed, -0.13),
    (Cause::Shaped, -0.17),
    (Cause::Outage, -2.00),
    (Cause::AckPath, -0.36),
];
