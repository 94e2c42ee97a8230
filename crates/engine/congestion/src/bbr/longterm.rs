//! lt_bw: a token-bucket policer lets a burst pass and then drops whatever exceeds its rate, so the windowed
//! maximum overestimates it for ten rounds after every burst. A sampling interval begins and ends with a loss
//! and lasts 4 to 16 rounds. Two consecutive intervals in which a fifth of the packets are lost, and with
//! nearly the same rate, indicate a policer. Its rate is then used for 48 rounds.
//!
//! Sources: Flach et al., "An Internet-wide analysis of traffic policing" (2016); Linux
//! `tcp_bbr.c` (`bbr_lt_bw_sampling`). Not in the BBR paper.

use super::params::*;
use super::{Bbr, Mode};
use crate::{RateSample, Socket};

const MIN_ROUNDS: u32 = 4;
/// Ratio of lost to delivered packets that indicates a policer, in 1/256: about 20 %.
const LOSS_THRESH: u32 = 50;
/// Maximum relative difference of two rates that agree: an eighth.
const BW_RATIO: u32 = UNIT / 8;
/// Maximum absolute difference of two rates that agree: 4 kbit/s, in bytes/s.
const BW_DIFF: u64 = 4_000 / 8;
const MAX_ROUNDS: u32 = 48;

/// State of the policer detector.
#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    /// Rate of the last interval, or of the policer; 0 = none yet.
    pub bw: u32,
    /// Whether a policer was detected: `bw` is the bandwidth estimate then.
    pub use_bw: bool,
    sampling: bool,
    rounds: u32,
    /// The interval's start: packets delivered, packets lost, milliseconds.
    delivered: u64,
    lost: u64,
    stamp_ms: u32,
}

fn delivered_ms(s: &Socket) -> u32 {
    (s.delivered_time.as_micros() / 1_000) as u32
}

impl LongTerm {
    fn start_interval(&mut self, s: &Socket) {
        self.stamp_ms = delivered_ms(s);
        self.delivered = s.delivered;
        self.lost = s.lost;
        self.rounds = 0;
    }

    /// Resets the detector.
    pub(super) fn reset(&mut self, s: &Socket) {
        self.bw = 0;
        self.use_bw = false;
        self.sampling = false;
        self.start_interval(s);
    }

    /// The interval's delivery rate, if it is long and lossy enough to indicate a policer.
    fn interval_bw(&mut self, s: &Socket) -> Option<u32> {
        let lost = s.lost.wrapping_sub(self.lost) as u32;
        let delivered = s.delivered.wrapping_sub(self.delivered) as u32;
        if delivered == 0 || lost.wrapping_shl(GAIN_SCALE) < LOSS_THRESH.wrapping_mul(delivered) {
            return None;
        }
        let ms = delivered_ms(s).wrapping_sub(self.stamp_ms);
        if (ms as i32) < 1 {
            return None;
        }
        if ms >= u32::MAX / 1_000 {
            self.reset(s);
            return None;
        }
        Some((delivered as u64 * BW_UNIT / (ms as u64 * 1_000)) as u32)
    }
}

impl Bbr {
    /// Detects a policer, or counts down the rounds in which its rate is used.
    pub(super) fn sample_long_term_bw(&mut self, s: &Socket, rs: &RateSample) {
        if self.lt.use_bw {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt.rounds += 1;
                if self.lt.rounds >= MAX_ROUNDS {
                    self.lt.reset(s);
                    self.enter_probe_bw(s);
                }
            }
            return;
        }
        // The first loss indicates that the bucket is empty; before it, the burst would be measured.
        if !self.lt.sampling {
            if rs.losses == 0 {
                return;
            }
            self.lt.start_interval(s);
            self.lt.sampling = true;
        }
        if rs.is_app_limited {
            self.lt.reset(s);
            return;
        }
        if self.round_start {
            self.lt.rounds += 1;
        }
        if self.lt.rounds < MIN_ROUNDS {
            return;
        }
        if self.lt.rounds > 4 * MIN_ROUNDS {
            self.lt.reset(s);
            return;
        }
        // The interval also ends with a loss: the bucket is empty again.
        if rs.losses == 0 {
            return;
        }
        if let Some(bw) = self.lt.interval_bw(s) {
            self.end_interval(s, bw);
        }
    }

    fn end_interval(&mut self, s: &Socket, bw: u32) {
        let last = self.lt.bw;
        if last != 0 {
            let diff = (bw.wrapping_sub(last) as i32).wrapping_abs() as u32;
            if diff.wrapping_mul(UNIT) <= BW_RATIO.wrapping_mul(last)
                || self.rate_bytes_per_sec(s, diff, UNIT) <= BW_DIFF
            {
                self.lt.bw = bw.wrapping_add(last) >> 1;
                self.lt.use_bw = true;
                self.lt.rounds = 0;
                self.pacing_gain = UNIT;
                return;
            }
        }
        self.lt.bw = bw;
        self.lt.start_interval(s);
    }
}
