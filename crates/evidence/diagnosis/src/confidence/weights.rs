//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 400 DIR`.

use super::GeneralSign;
use result::Cause;

/// Weights of the general signs, nats per unit.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -0.70),
    (GeneralSign::Lead, 2.96),
    (GeneralSign::OfLimiter, -1.42),
    (GeneralSign::LimiterOdds, 0.40),
    (GeneralSign::RoundTrips, 0.43),
    (GeneralSign::NoHandshake, -0.67),
    (GeneralSign::OptionsCut, -1.25),
    (GeneralSign::OneWay, -1.49),
    (GeneralSign::FewEpisodes, -1.28),
    (GeneralSign::WaitsUnseen, -0.25),
    (GeneralSign::RateUnseen, -0.72),
    (GeneralSign::RejectedLimiter, -0.75),
];

/// Weights of the causes, nats; without those that were not met.
pub(super) const CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.20),
    (Cause::ReceiveWindow, 0.67),
    (Cause::ReceiverStalled, 1.63),
    (Cause::SendBuffer, -3.11),
    (Cause::SlowStart, 1.60),
    (Cause::RandomLoss, -1.67),
    (Cause::Congestion, 0.61),
    (Cause::Bottleneck, 0.11),
    (Cause::Policed, -1.03),
    (Cause::Shaped, -1.11),
    (Cause::Outage, 1.60),
    (Cause::SetupFailed, 2.14),
    (Cause::AckPath, -1.63),
];
