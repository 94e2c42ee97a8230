//! Made by `cargo run --release -p longfat-diagnose-test -- calibrate 400 DIR`.

use super::GeneralSign;
use result::Cause;

/// Of what every verdict has, nats per unit of the sign.
pub(super) const GENERAL: &[(GeneralSign, f64)] = &[
    (GeneralSign::One, -1.41),
    (GeneralSign::Lead, 3.47),
    (GeneralSign::OfLimiter, -1.24),
    (GeneralSign::LimiterOdds, 0.33),
    (GeneralSign::RoundTrips, 0.49),
    (GeneralSign::NoHandshake, -1.21),
    (GeneralSign::OptionsCut, -2.10),
    (GeneralSign::OneWay, -0.79),
];

/// Of each cause, nats; none for those that were not met.
pub(super) const CAUSES: &[(Cause, f64)] = &[
    (Cause::Application, 0.09),
    (Cause::ReceiveWindow, 0.67),
    (Cause::ReceiverStalled, 1.66),
    (Cause::SendBuffer, -2.85),
    (Cause::SlowStart, 0.39),
    (Cause::RandomLoss, -2.09),
    (Cause::Congestion, -0.23),
    (Cause::Bottleneck, 0.40),
    (Cause::Policed, -0.67),
    (Cause::Shaped, -0.74),
    (Cause::Outage, 2.34),
    (Cause::SetupFailed, 2.32),
    (Cause::AckPath, -1.30),
];
