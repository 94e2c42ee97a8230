//! A long fat pipe, round trip by round trip: the window leaves at once, one packet after another
//! comes through the bottleneck and is acknowledged. Known beforehand: the pipe holds `bdp`
//! packets, the queue `buffer`; what is beyond is lost.

use crate::harness::Flow;
use congestion::{AckEvent, CaState, RateSample};
use units::Span;

/// One flow through one bottleneck.
pub struct Pipe {
    pub flow: Flow,
    bdp: u32,
    base: Span,
    buffer: u32,
    /// One packet in this many is lost on the way; 0 = none.
    one_in: u64,
    sent: u64,
    /// Losses so far, and the window after each.
    pub losses: u32,
    pub after_loss: Vec<u32>,
    /// The window at the end of each round trip.
    pub windows: Vec<u32>,
}

impl Pipe {
    /// `bdp` packets fill the pipe within `base`; `buffer` more wait in the queue.
    pub fn new(name: &str, bdp: u32, base: Span, buffer: u32) -> Pipe {
        let mut flow = Flow::new(name, 1);
        flow.w.cwnd = 2;
        let (after_loss, windows) = (Vec::new(), Vec::new());
        Pipe { flow, bdp, base, buffer, one_in: 0, sent: 0, losses: 0, after_loss, windows }
    }

    pub fn lossy(mut self, one_in: u64) -> Pipe {
        self.one_in = one_in;
        self
    }

    /// The time the bottleneck takes for a packet.
    fn per_packet(&self) -> Span {
        self.base / self.bdp as u64
    }

    /// One round trip. Returns how many packets came through.
    pub fn round(&mut self) -> u32 {
        let window = self.flow.w.cwnd;
        self.flow.send(window);
        let carried = window.min(self.bdp + self.buffer);
        let overflown = window > carried;
        self.sent += window as u64;
        let unlucky = self.one_in > 0 && self.sent / self.one_in > (self.sent - window as u64) / self.one_in;
        // The standing queue is what the window has beyond the pipe; ACKs come at the pace of the
        // bottleneck, after a pause when the window does not fill the pipe.
        let queue = carried.saturating_sub(self.bdp);
        let rtt = self.base + self.per_packet() * queue as u64;
        self.flow.wait(rtt - self.per_packet() * carried as u64);
        let before_loss = if unlucky || overflown { carried / 2 } else { carried };
        for _ in 0..before_loss {
            self.flow.wait(self.per_packet());
            self.flow.ack(1, rtt);
        }
        if unlucky || overflown {
            self.lose(carried - before_loss, rtt);
        }
        self.windows.push(self.flow.w.cwnd);
        carried
    }

    /// A hole: the rest of the window comes back as duplicate ACKs, then the retransmission fills it.
    fn lose(&mut self, rest: u32, rtt: Span) {
        self.losses += 1;
        let gap = self.per_packet();
        for i in 0..rest {
            self.flow.wait(gap);
            self.flow.ack_with(RateSample::default()); // nothing moves forward
            if i == 2 {
                self.flow.enter(CaState::Recovery);
            }
        }
        if rest <= 2 {
            self.flow.enter(CaState::Recovery);
        }
        self.flow.s.inflight = 0;
        self.flow.wait(rtt);
        let Flow { c, s, w, .. } = &mut self.flow;
        s.snd_una = s.snd_nxt;
        let event = AckEvent { win_update: true, ..Default::default() };
        c.pkts_acked(s, w, None, 1);
        c.in_ack_event(s, w, event);
        self.flow.leave();
        self.after_loss.push(self.flow.w.cwnd);
    }

    /// Runs for `time`. Returns the share of the bottleneck used after the first fifth.
    pub fn run(&mut self, time: Span) -> f64 {
        let begin = self.flow.s.now;
        let (mut carried, mut since) = (0.0, begin + time / 5);
        while self.flow.s.now < begin + time {
            let before = self.flow.s.now;
            let packets = self.round();
            if before >= since {
                carried += packets as f64;
            } else {
                since = since.max(before);
            }
        }
        let seconds = self.flow.s.now.since(begin + time / 5).as_secs_f64();
        carried * self.per_packet().as_secs_f64() / seconds
    }
}
