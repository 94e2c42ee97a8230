//! BtlBw: the largest delivery rate of the last ten round trips. A round trip is packet-timed:
//! it ends when a packet sent after the last one ended is delivered. Application-limited samples
//! only count when they beat the estimate. The maximum is kept in three samples (Kathleen
//! Nichols' algorithm), in constant space and nearly exact.
//!
//! Sources: BBR paper, "Characterizing the bottleneck"; Linux `tcp_bbr.c`, `lib/win_minmax.c`.

use super::Bbr;
use super::params::*;
use crate::hsr::Return;
use crate::jiffies::micros;
use crate::{RateSample, Socket};

/// A windowed maximum: the best sample and two younger runners-up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Sample; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: u32,
    value: u32,
}

impl WindowedMax {
    pub(super) fn get(&self) -> u32 {
        self.best[0].value
    }

    /// Takes in `value` at time `at`; samples older than `window` are forgotten.
    pub(super) fn update(&mut self, window: u32, at: u32, value: u32) {
        let new = Sample { at, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || at.wrapping_sub(third.at) > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.age(window, new);
    }

    /// Keeps the three spread over the window, and drops what has left it.
    fn age(&mut self, window: u32, new: Sample) {
        let b = &mut self.best;
        let age = new.at.wrapping_sub(b[0].at);
        if age > window {
            *b = [b[1], b[2], new];
            if new.at.wrapping_sub(b[0].at) > window {
                *b = [b[1], b[2], new];
            }
        } else if b[1].at == b[0].at && age > window / 4 {
            (b[1], b[2]) = (new, new);
        } else if b[2].at == b[1].at && age > window / 2 {
            b[2] = new;
        }
    }
}

impl Bbr {
    /// The largest recent delivery rate.
    pub(super) fn max_bw(&self) -> u32 {
        self.bw.get()
    }

    /// The bandwidth the path is believed to have: a policer's rate if one was found.
    pub(super) fn bw(&self) -> u32 {
        if self.lt.use_bw { self.lt.bw } else { self.max_bw() }
    }

    /// Counts rounds and takes in the ACK's delivery rate.
    pub(super) fn update_bw(&mut self, s: &Socket, rs: &RateSample) {
        self.round_start = false;
        let Some((delivered, interval_us)) = valid(rs) else { return };

        if rs.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = s.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term_bw(s, rs);

        let bw = delivered as u64 * BW_UNIT / interval_us;
        if !rs.is_app_limited || bw >= self.max_bw() as u64 {
            self.bw.update(BW_ROUNDS, self.rounds, bw as u32);
        }
    }

    /// BBR-HSR: after a handover BtlBw is not below BW_rec. `held` was in force before this ACK.
    pub(super) fn return_to_bw(&mut self, s: &Socket, rs: &RateSample, held: u32) {
        let (Some(hsr), Some(rtt)) = (&mut self.hsr, rs.rtt) else { return };
        let bw = match hsr.update(micros(rtt), held) {
            Some(Return::Held(bw)) => bw,
            Some(Return::Rate(bytes)) => from_bytes_per_sec(bytes, s.mss),
            None => return,
        };
        if bw > self.max_bw() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }
}

/// Payload in bytes per second as packets/µs << 24.
fn from_bytes_per_sec(bytes: u64, mss: u32) -> u32 {
    ((bytes << BW_SCALE) / (mss.max(1) as u64 * 1_000_000)).min(u32::MAX as u64) as u32
}

/// Packets and microseconds of a valid sample.
pub(super) fn valid(rs: &RateSample) -> Option<(u32, u64)> {
    let us = rs.interval.as_micros();
    rs.delivered.filter(|_| us > 0).map(|delivered| (delivered, us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_leaves_with_its_window() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for round in 1..=10 {
            max.update(10, round, 50 - round);
            assert_eq!(max.get(), 100, "round {round}");
        }
        // Round 11: 100 is 11 rounds old. The runner-up is the one taken when a quarter of the
        // window had passed (age > 10 / 4 in integers: round 3, value 47).
        max.update(10, 11, 39);
        assert_eq!(max.get(), 47);
    }

    #[test]
    fn a_new_maximum_or_silence_starts_afresh() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        max.update(10, 5, 120);
        assert_eq!(max.get(), 120);
        max.update(10, 16, 3);
        assert_eq!(max.get(), 3);
    }
}
