//! `Pair`: a client and a server in virtual time, on a fast wire with a delay. A test decides what the wire
//! does to each packet, lets time pass, and examines the packets sent. The invariants of both ends are
//! checked after every step.

use std::collections::BTreeMap;
use transport::{Flags, Segment, Stack, Tcp};
use units::{Span, Time};

/// What the wire does to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet arrives after the wire's delay.
    Arrive,
    /// The packet arrives later by this span.
    Late(Span),
    /// The packet is lost.
    Lost,
    /// The packet arrives twice.
    Twice,
    /// The packet arrives marked "congestion experienced".
    Marked,
    /// The packet exceeds this MTU, which is reported to the sender half a delay later.
    TooBig(u32),
}

/// A packet on the wire, as a test sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Time,
    /// Whether the packet goes from the client to the server.
    pub forward: bool,
    /// Number among the data packets of its direction, from 1; 0 without data.
    pub number: u64,
    /// Whether the packet is a retransmission (its sequence number is below the highest sent).
    pub again: bool,
    pub segment: Segment,
}

enum Event {
    Arrive(bool, Segment),
    TooBig(bool, u32),
}

type Wire = Box<dyn FnMut(&Seen) -> Fate>;

pub struct Pair {
    pub now: Time,
    pub client: Tcp,
    pub server: Tcp,
    delay: Span,
    /// Serialisation time of a packet on the wire.
    pub gap: Span,
    wire: Wire,
    pending: BTreeMap<(Time, u64), Event>,
    order: u64,
    highest: [u64; 2],
    numbers: [u64; 2],
    /// Time at which the wire is free, per direction.
    free: [Time; 2],
    /// All packets that were put on the wire.
    pub log: Vec<Seen>,
    out: Vec<Segment>,
    /// Number of events handled.
    pub steps: u64,
}

/// RTT of 50 ms.
pub const RTT: Span = Span::from_millis(50);
/// 10 µs per packet: about 1 Gbit/s.
const GAP: Span = Span::from_micros(10);
/// Payload of a full-sized packet with timestamps.
pub const MSS: u64 = 1448;

pub fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

pub fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

pub fn tcp(stack: &Stack, cc: &str) -> Tcp {
    Tcp::new(stack.own_limits(1500, None), congestion::make(cc, 1, "test").expect("a known cc"))
}

impl Pair {
    /// Two Linux ends with congestion control `cc`; every packet arrives.
    pub fn new(cc: &str) -> Pair {
        Pair::with(cc, &Stack::default(), &Stack::default())
    }

    pub fn with(cc: &str, client: &Stack, server: &Stack) -> Pair {
        Pair {
            now: Time::ZERO,
            client: tcp(client, cc),
            server: tcp(server, cc),
            delay: RTT / 2,
            gap: GAP,
            wire: Box::new(|_| Fate::Arrive),
            pending: BTreeMap::new(),
            order: 0,
            highest: [0; 2],
            numbers: [0; 2],
            free: [Time::ZERO; 2],
            log: Vec::new(),
            out: Vec::new(),
            steps: 0,
        }
    }

    pub fn rtt(mut self, rtt: Span) -> Pair {
        self.delay = rtt / 2;
        self
    }

    /// Sets what the wire does from now on.
    pub fn wire(&mut self, fate: impl FnMut(&Seen) -> Fate + 'static) {
        self.wire = Box::new(fate);
    }

    /// Connects the client; returns when the connection is established.
    pub fn connect(&mut self) {
        let now = self.now;
        self.act(true, |tcp, out| tcp.connect(now, out));
        while !self.client.is_established() {
            self.step();
        }
    }

    /// The client writes; nothing follows.
    pub fn write(&mut self, bytes: u64) {
        let now = self.now;
        self.act(true, |tcp, out| tcp.write(now, bytes, true, out));
    }

    /// Connects, and lets the client write.
    pub fn sending(mut self, bytes: u64) -> Pair {
        self.connect();
        self.write(bytes);
        self
    }

    pub fn act(&mut self, client: bool, f: impl FnOnce(&mut Tcp, &mut Vec<Segment>)) {
        let mut out = std::mem::take(&mut self.out);
        f(if client { &mut self.client } else { &mut self.server }, &mut out);
        for segment in out.drain(..) {
            self.put(client, segment);
        }
        self.out = out;
        // Checking all of a large window in every step would take too long.
        if self.steps.is_multiple_of(64) || self.client.tx.in_flight() + self.server.tx.in_flight() < 200 {
            self.client.check();
            self.server.check();
        }
    }

    fn put(&mut self, forward: bool, segment: Segment) {
        let side = !forward as usize;
        let end = segment.seq + segment.len as u64;
        let again = segment.len > 0 && end <= self.highest[side];
        self.highest[side] = self.highest[side].max(end);
        let mut number = 0;
        if segment.len > 0 {
            self.numbers[side] += 1;
            number = self.numbers[side];
        }
        let seen = Seen { at: self.now, forward, number, again, segment };
        let fate = (self.wire)(&seen);
        let mut segment = seen.segment.clone();
        self.log.push(seen);
        self.free[side] = self.free[side].max(self.now) + self.gap;
        let due = self.free[side] + self.delay;
        match fate {
            Fate::Arrive => self.plan(due, Event::Arrive(forward, segment)),
            Fate::Late(more) => self.plan(due + more, Event::Arrive(forward, segment)),
            Fate::Lost => {}
            Fate::Twice => {
                self.plan(due, Event::Arrive(forward, segment.clone()));
                self.plan(due, Event::Arrive(forward, segment));
            }
            Fate::Marked => {
                segment.ce = true;
                self.plan(due, Event::Arrive(forward, segment));
            }
            Fate::TooBig(mtu) if segment.ip_bytes() <= mtu => self.plan(due, Event::Arrive(forward, segment)),
            Fate::TooBig(mtu) => self.plan(due, Event::TooBig(forward, mtu)),
        }
    }

    fn plan(&mut self, due: Time, event: Event) {
        self.order += 1;
        self.pending.insert((due, self.order), event);
    }

    /// Time of the next event.
    fn next(&self) -> Option<Time> {
        let arrival = self.pending.keys().next().map(|k| k.0);
        units::earliest(arrival, units::earliest(self.client.next_wake(), self.server.next_wake()))
    }

    /// Handles the next event.
    pub fn step(&mut self) {
        let Some(next) = self.next() else { panic!("no event is pending") };
        self.now = self.now.max(next);
        let now = self.now;
        self.steps += 1;
        match self.pending.first_key_value() {
            Some((&(due, _), _)) if due <= now => match self.pending.pop_first().map(|e| e.1) {
                Some(Event::Arrive(forward, segment)) => {
                    self.act(!forward, |tcp, out| tcp.handle_segment(now, &segment, out));
                }
                Some(Event::TooBig(forward, mtu)) => {
                    self.act(forward, |tcp, out| tcp.handle_mtu(now, mtu, out));
                }
                None => {}
            },
            _ if self.client.next_wake().is_some_and(|t| t <= now) => {
                self.act(true, |tcp, out| tcp.handle_wake(now, out));
            }
            _ => self.act(false, |tcp, out| tcp.handle_wake(now, out)),
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.next().is_some_and(|t| t <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Runs until everything that the client wrote is acknowledged; returns the time that took.
    ///
    /// # Panics
    /// Panics after more than ten minutes.
    pub fn finish(&mut self) -> Span {
        let begin = self.now;
        while self.client.tx.unacked() > 0 {
            assert!(self.now.since(begin) < Span::from_secs(600), "not done after ten minutes");
            self.step();
        }
        self.now.since(begin)
    }

    /// Data packets from the client.
    pub fn data(&self) -> impl Iterator<Item = &Seen> {
        self.log.iter().filter(|s| s.forward && s.segment.len > 0)
    }

    /// Data packets retransmitted by the client.
    pub fn resent(&self) -> Vec<&Seen> {
        self.data().filter(|s| s.again).collect()
    }

    /// Pure ACKs from the server.
    pub fn acks(&self) -> impl Iterator<Item = &Seen> {
        self.log.iter().filter(|s| !s.forward && s.segment.len == 0 && !s.segment.flags.has(Flags::SYN))
    }

    pub fn cwnd(&self) -> u32 {
        self.client.tx.w.cwnd
    }
}

/// A wire that loses the data packets with these numbers.
pub fn lose(numbers: &'static [u64]) -> impl FnMut(&Seen) -> Fate {
    move |s| if s.forward && numbers.contains(&s.number) { Fate::Lost } else { Fate::Arrive }
}
