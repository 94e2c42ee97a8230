//! BBR-HSR, BBR for high-speed mobile networks: BBR v1 with a window that is based on an estimate of the
//! current RTT instead of the minimum, and with a bandwidth estimate that is restored after a failed
//! handover. With jitter, gain * BtlBw * RTprop is less than the path can hold: the window
//! limits the flow, delivery rates fall with it, and BtlBw falls with them.
//!
//! ```text
//! RTT_avg <- (1 - alpha) RTT_avg + alpha RTT_t        every RTT sample
//! RTT_est  = max(min(RTT_avg, T), RTprop)
//! cwnd     = cwnd_gain * BtlBw * RTT_est
//!
//! flag 0 -> 1   RTT_t > T1: a handover has begun; BW_rec is chosen
//! flag 1 -> 2   three RTT samples in a row below T2: it is over
//! flag 2 -> 0   BtlBw = max(BtlBw, BW_rec)
//! ```
//!
//! Source: "Application and improvement of BBR algorithm in high-speed mobile networks" (2019).
//! Everything else is BBR v1 (`bbr/`), which gets two values from this module: an RTT for the window, and a
//! bandwidth to restore.
//!
//! | paper | here |
//! |---|---|
//! | unspecified: the choice of BW_rec | `bw_rec`; by default the BtlBw just before the ACK that sets the flag. While nothing is delivered no round ends, so BtlBw does not decay, and a timeout does not count a round either: this is the sender's estimate when its packets stopped arriving |
//! | unspecified: another RTT above T1 while the flag is set | BW_rec is unchanged: the bandwidth in between is that of the handover |
//! | the flag passes through 2 | within one ACK, so the value is never visible |
//! | BtlBw = BW_rec | enters the maximum filter as a sample of this round, and leaves it after ten; a policer's rate found by Linux's detector (`bbr/longterm.rs`) remains in effect |
//! | unspecified: the initial RTT_avg | the first sample; without one RTT_est is RTprop |
//! | RTT_est may be below RTprop if T is | not below RTprop |
//! | only cwnd is changed | the end of DRAIN and the phases of PROBE_BW still compare the data in flight with RTprop's BDP, and the pacing rate is still gain * BtlBw; recovery, PROBE_RTT, bursts and aggregates as in BBR v1 |
//! | RTT_t | the kernel's sample per ACK (`rs->rtt_us`), including ACKs that were likely delayed; retransmitted packets give none (Karn), so that a handover that loses everything in flight does not set the flag |
//! | real numbers | alpha in 1/1024, RTT_avg in 1/1024 µs, rounded down |
//!
//! T2 must be above the path's RTT with the flow's own queue: otherwise the flag stays set, and BW_rec
//! is not used. A window-limited flow has an RTT of about cwnd_gain * T, with the published
//! values 100 ms, above T2. The average includes the flow's own queue: without T the window
//! and the RTT increase each other until the buffer is full.

mod parameters;

pub use parameters::{Bound, HsrParameters, HsrProblem, RecoveryBandwidth};

use crate::{Algorithm, Bbr, Controller};
use parameters::Fixed;
use units::{Label, Stream};

/// Alpha and the fraction of RTT_avg are in 1/1024.
const FRACTION: u32 = 10;
const ONE: u64 = 1 << FRACTION;

/// Number of consecutive RTT samples below T2 that end a handover.
const SHORT_RTTS_TO_END: u8 = 3;

/// BBR-HSR: [`Bbr`] with the additions of this module.
#[derive(Clone, Copy, Debug)]
pub struct BbrHsr;

impl Algorithm for BbrHsr {
    type Parameters = HsrParameters;
    const LABEL: Label = Label::same("BBR-HSR");
    const ABOUT: &'static str = "BBR for high-speed trains: the window follows the current RTT, the bandwidth is restored after a handover.";

    fn controller(parameters: &HsrParameters, random: Stream) -> Box<dyn Controller> {
        Box::new(Bbr::hsr(random, parameters))
    }
}

/// State of BBR-HSR in addition to BBR's. Bandwidths are in the caller's unit.
#[derive(Clone, Debug)]
pub(crate) struct Hsr {
    fixed: Fixed,
    /// RTT_avg, 1/1024 µs.
    average: Option<u64>,
    handover: Option<HandoverFlag>,
}

/// State while the flag is 1.
#[derive(Clone, Copy, Debug)]
struct HandoverFlag {
    /// BtlBw at the start of the handover.
    held: u32,
    /// Consecutive RTT samples below T2.
    short_rtts: u8,
}

/// A bandwidth to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoredBandwidth {
    /// The caller's bandwidth at the start of the handover.
    Held(u32),
    /// Payload, bytes per second.
    Rate(u64),
}

impl Hsr {
    pub(crate) fn new(parameters: &HsrParameters) -> Hsr {
        Hsr { fixed: Fixed::new(parameters), average: None, handover: None }
    }

    /// Resets the state for a new connection.
    pub(crate) fn reset(&mut self) {
        *self = Hsr { average: None, handover: None, ..*self };
    }

    /// Records an RTT; `btl_bw` is the estimate before its ACK. When a handover ends, returns the
    /// bandwidth below which BtlBw must not be.
    pub(crate) fn update(&mut self, rtt_us: u32, btl_bw: u32) -> Option<RestoredBandwidth> {
        let newest = (rtt_us as u64) << FRACTION;
        let alpha = self.fixed.alpha;
        self.average = Some(match self.average {
            None => newest,
            Some(average) => ((ONE - alpha) * average + alpha * newest) >> FRACTION,
        });
        if rtt_us > self.fixed.t1_us {
            self.handover.get_or_insert(HandoverFlag { held: btl_bw, short_rtts: 0 }).short_rtts = 0;
            return None;
        }
        let handover = self.handover.as_mut()?;
        handover.short_rtts = if rtt_us < self.fixed.t2_us { handover.short_rtts + 1 } else { 0 };
        if handover.short_rtts < SHORT_RTTS_TO_END {
            return None;
        }
        let held = handover.held;
        self.handover = None;
        Some(self.fixed.bw_rec.map_or(RestoredBandwidth::Held(held), RestoredBandwidth::Rate))
    }

    /// RTT_est, microseconds.
    pub(crate) fn rtt_us(&self, rt_prop_us: u32) -> u32 {
        let average = self.average.map_or(0, |average| average >> FRACTION);
        (average.min(self.fixed.t_us as u64) as u32).max(rt_prop_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    fn hsr(parameters: HsrParameters) -> Hsr {
        parameters.check().unwrap();
        Hsr::new(&parameters)
    }

    /// 40 ms, then 80 ms three times, each closing a quarter of the gap with alpha = 1/4: 50, 57.5,
    /// 63.125 ms. T is the upper bound, RTprop the lower bound.
    #[test]
    fn the_average_moves_by_alpha_between_rt_prop_and_t() {
        let t = Bound::At(Span::from_millis(60));
        let mut h = hsr(HsrParameters { alpha: 0.25, t, ..HsrParameters::default() });
        assert_eq!(h.rtt_us(40_000), 40_000, "no sample yet: RTprop");
        let mut estimates = Vec::new();
        for ms in [40, 80, 80, 80] {
            h.update(ms * 1_000, 0);
            estimates.push(h.rtt_us(40_000));
        }
        assert_eq!(estimates, [40_000, 50_000, 57_500, 60_000]);
        assert_eq!(h.rtt_us(61_000), 61_000, "never below RTprop");

        // Without a bound it converges to 80 ms within the resolution of 1/1024 µs.
        let mut h = hsr(HsrParameters { t: Bound::None, ..HsrParameters::default() });
        for ms in std::iter::once(40).chain(std::iter::repeat_n(80, 300)) {
            h.update(ms * 1_000, 0);
        }
        assert_eq!(h.rtt_us(40_000), 79_999);
    }

    /// The largest RTT and the largest T do not overflow.
    #[test]
    fn the_largest_values_do_not_overflow() {
        let mut h =
            hsr(HsrParameters { alpha: 1.0, t: Bound::None, t1: Bound::None, ..HsrParameters::default() });
        for _ in 0..3 {
            assert_eq!(h.update(u32::MAX, 1), None, "without T1 there are no handovers");
            assert_eq!(h.rtt_us(0), u32::MAX);
        }
    }

    /// 1000 ms is not above T1, 80 ms is not below T2; an RTT of 80 ms or more restarts the count.
    #[test]
    fn a_handover_ends_with_three_short_rtts_in_a_row() {
        let mut h = hsr(HsrParameters::default());
        assert_eq!([1_000_000, 10, 10, 10].map(|rtt| h.update(rtt, 7)), [None; 4]);
        let late = [1_000_001, 2_000_000, 79_999, 79_999, 80_000, 79_999, 79_999];
        for (i, rtt) in late.into_iter().enumerate() {
            assert_eq!(h.update(rtt, 500 - i as u32), None, "{rtt}");
        }
        assert_eq!(
            h.update(79_999, 3),
            Some(RestoredBandwidth::Held(500)),
            "BtlBw at the start of the handover"
        );
        assert_eq!([10, 10, 10].map(|rtt| h.update(rtt, 7)), [None; 3]);
        assert_eq!(h.update(1_000_001, 9), None);
        assert_eq!([10, 10, 10].map(|rtt| h.update(rtt, 7)), [None, None, Some(RestoredBandwidth::Held(9))]);
    }

    #[test]
    fn the_bandwidth_to_restore_can_be_a_given_rate() {
        let bw_rec = RecoveryBandwidth::At(Rate::from_bps(8_000_000));
        let mut h = hsr(HsrParameters { bw_rec, ..HsrParameters::default() });
        h.update(1_000_001, 9);
        assert_eq!([1, 1, 1].map(|rtt| h.update(rtt, 7))[2], Some(RestoredBandwidth::Rate(1_000_000)));
    }

    #[test]
    fn reset_clears_all_state() {
        let mut h = hsr(HsrParameters::default());
        h.update(1_000_001, 9);
        h.reset();
        assert_eq!([1, 1, 1].map(|rtt| h.update(rtt, 7)), [None; 3]);
        assert_eq!(h.rtt_us(0), 1);
    }
}
