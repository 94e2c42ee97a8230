//! Observes the simulator while it plays a scenario: passes on the capture, and notes the observations behind
//! the truth.

use crate::observations::{Moment, Observations};
use crate::{Case, wire};
use capture::{Frame, TcpPacket};
use scenario::Scenario;
use sim::wire::Encoder;
use sim::{Passage, SizeRefusal, Tap};
use transport::{Segment, Tcp};
use units::{Span, Time};

/// Receives the packets of a capture, in the order of time.
pub trait Sink {
    /// Receives the next packet.
    fn packet(&mut self, packet: &TcpPacket);

    /// Receives an ICMP message about a packet that was too big.
    fn too_big(&mut self, message: &Frame) {
        let _ = message;
    }
}

/// Time within which the packets of a burst arrive that a receiver merges.
const GATHER: Span = Span::from_micros(20);

/// An observer of a run.
pub struct Watch<'a> {
    /// The observations.
    pub observed: Observations,
    encoder: Encoder,
    vantage: usize,
    offload: bool,
    pending: Option<(TcpPacket, Time)>,
    sink: &'a mut dyn Sink,
}

impl<'a> Watch<'a> {
    /// Observes a case's scenario and sends its capture to `sink`.
    pub fn new(case: &Case, scenario: &Scenario, sink: &'a mut dyn Sink) -> Watch<'a> {
        Watch {
            observed: Observations::new(scenario),
            encoder: Encoder::new(scenario),
            vantage: case.vantage.host(),
            offload: case.offload,
            pending: None,
            sink,
        }
    }

    /// Passes on the last packets of the capture.
    pub fn flush(&mut self) {
        if let Some((packet, _)) = self.pending.take() {
            self.sink.packet(&packet);
        }
    }

    fn capture(&mut self, packet: TcpPacket) {
        if !self.offload {
            return self.sink.packet(&packet);
        }
        let gather = if self.vantage == 0 { Span::ZERO } else { GATHER };
        if let Some((first, last)) = &mut self.pending
            && packet.time.since(*last) <= gather
            && wire::offload(first, &packet)
        {
            *last = packet.time;
            return;
        }
        self.flush();
        self.pending = Some((packet, packet.time));
    }
}

impl Tap for Watch<'_> {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        outgoing: bool,
        p: &path::Packet<Segment>,
        from: usize,
        to: usize,
    ) {
        let number = p.flow as usize;
        if outgoing {
            self.observed.sent(now, number, (from, to), p.body.len);
            let direction = self.observed.direction(number);
            if direction.ends.0.is_empty() {
                let (src, dst) = wire::ends(p.flow, from, to);
                direction.ends = (src.to_string(), dst.to_string());
            }
        }
        if host == self.vantage {
            self.observed.show(now, number);
            let frame = self.encoder.frame(now, p, from, to);
            if let Some(packet) = frame.and_then(|f| f.seen()) {
                self.capture(packet);
            }
        }
        if outgoing || host != to {
            self.observed.enter(now, number, host, to, p.id);
        }
    }

    fn too_big(&mut self, now: Time, host: usize, r: &SizeRefusal<'_>) {
        let frame = self.encoder.too_big(now, r.packet, (r.router, r.mtu), r.from, r.to);
        if let Some(frame) = frame.filter(|_| host == self.vantage) {
            self.flush();
            self.sink.too_big(&frame);
        }
    }

    fn watches_stages(&self) -> bool {
        true
    }

    fn stage(&mut self, p: Passage<'_>) {
        let Some(i) = self.observed.stages.iter().position(|s| s.name == p.stage) else { return };
        self.observed.pass(p.now, i, p.packet.flow as usize, p.packet.id, p.packet.size as u64);
    }

    fn end(&mut self, now: Time, number: u32, end: &Tcp) {
        if !end.is_established() {
            return;
        }
        let slow_start = matches!(end.tx.state_name(), "slow start" | "STARTUP");
        let moment = Moment { at: now, limit: end.tx.limit(), slow_start, una: end.tx.s.snd_una };
        self.observed.direction(number as usize).moments.push(moment);
        let unread = !end.rx.auto_read && end.rx.readable() > end.rx.window_left();
        self.observed.direction(number as usize ^ 1).unread.push((now, unread));
    }
}
