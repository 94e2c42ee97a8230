//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 600 DIR`.

use super::GeneralSign;
use result::Cause;

/// Of what every verdict has, nats per unit of the sign.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -1.23),
    (GeneralSign::Lead, 2.11),
    (GeneralSign::OfLimiter, -1.46),
    (GeneralSign::LimiterOdds, 0.47),
    (GeneralSign::RoundTrips, 0.70),
    (GeneralSign::NoHandshake, -0.50),
    (GeneralSign::OptionsCut, -1.00),
    (GeneralSign::OneWay, -1.50),
];

/// Of each cause, nats; none for those that were not met.
pub(super) const CAUSES: &[(Cause, f64)] = &[
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
