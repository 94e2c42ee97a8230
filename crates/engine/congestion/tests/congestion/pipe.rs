//! A long fat pipe, one round trip at a time: the window is sent at once, passes the bottleneck packet by
//! packet and is acknowledged. The pipe holds `bdp` packets, the queue `buffer`; packets beyond that are
//! lost.

use crate::harness::Flow;
use congestion::{AckEvent, CaState, RateSample};
use units::Span;

/// A flow through a bottleneck.
pub struct Pipe {
    pub flow: Flow,
    bdp: u32,
    base: Span,
    buffer: u32,
    /// One packet in this many is lost at random; 0 for none.
    one_in: u64,
    sent: u64,
    /// Number of losses so far, and the window after each.
    pub losses: u32,
    pub after_loss: Vec<u32>,
    /// The window at the end of each round trip.
    pub windows: Vec<u32>,
}

impl Pipe {
    /// `bdp` packets fill the pipe with a base RTT of `base`; `buffer` more fit into the queue.
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

    /// Transmission time of a packet at the bottleneck.
    fn per_packet(&self) -> Span {
        self.base / self.bdp as u64
    }

    /// Simulates one round trip. Returns the number of packets delivered.
    pub fn round(&mut self) -> u32 {
        let window = self.flow.w.cwnd;
        self.flow.send(window);
        let carried = window.min(self.bdp + self.buffer);
        let overflown = window > carried;
        self.sent += window as u64;
        let unlucky = self.one_in > 0 && self.sent / self.one_in > (self.sent - window as u64) / self.one_in;
        // The standing queue is the excess of the window over the pipe; ACKs arrive at the rate of the
        // bottleneck, after a pause if the window does not fill the pipe.
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

    /// Simulates a loss: the rest of the window causes duplicate ACKs, then the retransmission arrives.
    fn lose(&mut self, rest: u32, rtt: Span) {
        self.losses += 1;
        let gap = self.per_packet();
        for i in 0..rest {
            self.flow.wait(gap);
            self.flow.ack_with(RateSample::default()); // acknowledges nothing new
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
