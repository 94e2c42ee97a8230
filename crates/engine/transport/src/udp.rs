//! Datagrams: patterns of applications, and a source that sends them.

use crate::config::{App, Arrival};
use crate::segment::Segment;
use crate::voice::Codec;
use units::{Span, Stream, Time};

/// Default size of a datagram's IP packet, bytes.
const DEFAULT_SIZE: u32 = 1500;
/// Default size of a probe's IP packet, bytes.
const DEFAULT_PROBE_SIZE: u32 = 64;
/// Default time between two probes.
const DEFAULT_PROBE_INTERVAL: Span = Span::from_millis(100);

/// The datagrams that an application sends.
#[derive(Clone, PartialEq, Debug)]
pub struct DatagramPattern {
    /// Mean time between two datagrams.
    pub interval: Span,
    /// IP packet size, bytes.
    pub size: u32,
    /// Length of IP and UDP header within `size`, bytes.
    pub header: u32,
    /// Spacing of the datagrams.
    pub arrival: Arrival,
    /// Duration of sending; `None`: until the end of the run.
    pub duration: Option<Span>,
    /// Whether the other end returns each datagram at once.
    pub answered: bool,
}

impl DatagramPattern {
    /// Payload of a datagram, bytes.
    pub fn payload(&self) -> u32 {
        self.size - self.header
    }
}

impl App {
    /// The datagrams of the application, with `header` bytes of IP and UDP headers ([`crate::UDP_HEADER`]
    /// over IPv4); `None` for applications over TCP.
    pub fn datagrams(&self, header: u32) -> Option<DatagramPattern> {
        let even = |interval, size, duration| DatagramPattern {
            interval,
            size,
            header,
            arrival: Arrival::Constant,
            duration,
            answered: false,
        };
        match *self {
            App::Udp { rate, size, arrival, duration } => {
                let size = size.unwrap_or(DEFAULT_SIZE).max(header);
                Some(DatagramPattern { arrival, ..even(rate.time_for(size as u64), size, duration) })
            }
            App::Voice { codec, duration, .. } => {
                Some(even(Codec::INTERVAL, codec.udp_payload() + header, duration))
            }
            App::Probe { interval, size, duration } => {
                let size = size.unwrap_or(DEFAULT_PROBE_SIZE).max(header);
                let probes = even(interval.unwrap_or(DEFAULT_PROBE_INTERVAL), size, duration);
                Some(DatagramPattern { answered: true, ..probes })
            }
            App::Bulk { .. } | App::Request { .. } | App::Page { .. } | App::Onoff { .. } => None,
        }
    }

    /// Whether the application uses UDP.
    pub fn is_datagrams(&self) -> bool {
        matches!(self, App::Udp { .. } | App::Voice { .. } | App::Probe { .. })
    }
}

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
    /// A source that sends `pattern`, starting at `start`; random gaps are drawn from `stream`.
    pub fn new(pattern: &DatagramPattern, start: Time, stream: Stream) -> UdpSource {
        UdpSource {
            interval: pattern.interval,
            payload: pattern.payload(),
            poisson: (pattern.arrival == Arrival::Poisson).then_some(stream),
            next: Some(start),
            until: pattern.duration.map(|d| start + d),
            sent: 0,
        }
    }

    /// Time at which the next datagram is due.
    pub fn next_wake(&self) -> Option<Time> {
        self.next
    }

    /// Time at which sending ended, if it has.
    pub fn ended(&self) -> Option<Time> {
        self.until.filter(|_| self.next.is_none())
    }

    /// Sends all datagrams that are due.
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

/// The datagram that the other end returns for a probe.
pub fn answer(probe: &Segment) -> Segment {
    Segment { ack: probe.seq + 1, ..datagram(probe.seq, probe.len, probe.sent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::UDP_HEADER;

    /// Bytes of 20 ms of speech according to RFC 3551 section 4.5.14 (PCMU) and 4.5.6 (G.729), plus RTP 12,
    /// UDP 8, IPv4 20.
    #[test]
    fn codecs_have_their_nominal_rates() {
        let size_and_rate = |codec| {
            let voice = App::Voice { codec, jitter_buffer: None, duration: None };
            let p = voice.datagrams(UDP_HEADER).unwrap();
            let longer = voice.datagrams(UDP_HEADER + 20).unwrap();
            assert_eq!((longer.size, longer.payload()), (p.size + 20, p.payload()));
            // Rate of IP bytes, bit/s.
            (p.size, p.size as u64 * 8 * 1_000_000_000 / p.interval.as_nanos(), p.answered)
        };
        assert_eq!(size_and_rate(Codec::G711), (200, 80_000, false));
        assert_eq!(size_and_rate(Codec::G729), (60, 24_000, false));
        assert_eq!(size_and_rate(Codec::Opus), (100, 40_000, false));
    }

    /// The size and rate of a flow are those of IP packets, whatever the length of the headers.
    #[test]
    fn a_packet_with_a_longer_header_holds_less() {
        let rate = units::Rate::from_bps(12_000_000);
        let app = App::Udp { rate, size: None, arrival: Arrival::Constant, duration: None };
        let sizes =
            |header| app.datagrams(header).map(|p| (p.size, p.payload(), p.interval.as_nanos())).unwrap();
        assert_eq!((sizes(28), sizes(48)), ((1500, 1472, 1_000_000), (1500, 1452, 1_000_000)));
    }

    #[test]
    fn a_source_ends_with_its_duration() {
        let probe = App::Probe { interval: None, size: None, duration: Some(Span::from_millis(250)) }
            .datagrams(UDP_HEADER)
            .unwrap();
        assert_eq!((probe.payload(), probe.answered), (36, true));
        let mut source = UdpSource::new(&probe, Time::from_nanos(7), Stream::new(1, "probe"));
        let mut out = Vec::new();
        source.handle_wake(Time::ZERO + Span::from_secs(9), &mut out);
        let sent: Vec<(u64, u64)> = out.iter().map(|s| (s.seq, s.sent.as_nanos())).collect();
        assert_eq!(sent, [(0, 7), (1, 100_000_007), (2, 200_000_007)]);
        let back = answer(&out[2]);
        assert_eq!((back.seq, back.ack, back.sent, back.len), (2, 3, out[2].sent, 36));
    }
}
