//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 400 DIR`.

use super::GeneralSign;
use result::Cause;

/// Weights of the general signs, nats per unit.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -1.26),
    (GeneralSign::Lead, 2.83),
    (GeneralSign::OfLimiter, -1.38),
    (GeneralSign::LimiterOdds, 0.31),
    (GeneralSign::RoundTrips, 0.55),
    (GeneralSign::NoHandshake, -0.38),
    (GeneralSign::OptionsCut, -1.28),
    (GeneralSign::OneWay, -0.83),
    (GeneralSign::RejectedLimiter, -0.75),
];

/// Weights of the causes, nats; causes that the training captures lack are omitted.
pub(super) const CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.45),
    (Cause::ReceiveWindow, 0.31),
    (Cause::ReceiverStalled, 1.74),
    (Cause::SendBuffer, -3.01),
    (Cause::SlowStart, 1.07),
    (Cause::RandomLoss, -2.16),
    (Cause::Congestion, -0.06),
    (Cause::Bottleneck, 0.09),
    (Cause::Policed, -0.83),
    (Cause::Shaped, -0.57),
    (Cause::Outage, 1.88),
    (Cause::SetupFailed, 2.63),
    (Cause::AckPath, -1.54),
];
