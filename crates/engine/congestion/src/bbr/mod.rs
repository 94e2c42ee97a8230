//! BBR v1: a model of the path instead of a reaction to loss. Every ACK gives a delivery rate and
//! an RTT; the largest recent rate (BtlBw) and the smallest recent RTT (RTprop) describe the path;
//! packets are paced at BtlBw, with at most about twice the product of both in flight. STARTUP
//! finds the bandwidth, DRAIN empties the resulting queue, PROBE_BW probes for more from time to time,
//! PROBE_RTT measures the RTT without a queue every 10 s.
//!
//! Sources: Cardwell et al., "BBR: congestion-based congestion control" (ACM Queue 14(5), 2016);
//! draft-cardwell-iccrg-bbr-congestion-control-00; Linux 6.18 `tcp_bbr.c`, whose fixed point
//! (`params.rs`) and integer widths are kept.
//!
//! | paper | here, as in Linux |
//! |---|---|
//! | paces at BtlBw | 1 % below it |
//! | cwnd = gain * BDP | plus three bursts, ACK aggregates (`aggregation.rs`), two packets in the probing phase of PROBE_BW |
//! | no reaction to loss | packet conservation in recovery's first round; policer detection (`longterm.rs`) |
//! | RTprop over 10 s | in jiffies; an equal RTT does not restart the interval |
//!
//! Departures from Linux: times are 64-bit and do not wrap; random phases come from a named
//! stream; counters of packets are 64-bit.

mod aggregation;
mod bandwidth;
mod longterm;
mod pacing;
mod params;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::hsr::{Hsr, HsrParameters};
use crate::jiffies::{self, Jiffies, micros};
use crate::windowed_max::WindowedMax;
use crate::{Algorithm, CaState, Controller, Event, Plain, Probe, RateSample, Socket, Window};
use aggregation::Aggregation;
use longterm::LongTerm;
use params::*;
use startup::FullPipe;
use units::{Label, Span, Stream, Time};

/// BBR's states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    random: Stream,
    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    /// Packet size, for reports.
    mss: u32,

    bw: WindowedMax,
    rounds: u32,
    /// A packet sent at or after this `delivered` mark ends the round when delivered.
    next_rtt_delivered: u64,
    round_start: bool,
    lt: LongTerm,
    aggregation: Aggregation,

    /// RTprop, microseconds; `None` before the first sample.
    min_rtt_us: Option<u32>,
    min_rtt_stamp: Jiffies,
    probe_rtt_done: Option<Jiffies>,
    probe_rtt_round_done: bool,

    full: FullPipe,
    full_bw_reached: bool,
    /// Phase of PROBE_BW, and its start.
    cycle: usize,
    cycle_start: Time,

    has_seen_rtt: bool,
    idle_restart: bool,
    packet_conservation: bool,
    prev_state: CaState,
    /// The window before recovery or PROBE_RTT.
    prior_cwnd: u32,

    /// The additions of BBR-HSR; `None` for plain BBR.
    hsr: Option<Hsr>,
}

impl Bbr {
    /// A new controller that draws the initial phases of PROBE_BW from `random`.
    pub fn new(random: Stream) -> Bbr {
        Bbr {
            random,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            mss: 0,
            bw: WindowedMax::default(),
            rounds: 0,
            next_rtt_delivered: 0,
            round_start: false,
            lt: LongTerm::default(),
            aggregation: Aggregation::default(),
            min_rtt_us: None,
            min_rtt_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            full: FullPipe::default(),
            full_bw_reached: false,
            cycle: 0,
            cycle_start: Time::ZERO,
            has_seen_rtt: false,
            idle_restart: false,
            packet_conservation: false,
            prev_state: CaState::Open,
            prior_cwnd: 0,
            hsr: None,
        }
    }

    /// BBR-HSR: BBR with the RTT estimate for the window and the recovery after handovers of `hsr.rs`.
    pub fn hsr(random: Stream, parameters: &HsrParameters) -> Bbr {
        Bbr { hsr: Some(Hsr::new(parameters)), ..Bbr::new(random) }
    }

    fn update_model(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        let held = self.max_bw();
        self.update_bw(s, rs);
        self.restore_bw(s, rs, held);
        self.update_ack_aggregation(s, w, rs);
        self.update_cycle_phase(s, w, rs);
        self.check_full_pipe(rs);
        self.check_drain(s, w);
        self.update_min_rtt(s, w, rs);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw => (self.cycle_gain(), CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

impl Algorithm for Bbr {
    type Parameters = Plain;
    const LABEL: Label = Label::same("BBR");
    const ABOUT: &'static str = "Version 1: paces at the measured bottleneck rate regardless of loss (draft-cardwell-iccrg-bbr-congestion-control-00).";

    fn controller(_: &Plain, random: Stream) -> Box<dyn Controller> {
        Box::new(Bbr::new(random))
    }
}

impl Controller for Bbr {
    fn name(&self) -> &'static str {
        if self.hsr.is_some() { "bbr-hsr" } else { "bbr" }
    }

    fn init(&mut self, s: &Socket, w: &mut Window) {
        let mut hsr = self.hsr.take();
        hsr.iter_mut().for_each(Hsr::reset);
        *self = Bbr { hsr, ..Bbr::new(self.random.clone()) };
        self.mss = s.mss;
        self.next_rtt_delivered = s.delivered;
        self.min_rtt_us = s.min_rtt.map(micros);
        self.min_rtt_stamp = jiffies::at(s.now);
        self.lt.reset(s);
        self.aggregation.start_epoch(s.now);
        // Linux runs its model once on the handshake's ACK, before this. The only effect is
        // that the first flight counts as application-limited, so that it ends no round of STARTUP.
        w.app_limited = Some((s.delivered + s.inflight as u64).max(1));
        w.ssthresh = u32::MAX;
        w.pacing = true;
        self.init_pacing_rate(s, w);
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        self.mss = s.mss;
        self.update_model(s, w, rs);
        let bw = self.bw();
        self.set_pacing_rate(s, w, bw, self.pacing_gain);
        self.set_cwnd(s, w, rs, bw, self.cwnd_gain);
    }

    /// A loss does not reduce the rate; the window is saved for the end of recovery.
    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        self.save_cwnd(w);
        w.ssthresh
    }

    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.full = FullPipe::default();
        self.lt.reset(s);
        w.cwnd
    }

    fn set_state(&mut self, s: &Socket, _: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.prev_state = CaState::Loss;
            self.full.bw = 0;
            self.round_start = true; // a timeout ends the round
            self.sample_long_term_bw(s, &RateSample { losses: 1, ..RateSample::default() });
        }
    }

    /// Restart from idle: pace at the estimate, without PROBE_BW's gain.
    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        if event != Event::TxStart || s.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.start_epoch(s.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(s, w, self.bw(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(s, w),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segs(&self, w: &Window) -> u32 {
        pacing::min_burst_segs(w)
    }

    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn probe(&self) -> Probe {
        let bw = (self.bw() as u64).wrapping_mul(self.mss as u64 * 1_000_000) >> BW_SCALE;
        Probe {
            state: match self.mode {
                Mode::Startup => "STARTUP",
                Mode::Drain => "DRAIN",
                Mode::ProbeBw => "PROBE_BW",
                Mode::ProbeRtt => "PROBE_RTT",
            },
            btl_bw: (bw > 0).then_some(bw),
            rt_prop: self.min_rtt_us.map(|us| Span::from_micros(us as u64)),
            pacing_gain: Some(self.pacing_gain as f64 / UNIT as f64),
            cwnd_gain: Some(self.cwnd_gain as f64 / UNIT as f64),
            round: Some(self.rounds as u64),
        }
    }
}
