//! The radio channel to a train in closed form: Doppler shift, its effect on OFDM, bit and packet errors. All
//! functions use `libm`, for the same result on every machine.
//!
//! | quantity | form | source |
//! |---|---|---|
//! | Doppler shift | f v cos(theta) / c | geometry: a straight track past the mast |
//! | SNR over distance | edge SNR * (edge distance / distance)^n | log-distance path loss |
//! | SINR under a carrier offset of e subcarriers | SNR sinc^2(e) / (1 + 0.5947 SNR sin^2(pi e)) | Moose 1994, the bound for \|e\| <= 0.5 |
//! | bit errors of M-QAM | 0.2 exp(-1.5 SINR / (M - 1)) | Goldsmith and Chua 1997 |
//! | M at a target of bit errors | 1 + 1.5 SNR / -ln(5 target) | the same, solved for M |
//! | packet errors | 1 - (1 - BER)^bits | independent bits |

use std::f64::consts::PI;
use units::{Frequency, Length, Span, Speed};

/// The speed of light in metres per second (SI).
pub const LIGHT: f64 = 299_792_458.0;

/// The Doppler shift in Hz seen by a train `along` metres past the point nearest to the mast (negative:
/// before it), on a track at distance `track` from the mast. Positive while the train approaches.
pub fn doppler_hz(carrier: Frequency, speed: Speed, along: f64, track: Length) -> f64 {
    let away = distance(along, track);
    let cosine = if away > 0.0 { -along / away } else { 0.0 };
    carrier.as_hz() as f64 * speed.as_mps() * cosine / LIGHT
}

/// Distance between train and mast, in metres.
pub fn distance(along: f64, track: Length) -> f64 {
    libm::hypot(along, track.as_m())
}

/// When a train that starts at `start` in its cell crosses into the next cell, and the time between
/// crossings.
pub fn crossings(speed: Speed, cell: Length, start: Length) -> (Span, Span) {
    let every = speed.time_for(cell);
    (every.saturating_sub(speed.time_for(start)), every)
}

/// Converts decibels to a ratio.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// The SINR (ratio) that remains of `snr` with a carrier offset of `offset` subcarriers, which attenuates the
/// signal and causes inter-carrier interference.
pub fn sinr(snr: f64, offset: f64) -> f64 {
    let angle = PI * offset.abs().min(0.5);
    let sine = libm::sin(angle);
    let sinc = if angle > 0.0 { sine / angle } else { 1.0 };
    snr * sinc * sinc / (1.0 + 0.5947 * snr * sine * sine)
}

/// The constellation size M for which the bit error rate at `snr` is `target`: 1 to 2^`bits`, not limited to
/// powers of two.
pub fn constellation(snr: f64, target: f64, bits: u32) -> f64 {
    let m = 1.0 + 1.5 * snr / -libm::log(5.0 * target);
    m.clamp(1.0, (1u64 << bits) as f64)
}

/// The bit error rate of a constellation of size `m` at `sinr`.
pub fn bit_error_rate(sinr: f64, m: f64) -> f64 {
    if m <= 1.0 { 0.0 } else { 0.2 * libm::exp(-1.5 * sinr / (m - 1.0)) }
}

/// The probability that a packet of `bytes` has at least one bit error.
pub fn packet_loss(ber: f64, bytes: u32) -> f64 {
    -libm::expm1(bytes as f64 * 8.0 * libm::log1p(-ber))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIER: Frequency = Frequency::from_hz(2_100_000_000);

    fn near(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() <= within, "{a} is not {b}");
    }

    #[test]
    fn the_shift_is_583_hz_at_300_km_h_and_changes_sign_at_the_mast() {
        // 2.1e9 * 83.3333 / 299792458 = 583.7; 100 m from the track it is halved at 60 degrees.
        let shift = |along| doppler_hz(CARRIER, Speed::from_kmh(300), along, Length::from_m(100));
        near(doppler_hz(CARRIER, Speed::from_kmh(300), -1.0, Length::default()), 583.7, 0.1);
        near(shift(-1e6), 583.7, 0.1);
        near(shift(0.0), 0.0, 1e-9);
        // cos(theta) = 100 / sqrt(100^2 + 100^2).
        near(shift(-100.0), 583.7 / 2f64.sqrt(), 0.1);
        near(shift(100.0), -583.7 / 2f64.sqrt(), 0.1);
    }

    #[test]
    fn crossings_follow_from_speed_and_cell_length() {
        let (first, every) = crossings(Speed::from_kmh(300), Length::from_m(800), Length::from_m(300));
        assert_eq!((first, every), (Span::from_secs(6), Span::from_millis(9600)));
        let (_, every) = crossings(Speed::from_kmh(350), Length::from_m(350), Length::default());
        assert_eq!(every, Span::from_millis(3600));
    }

    #[test]
    fn an_offset_reduces_the_signal_and_adds_interference() {
        near(sinr(100.0, 0.0), 100.0, 1e-9);
        // e = 0.1: sin(0.314159) = 0.309017, sinc = 0.983632; 96.753 / (1 + 5.6789) = 14.486.
        near(sinr(100.0, 0.1), 14.486, 0.002);
        // Without noise only the interference remains: 0.967532 / (0.5947 * 0.0954915) = 17.037.
        near(sinr(1e12, -0.1), 17.037, 0.002);
    }

    #[test]
    fn bit_and_packet_error_rates_match_values_computed_by_hand() {
        // 64-QAM at 23 dB: 0.2 exp(-1.5 * 199.526 / 63) = 1.73e-3.
        near(bit_error_rate(from_db(23.0), 64.0), 1.729e-3, 2e-6);
        // 1e-7 * 12000 bits: 0.12 %; 1e-5: 11.3 %; less for small packets.
        near(packet_loss(1e-7, 1500), 1.1993e-3, 1e-7);
        near(packet_loss(1e-5, 1500), 0.113_08, 1e-5);
        near(packet_loss(1e-5, 40), 3.1949e-3, 1e-6);
        assert_eq!(packet_loss(0.0, 1500), 0.0);
    }

    #[test]
    fn the_constellation_meets_the_target_bit_error_rate() {
        for db in [8.0, 15.0, 22.0] {
            let snr = from_db(db);
            let m = constellation(snr, 1e-6, 6);
            near(bit_error_rate(snr, m) / 1e-6, 1.0, 1e-9);
        }
        assert_eq!(constellation(from_db(40.0), 1e-6, 6), 64.0);
    }
}
