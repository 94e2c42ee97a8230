//! A datagram source at a constant or Poisson rate, and what its sink counts.

use crate::config::Arrival;
use crate::segment::{Segment, UDP_HEADER};
use units::{Rate, Span, Stream, Time};

/// A source of datagrams.
#[derive(Clone, Debug)]
pub struct UdpSource {
    interval: Span,
    payload: u32,
    poisson: Option<Stream>,
    next: Option<Time>,
    until: Option<Time>,
    /// Datagrams sent.
    pub sent: u64,
}

impl UdpSource {
    /// IP packets of `size` bytes at `rate`, from `start` on, for `duration` if given.
    pub fn new(
        rate: Rate,
        size: u32,
        arrival: Arrival,
        start: Time,
        duration: Option<Span>,
        stream: Stream,
    ) -> UdpSource {
        let size = size.max(UDP_HEADER);
        UdpSource {
            interval: rate.time_for(size as u64),
            payload: size - UDP_HEADER,
            poisson: (arrival == Arrival::Poisson).then_some(stream),
            next: Some(start),
            until: duration.map(|d| start + d),
            sent: 0,
        }
    }

    /// When the next datagram is due.
    pub fn next_wake(&self) -> Option<Time> {
        self.next
    }

    /// When it stopped, if it has.
    pub fn ended(&self) -> Option<Time> {
        self.until.filter(|_| self.next.is_none())
    }

    /// Sends what is due.
    pub fn handle_wake(&mut self, now: Time, out: &mut Vec<Segment>) {
        while let Some(due) = self.next.filter(|&t| t <= now) {
            let gap = match &mut self.poisson {
                Some(stream) => stream.exponential(self.interval),
                None => self.interval,
            };
            out.push(datagram(self.sent, self.payload, due));
            self.sent += 1;
            let next = due + gap.max(Span::from_nanos(1));
            self.next = self.until.is_none_or(|u| next < u).then_some(next);
        }
    }
}

fn datagram(number: u64, payload: u32, sent: Time) -> Segment {
    Segment { seq: number, sent, len: payload, ..Segment::BLANK }
}
