//! Westwood+: grows as Reno does, but after a loss the window is set to the measured capacity of the path,
//! bandwidth * smallest RTT, instead of to a half. A loss without congestion then has
//! little effect.
//!
//! The bandwidth is measured from ACKs: bytes acknowledged in an interval of one RTT, 50 ms at
//! least, smoothed by two low-pass filters with a weight of 7/8 for the past each. The long
//! intervals are the "+": the first Westwood took a sample per ACK, and ACK compression distorted it.
//!
//! Sources: Grieco, Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
//! Vegas TCP congestion control", CCR 34(2), 2004; Linux 6.18 `tcp_westwood.c`, whose arithmetic is
//! kept: bytes per jiffy and RTTs in jiffies, whole numbers of 32 bits.
//!
//! | the paper | here, as in Linux |
//! |---|---|
//! | a sample each RTT | after more than max(RTT, 50 ms), where 50 ms is `HZ / 20`, so 12 ticks of 4 ms |
//! | the filter's coefficients follow the spacing of samples (earlier Westwood) | 7/8, twice |
//! | the filter starts at zero | at its first sample that is not zero |
//! | RTT for the sample's length: smoothed | the last one measured, rounded up to a tick |
//! | RTTmin: the smallest seen | the smallest since the last timeout |
//! | duplicate ACKs count a packet each, a later cumulative ACK without them | the same, but only on the slow path, where any ACK that acknowledges nothing counts as a duplicate |
//! | at three duplicate ACKs cwnd = min(cwnd, ssthresh) | ssthresh falls to cwnd / 2 for the round of recovery (PRR); at its end both are set to the estimate, even if that is larger |
//! | after a timeout cwnd = 1, ssthresh = BWE * RTTmin | the same ssthresh |
//!
//! | Linux | here |
//! |---|---|
//! | the end of recovery may set cwnd above `snd_cwnd_clamp` | not above |
//! | the product of rate and RTT wraps at 4 GiB | it is bounded there |

use crate::jiffies::{self, HZ, Jiffies};
use crate::reno::Reno;
use crate::{AckEvent, Algorithm, Controller, Event, Plain, Probe, Socket, Window};
use units::{Label, Span, Stream};

/// Shortest sample in ticks: 50 ms in whole ticks.
const RTT_MIN: u32 = (HZ / 20) as u32;
/// RTT before the first measurement, in ticks: 20 s, so that no sample ends before it.
const INIT_RTT: u32 = (20 * HZ) as u32;

/// Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// Bandwidth after one filter and after both, bytes per tick.
    bw_once: u32,
    bw: u32,
    /// Start of the current sample, and the bytes it has counted so far.
    begin: Jiffies,
    bytes: u32,
    /// First unacknowledged byte at the last ACK; `None` before the first.
    una: Option<u64>,
    /// Bytes counted for duplicate ACKs that no cumulative ACK has confirmed yet.
    accounted: u32,
    /// Last RTT and the smallest, ticks.
    rtt: u32,
    rtt_min: u32,
    /// Whether the next RTT replaces the smallest.
    reset_rtt_min: bool,
}

impl Default for Westwood {
    fn default() -> Westwood {
        Westwood {
            bw_once: 0,
            bw: 0,
            begin: 0,
            bytes: 0,
            una: None,
            accounted: 0,
            rtt: INIT_RTT,
            rtt_min: INIT_RTT,
            reset_rtt_min: true,
        }
    }
}

impl Westwood {
    /// A controller for a new connection.
    pub fn new() -> Westwood {
        Westwood::default()
    }

    /// Ends the current sample if it is long enough.
    fn end_sample(&mut self, now: Jiffies) {
        let elapsed = now.saturating_sub(self.begin).min(u32::MAX as u64) as u32;
        if self.rtt == 0 || elapsed <= self.rtt.max(RTT_MIN) {
            return;
        }
        let sample = self.bytes / elapsed;
        if self.bw_once == 0 && self.bw == 0 {
            (self.bw_once, self.bw) = (sample, sample);
        } else {
            self.bw_once = low_pass(self.bw_once, sample);
            self.bw = low_pass(self.bw, self.bw_once);
        }
        self.bytes = 0;
        self.begin = now;
    }

    /// Bytes delivered according to an ACK on the slow path. A duplicate counts one packet, which is
    /// deducted from the cumulative ACK that follows.
    fn count_slowly(&mut self, advance: u32, mss: u32) -> u32 {
        if advance == 0 {
            self.accounted = self.accounted.wrapping_add(mss);
            return mss;
        }
        if advance <= mss {
            return advance;
        }
        if self.accounted >= advance {
            self.accounted -= advance;
            return mss;
        }
        advance - std::mem::take(&mut self.accounted)
    }

    /// BWE * RTTmin in packets, at least two (equation for ssthresh in the paper's section 2).
    fn pipe(&self, mss: u32) -> u32 {
        let bytes = self.bw as u64 * self.rtt_min as u64;
        (bytes.min(u32::MAX as u64) as u32 / mss.max(1)).max(2)
    }
}

/// One step of the filter: 7/8 of the old value and 1/8 of the new one.
fn low_pass(old: u32, new: u32) -> u32 {
    ((7 * old as u64 + new as u64) >> 3) as u32
}

impl Algorithm for Westwood {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Westwood+");
    const ABOUT: &'static str = "Reno that after a loss reduces the window to the measured bandwidth-delay product (Grieco and Mascolo 2004).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Westwood::new())
    }
}

impl Controller for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn init(&mut self, s: &Socket, _: &mut Window) {
        *self = Westwood { begin: jiffies::at(s.now), ..Westwood::default() };
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        Reno.ssthresh(s, w)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        Reno.cong_avoid(s, w, acked);
    }

    fn pkts_acked(&mut self, _: &Socket, _: &mut Window, rtt: Option<Span>, _: u32) {
        if let Some(us) = rtt.map(jiffies::micros).filter(|&us| us > 0) {
            self.rtt = jiffies::from_micros(us) as u32;
        }
    }

    fn in_ack_event(&mut self, s: &Socket, _: &mut Window, ack: AckEvent) {
        let una = *self.una.get_or_insert(s.snd_una);
        self.end_sample(jiffies::at(s.now));
        let advance = s.snd_una.saturating_sub(una) as u32;
        self.una = Some(s.snd_una);
        let bytes = if ack.slow_path { self.count_slowly(advance, s.mss) } else { advance };
        self.bytes = self.bytes.wrapping_add(bytes);
        let reset = std::mem::take(&mut self.reset_rtt_min);
        self.rtt_min = if reset { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        match event {
            Event::CompleteCwr => {
                w.ssthresh = self.pipe(s.mss);
                w.cwnd = w.ssthresh.min(w.cwnd_clamp);
            }
            Event::Loss => {
                w.ssthresh = self.pipe(s.mss);
                self.reset_rtt_min = true; // the path may have changed
            }
            Event::TxStart | Event::CwndRestart => {}
        }
    }

    fn probe(&self) -> Probe {
        let tick = Span::from_nanos(1_000_000_000 / HZ);
        Probe {
            btl_bw: Some(self.bw as u64 * HZ).filter(|&bw| bw > 0),
            rt_prop: (!self.reset_rtt_min).then(|| tick * self.rtt_min as u64),
            ..Probe::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_weights_the_past_by_seven_eighths_and_rounds_down() {
        assert_eq!(low_pass(800, 0), 700);
        assert_eq!(low_pass(8, 1), 7); // 57 / 8
        assert_eq!(low_pass(u32::MAX, u32::MAX), u32::MAX);
    }

    #[test]
    fn duplicates_are_deducted_from_the_cumulative_ack() {
        let mut c = Westwood::new();
        // Three duplicates, then an ACK of five packets: five packets in total.
        let counts = [0, 0, 0, 5_000].map(|advance| c.count_slowly(advance, 1_000));
        assert_eq!(counts, [1_000, 1_000, 1_000, 2_000]);
        assert_eq!(c.accounted, 0);
        // Three duplicates and a partial ACK of two: each still counts one.
        let counts = [0, 0, 0, 2_000].map(|advance| c.count_slowly(advance, 1_000));
        assert_eq!(counts, [1_000; 4]);
        assert_eq!(c.accounted, 1_000);
        // An ACK of a single packet counts in full.
        assert_eq!((c.count_slowly(600, 1_000), c.accounted), (600, 1_000));
    }

    #[test]
    fn the_pipe_is_never_below_two_packets() {
        let c = Westwood { bw: 5_000, rtt_min: 10, ..Westwood::new() };
        assert_eq!((c.pipe(1_000), c.pipe(40_000)), (50, 2));
        let fast = Westwood { bw: u32::MAX, rtt_min: 100, ..Westwood::new() };
        assert_eq!(fast.pipe(1), u32::MAX);
    }
}
