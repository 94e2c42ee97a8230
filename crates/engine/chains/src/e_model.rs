//! The E-model (ITU-T G.107, 06/2015): speech quality from delay and loss.
//!
//! R = Ro - Is - Id - Ie,eff + A (equation 7-1), 0 to 100, with every parameter that the network does not
//! affect at its default (table 7-1):
//!
//! - Ro - Is: signal-to-noise ratio and simultaneous impairments, a constant here.
//! - Id = Idte + Idle + Idd (clause 7.4): talker echo, listener echo, and the delay itself, which has no
//!   effect below 100 ms. The echo is that of the default loudness ratings (TELR 65 dB, WEPL 110 dB).
//! - Ie,eff (clause 7.5): impairment by the codec; it grows with packet loss, and more with bursty loss.
//! - A = 0: no advantage factor.
//!
//! Without delay and loss R is 93.2 (clause 7.7), MOS 4.41.
//!
//! Mathematical functions are those of `libm`, for the same result on every machine.
//!
//! | departure | here |
//! |---|---|
//! | T, Ta, Tr are three delays | Ta = T, Tr = 2 T: both directions have the same delay |
//! | BurstR below 1 for losses that are more regular than random | 1: as random losses |
//! | up to 1 ms of delay is sidetone, without Idte | Idte is never below 0, which differs by 0.1 |

use libm::{exp, log2, log10, pow};
use transport::RatedCodec;
use units::Span;

/// Circuit noise of all sources, dBm0p (equation 7-3, at the defaults).
const NO: f64 = -61.179_21;
/// Basic signal-to-noise ratio (equation 7-2): 15 - 1.5 (SLR + No).
const RO: f64 = 94.768_82;
/// Simultaneous impairment factor (clause 7.3).
const IS: f64 = 1.413_61;
/// Receive loudness rating, dB.
const RLR: f64 = 2.0;
/// Talker echo loudness rating, dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss, dB.
const WEPL: f64 = 110.0;
/// Minimum perceivable delay mT, ms; delay sensitivity sT is 1.
const PERCEIVED_DELAY_MS: f64 = 100.0;

/// Packets of speech that do not arrive in time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SpeechLoss {
    /// Share of all packets, 0 to 1.
    pub share: f64,
    /// Mean length of a run of consecutive packets that do not arrive in time; 0 without such packets.
    pub run: f64,
}

impl SpeechLoss {
    /// BurstR: the mean run length relative to that of random losses at the same share, 1 / (1 - share).
    fn burst_ratio(self) -> f64 {
        (self.run * (1.0 - self.share)).max(1.0)
    }
}

/// The transmission rating R, 0 to 100, for a mouth-to-ear delay.
pub fn r_factor(codec: RatedCodec, delay: Span, loss: SpeechLoss) -> f64 {
    (RO - IS - delay_impairment(delay.as_millis_f64()) - equipment_impairment(codec, loss)).clamp(0.0, 100.0)
}

/// Mean opinion score of a transmission rating, 1 to 4.5 (annex B).
pub fn mos(r: f64) -> f64 {
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).clamp(1.0, 4.5)
}

/// Id for a one-way delay of `t` ms (clause 7.4).
fn delay_impairment(t: f64) -> f64 {
    let roe = -1.5 * (NO - RLR);
    let terv = TELR - 40.0 * log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * exp(-0.3 * t * t);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let idte = (both(roe - re, 100.0) - 1.0) * (1.0 - exp(-t));
    let rle = 10.5 * (WEPL + 7.0) * pow(2.0 * t + 1.0, -0.25);
    let idle = both(RO - rle, 169.0);
    idte.max(0.0) + idle + absolute_delay(t)
}

/// x / 2 + sqrt(x² / 4 + c), which the equations of both echoes contain.
fn both(x: f64, c: f64) -> f64 {
    x / 2.0 + (x * x / 4.0 + c).sqrt()
}

/// Idd for a one-way delay of `t` ms (clause 7.4).
fn absolute_delay(t: f64) -> f64 {
    if t <= PERCEIVED_DELAY_MS {
        return 0.0;
    }
    let x = log2(t / PERCEIVED_DELAY_MS);
    let root = |x: f64| pow(1.0 + pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Ie,eff (equation 7-29).
fn equipment_impairment(codec: RatedCodec, loss: SpeechLoss) -> f64 {
    let percent = 100.0 * loss.share;
    if percent == 0.0 {
        return codec.ie;
    }
    codec.ie + (95.0 - codec.ie) * percent / (percent / loss.burst_ratio() + codec.bpl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Codec;

    fn near(got: f64, want: f64, within: f64) {
        assert!((got - want).abs() <= within, "{got} is not {want}");
    }

    fn rating(codec: Codec, ms: u64, share: f64, run: f64) -> f64 {
        r_factor(codec.rated().unwrap(), Span::from_millis(ms), SpeechLoss { share, run })
    }

    /// Ro and Is of the default values, by the equations of clauses 7.2 and 7.3.
    #[test]
    fn the_constants_follow_from_the_defaults() {
        let (slr, ds, stmr, lstr) = (8.0f64, 3.0f64, 15.0f64, 18.0f64);
        let (nc, nfor, ps, pr) = (-70.0f64, -64.0f64, 35.0f64, 35.0f64);
        let olr = slr + RLR;
        let power = |db: f64| 10f64.powf(db / 10.0);
        let nos = ps - slr - ds - 100.0 + 0.004 * (ps - olr - ds - 14.0).powi(2);
        let pre = pr + 10.0 * (1.0 + power(10.0 - lstr)).log10();
        let nor = RLR - 121.0 + pre + 0.008 * (pre - 35.0).powi(2);
        let no = 10.0 * (power(nc) + power(nos) + power(nor) + power(nfor + RLR)).log10();
        near(NO, no, 1e-5);
        near(RO, 15.0 - 1.5 * (slr + no), 1e-5);
        let smooth = |x: f64, n: i32| (1.0 + x.powi(n)).powf(1.0 / n as f64);
        let xolr = olr + 0.2 * (64.0 + no - RLR);
        let iolr = 20.0 * (smooth(xolr / 8.0, 8) - xolr / 8.0);
        let stmro = -10.0 * (power(-stmr) + power(-TELR)).log10();
        let ist = 12.0 * smooth((stmro - 13.0) / 6.0, 8)
            - 28.0 * smooth((stmro + 1.0) / 19.4, 35)
            - 13.0 * smooth((stmro - 3.0) / 33.0, 13)
            + 29.0;
        // Quantizing distortion of one unit: Q = 37.
        let g = 1.07 + 0.258 * 37.0 + 0.0602 * 37.0 * 37.0;
        let y = (RO - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        let iq = 15.0 * (1.0 + 10f64.powf(y) + 10f64.powf(z)).log10();
        near(IS, iolr + ist + iq, 1e-4);
    }

    /// Clause 7.7: 93.2 with all defaults (the program of appendix III: 93.206208).
    #[test]
    fn the_defaults_have_the_published_rating() {
        let r = rating(Codec::G711, 0, 0.0, 0.0);
        near(r, 93.206_208, 2e-4);
        near(mos(r), 4.41, 0.001);
    }

    /// Idd by hand: at 200 ms x = 1, (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) x 25 = 3.0444; at 400 ms x = 2,
    /// (65^(1/6) - 3 (1 + (2/3)^6)^(1/6) + 2) x 25 = 24.0701.
    #[test]
    fn delay_has_no_effect_below_100_ms() {
        near(absolute_delay(100.0), 0.0, 0.0);
        near(absolute_delay(200.0), 3.0444, 1e-4);
        near(absolute_delay(400.0), 24.0701, 1e-4);
        // Including the echo impairments 2.69, 4.51 and 7.04.
        near(rating(Codec::G711, 100, 0.0, 0.0), 90.66, 0.01);
        near(rating(Codec::G711, 200, 0.0, 0.0), 85.80, 0.01);
        near(rating(Codec::G711, 400, 0.0, 0.0), 62.25, 0.01);
    }

    /// By hand: G.711 at 1 %: 95 x 1 / (1 + 25.1) = 3.6398; G.729 at 5 % in runs of 3.2 (BurstR 3.04):
    /// 11 + 84 x 5 / (5 / 3.04 + 19) = 31.3436, at random runs of 1 / 0.95 11 + 84 x 5 / 24 = 28.5.
    #[test]
    fn bursty_loss_impairs_more_than_random_loss() {
        let ie = |codec: Codec, share, run| {
            equipment_impairment(codec.rated().unwrap(), SpeechLoss { share, run })
        };
        near(ie(Codec::G711, 0.01, 1.0), 3.6398, 1e-4);
        near(ie(Codec::G729, 0.05, 3.2), 31.3436, 1e-3);
        near(ie(Codec::G729, 0.05, 1.0 / 0.95), 28.5, 1e-9);
        near(ie(Codec::G729, 0.0, 0.0), 11.0, 0.0);
        // All lost: 93.206 - 95 x 100 / 125.1 = 17.267.
        near(rating(Codec::G711, 0, 1.0, 700.0), 17.267, 1e-3);
        near(mos(17.267), 1.177, 1e-3);
    }

    /// Annex B, table B.1: R 90, 80, 70, 60, 50 have MOS 4.34, 4.03, 3.60, 3.10, 2.58.
    #[test]
    fn ratings_map_to_the_scores_of_the_table() {
        for (r, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            near(mos(r), score, 0.007); // of 80 it is 4.024
        }
        assert_eq!((mos(0.0), mos(3.0), mos(100.0)), (1.0, 1.0, 4.5));
    }
}
