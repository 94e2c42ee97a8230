//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 400 DIR`.

use super::GeneralSign;
use result::Cause;

/// Of what every verdict has, nats per unit of the sign.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -1.48),
    (GeneralSign::Lead, 3.36),
    (GeneralSign::OfLimiter, -1.42),
    (GeneralSign::LimiterOdds, 0.47),
    (GeneralSign::RoundTrips, 0.46),
    (GeneralSign::NoHandshake, -0.93),
    (GeneralSign::OptionsCut, -1.66),
    (GeneralSign::OneWay, -0.88),
];

/// Of each cause, nats; none for those that were not met.
pub(super) const CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.24),
    (Cause::ReceiveWindow, 0.91),
    (Cause::ReceiverStalled, 1.82),
    (Cause::SendBuffer, -3.23),
    (Cause::SlowStart, 0.62),
    (Cause::RandomLoss, -2.18),
    (Cause::Congestion, -0.28),
    (Cause::Bottleneck, -0.10),
    (Cause::Policed, -0.13),
    (Cause::Shaped, -0.91),
    (Cause::Outage, 1.93),
    (Cause::SetupFailed, 2.45),
    (Cause::AckPath, -1.15),
];
