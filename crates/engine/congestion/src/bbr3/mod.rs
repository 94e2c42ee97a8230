//! BBR v3: a model of the path, as v1, that also reacts to loss. max_bw, the largest delivery rate of
//! two probing cycles, and min_rtt give the BDP; packets are paced at the bandwidth, and no more
//! than twice the BDP is in flight. In addition to v1 there are bounds: inflight_longterm, above which the
//! path lost more than 2 %, and bw_shortterm and inflight_shortterm, which every loss between two probes
//! lowers. Probes are rare enough for Reno and CUBIC to grow in between.
//!
//! Source: draft-ietf-ccwg-bbr-06 (July 2026), "BBR Congestion Control"; the doc comments of functions give
//! the draft's names. The name `bbr3` is longfat's: google/bbr's branch v3 calls it `bbr`.
//!
//! | draft | here |
//! |---|---|
//! | bytes | packets, rounded up to whole ones |
//! | max_bw over a windowed filter by cycle | the two cycles' maxima; one without a sample is not counted, as in google/bbr |
//! | undo state is saved at the first loss of each round, and again when recovery begins | saved once per recovery, before its first loss, including the window: otherwise the lowered bound and window would be "restored" |
//! | inflight_shortterm starts from cwnd | after a timeout from the window before it, as in google/bbr |
//! | an RTT replaces an expired minimum | not that of a delayed ACK, as in google/bbr |
//! | full-pipe estimator on any round's sample | not on one without a valid rate |
//! | no more than `send_quantum` at once | the transport sizes bursts as Linux does, about 1 ms worth, at least two packets |
//! | ECN: CE must count as congestion, details are unspecified | an ECN-Echo ends a probe as excessive loss does, and lowers the short-term bounds once per round; no effect in STARTUP |
//! | random waits | from a named stream |

mod aggregation;
mod bandwidth;
mod drain;
mod longterm;
mod pacing;
mod params;
mod probe_bw;
mod probe_rtt;
mod shortterm;
mod startup;
mod undo;
mod window;

use crate::{Algorithm, CaState, Controller, Event, LostPacket, Plain, Probe, RateSample, Socket, Window};
use aggregation::Bbr3Aggregation;
use bandwidth::{Latest, MaxBw, Rounds};
use params::*;
use probe_bw::{Cycle, ProbeAcks};
use probe_rtt::MinRtt;
use shortterm::ShortTerm;
use startup::{FullBw, Losses};
use undo::UndoModel;
use units::{Label, Stream};

/// BBR's states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bbr3State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    random: Stream,
    state: Bbr3State,
    /// Packet size, for reports.
    mss: u32,
    initial_cwnd: u32,
    has_seen_rtt: bool,
    idle_restart: bool,
    /// Whether the window was the limit in the last round.
    is_cwnd_limited: bool,

    rounds: Rounds,
    max_bw: MaxBw,
    /// The smaller of max_bw and the short-term bound.
    bw: u64,
    latest: Latest,
    min_rtt: MinRtt,
    aggregation: Bbr3Aggregation,

    full: FullBw,
    full_bw_reached: bool,
    losses: Losses,
    /// The round DRAIN began in.
    drain_start: u64,
    cycle: Cycle,

    short: ShortTerm,
    /// inflight_longterm, packets; `None`: unbounded.
    longterm: Option<u32>,
    undo: UndoModel,
    /// The window before recovery or PROBE_RTT.
    prior_cwnd: u32,
}

impl Bbr3 {
    /// A new controller that draws the waits between its probes from `random`.
    pub fn new(random: Stream) -> Bbr3 {
        Bbr3 {
            random,
            state: Bbr3State::Startup,
            mss: 0,
            initial_cwnd: 0,
            has_seen_rtt: false,
            idle_restart: false,
            is_cwnd_limited: false,
            rounds: Rounds::default(),
            max_bw: MaxBw::default(),
            bw: 0,
            latest: Latest::default(),
            min_rtt: MinRtt::default(),
            aggregation: Bbr3Aggregation::default(),
            full: FullBw::default(),
            full_bw_reached: false,
            losses: Losses::default(),
            drain_start: 0,
            cycle: Cycle::default(),
            short: ShortTerm::default(),
            longterm: None,
            undo: UndoModel::default(),
            prior_cwnd: 0,
        }
    }

    /// IsProbingBW.
    fn is_probing(&self) -> bool {
        matches!(self.state, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up)
    }

    /// The table in "Summary of Control Behavior in the State Machine".
    fn pacing_gain(&self) -> u64 {
        match self.state {
            Bbr3State::Startup => STARTUP_PACING_GAIN,
            Bbr3State::Drain => DRAIN_PACING_GAIN,
            Bbr3State::Down => DOWN_PACING_GAIN,
            Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::ProbeRtt => UNIT,
            Bbr3State::Up => UP_PACING_GAIN,
        }
    }

    fn cwnd_gain(&self) -> u64 {
        match self.state {
            Bbr3State::Up => UP_CWND_GAIN,
            Bbr3State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// UpdateModelAndState.
    fn update_model(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        self.update_latest(s, rs);
        self.update_congestion_signals(s, w, rs);
        self.update_aggregation(s, w, rs);
        self.check_full_bw(rs);
        self.check_startup_done(s, rs);
        self.check_drain_done(s, w);
        self.update_cycle(s, w, rs);
        self.update_min_rtt(s, rs);
        self.check_probe_rtt(s, w, rs);
        self.advance_latest(rs);
        self.bound_bw();
    }
}

impl Algorithm for Bbr3 {
    type Parameters = Plain;
    const LABEL: Label = Label::same("BBRv3");
    const ABOUT: &'static str =
        "Version 3: BBR with bounds that loss and ECN determine (draft-ietf-ccwg-bbr).";

    fn controller(_: &Plain, random: Stream) -> Box<dyn Controller> {
        Box::new(Bbr3::new(random))
    }
}

impl Controller for Bbr3 {
    fn name(&self) -> &'static str {
        "bbr3"
    }

    /// OnInit.
    fn init(&mut self, s: &Socket, w: &mut Window) {
        *self = Bbr3::new(self.random.clone());
        (self.mss, self.initial_cwnd) = (s.mss, w.cwnd);
        self.min_rtt.rtt = s.srtt;
        self.min_rtt.probe_rtt = s.srtt;
        (self.min_rtt.stamp, self.min_rtt.probe_stamp) = (s.now, s.now);
        self.aggregation.restart(s.now);
        w.pacing = true;
        self.init_pacing_rate(s, w);
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        (self.mss, self.is_cwnd_limited) = (s.mss, s.is_cwnd_limited);
        if rs.ece {
            self.note_loss(s, w);
            if self.cycle.is_probe_sample {
                self.handle_too_high(s, w, rs.tx_in_flight, rs.is_app_limited);
            }
        }
        self.update_model(s, w, rs);
        self.set_pacing_rate(s, w, self.pacing_gain());
        self.set_cwnd(s, w, rs);
    }

    fn packet_lost(&mut self, s: &Socket, w: &mut Window, lost: &LostPacket) {
        self.note_loss(s, w);
        self.losses.take(lost);
        self.handle_lost_packet(s, w, lost);
    }

    /// OnEnterFastRecovery, OnEnterRTO: saves the state; there is no threshold.
    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.save_state(s, w);
        w.ssthresh
    }

    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.restore_cwnd(w);
        self.handle_spurious_loss(s);
        w.cwnd
    }

    fn set_state(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        self.recovery_moves(s, w, new);
    }

    /// HandleRestartFromIdle: pace at the estimate itself.
    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        if event != Event::TxStart || s.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(s.now);
        if self.in_probe_bw() {
            self.set_pacing_rate(s, w, UNIT);
        } else if self.state == Bbr3State::ProbeRtt {
            self.check_probe_rtt_done(s, w);
        }
    }

    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn probe(&self) -> Probe {
        let bytes = (self.max_bw.get() as u128 * (self.mss as u128 * 1_000_000)) >> BW_SCALE;
        Probe {
            state: match self.state {
                Bbr3State::Startup => "STARTUP",
                Bbr3State::Drain => "DRAIN",
                Bbr3State::Down => "PROBE_BW_DOWN",
                Bbr3State::Cruise => "PROBE_BW_CRUISE",
                Bbr3State::Refill => "PROBE_BW_REFILL",
                Bbr3State::Up => "PROBE_BW_UP",
                Bbr3State::ProbeRtt => "PROBE_RTT",
            },
            btl_bw: (bytes > 0).then_some(bytes.min(u64::MAX as u128) as u64),
            rt_prop: self.min_rtt.rtt,
            pacing_gain: Some(self.pacing_gain() as f64 / UNIT as f64),
            cwnd_gain: Some(self.cwnd_gain() as f64 / UNIT as f64),
            round: Some(self.rounds.count),
        }
    }
}
