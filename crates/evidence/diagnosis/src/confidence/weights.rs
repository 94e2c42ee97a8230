//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 400 DIR`.

use super::GeneralSign;
use result::Cause;

/// Weights of the general signs, nats per unit.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -0.97),
    (GeneralSign::Lead, 3.09),
    (GeneralSign::OfLimiter, -1.58),
    (GeneralSign::LimiterOdds, 0.43),
    (GeneralSign::RoundTrips, 0.46),
    (GeneralSign::NoHandshake, -0.65),
    (GeneralSign::OptionsCut, -1.27),
    (GeneralSign::OneWay, -1.42),
    (GeneralSign::RejectedLimiter, -0.65),
];

/// Weights of the causes, nats; without those that were not met.
pub(super) const CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.26),
    (Cause::ReceiveWindow, 0.70),
    (Cause::ReceiverStalled, 1.66),
    (Cause::SendBuffer, -3.04),
    (Cause::SlowStart, 1.73),
    (Cause::RandomLoss, -2.09),
    (Cause::Congestion, 0.08),
    (Cause::Bottleneck, 0.26),
    (Cause::Policed, -0.93),
    (Cause::Shaped, -0.99),
    (Cause::Outage, 1.66),
    (Cause::SetupFailed, 2.23),
    (Cause::AckPath, -1.52),
];
