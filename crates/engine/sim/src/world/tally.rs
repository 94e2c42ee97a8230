//! Statistics of the ACKs in a step, counted by the congestion control.

use congestion::{AckEvent, CaState, Controller, Event, LostPacket, Probe, RateSample, Socket, Window};
use std::sync::{Arc, Mutex, PoisonError};
use units::Span;

/// Statistics of the ACKs since the tally was last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckTally {
    /// ACKs of new data.
    pub acks: u64,
    /// RTT samples.
    pub samples: u64,
    /// Sum of the RTT samples, ns.
    pub rtt_sum_ns: u64,
    /// Minimum RTT; `None` without a sample.
    pub rtt_min: Option<Span>,
    /// Maximum RTT; `None` without a sample.
    pub rtt_max: Option<Span>,
    /// First RTT sample; with the last one it shows the trend.
    pub rtt_first: Option<Span>,
    /// Last RTT sample.
    pub rtt_last: Option<Span>,
}

impl AckTally {
    fn sample(&mut self, rtt: Span) {
        self.samples += 1;
        self.rtt_sum_ns += rtt.as_nanos();
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        self.rtt_max = Some(self.rtt_max.map_or(rtt, |most| most.max(rtt)));
        self.rtt_first.get_or_insert(rtt);
        self.rtt_last = Some(rtt);
    }
}

/// A congestion control that delegates to another, or leaves the window to an actor, and counts what ACKs
/// report.
pub struct TalliedControl {
    /// The control delegated to. `None`: the window is set from outside, and only a timeout changes it here.
    inner: Option<Box<dyn Controller>>,
    paced: bool,
    tally: Arc<Mutex<AckTally>>,
}

impl TalliedControl {
    /// A control that counts into `tally`. Without `inner`, packets are paced at the rate set from outside if
    /// `paced`.
    pub fn new(
        inner: Option<Box<dyn Controller>>,
        paced: bool,
        tally: Arc<Mutex<AckTally>>,
    ) -> TalliedControl {
        TalliedControl { inner, paced, tally }
    }
}

impl Controller for TalliedControl {
    fn name(&self) -> &'static str {
        self.inner.as_ref().map_or("actor", |inner| inner.name())
    }

    fn init(&mut self, s: &Socket, w: &mut Window) {
        match &mut self.inner {
            Some(inner) => inner.init(s, w),
            None => w.pacing |= self.paced,
        }
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.inner.as_mut().map_or(w.cwnd, |inner| inner.ssthresh(s, w))
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if let Some(inner) = &mut self.inner {
            inner.cong_avoid(s, w, acked);
        }
    }

    fn owns_window(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.owns_window())
    }

    fn fast_recovery(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.fast_recovery())
    }

    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        if let Some(inner) = &mut self.inner {
            inner.cong_control(s, w, rs);
        }
    }

    fn pkts_acked(&mut self, s: &Socket, w: &mut Window, rtt: Option<Span>, pkts_acked: u32) {
        {
            let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.acks += 1;
            if let Some(rtt) = rtt {
                tally.sample(rtt);
            }
        }
        if let Some(inner) = &mut self.inner {
            inner.pkts_acked(s, w, rtt, pkts_acked);
        }
    }

    fn in_ack_event(&mut self, s: &Socket, w: &mut Window, ack: AckEvent) {
        if let Some(inner) = &mut self.inner {
            inner.in_ack_event(s, w, ack);
        }
    }

    fn packet_lost(&mut self, s: &Socket, w: &mut Window, lost: &LostPacket) {
        if let Some(inner) = &mut self.inner {
            inner.packet_lost(s, w, lost);
        }
    }

    fn set_state(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        if let Some(inner) = &mut self.inner {
            inner.set_state(s, w, new);
        }
    }

    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        if let Some(inner) = &mut self.inner {
            inner.cwnd_event(s, w, event);
        }
    }

    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        match &mut self.inner {
            Some(inner) => inner.undo_cwnd(s, w),
            None => w.cwnd,
        }
    }

    fn min_tso_segs(&self, w: &Window) -> u32 {
        self.inner.as_ref().map_or(2, |inner| inner.min_tso_segs(w))
    }

    fn sndbuf_expand(&self) -> u32 {
        self.inner.as_ref().map_or(3, |inner| inner.sndbuf_expand())
    }

    fn probe(&self) -> Probe {
        self.inner.as_ref().map_or_else(Probe::default, |inner| inner.probe())
    }
}
