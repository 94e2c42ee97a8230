//! The path: packets read from TUN devices, moved through the chains of elements, written out.
//!
//! One thread serves all links. It sleeps in `ppoll` until a packet comes or an element is due, and
//! looks again and again only for the last [`SPINS`] before that. A late wake-up delays a packet,
//! never the schedule: elements stamp what they send with the time it was due.

use crate::bunch::Bunches;
use crate::clock::WallClock;
use crate::crew::{Crew, Muster};
use crate::inner::InnerPackets;
use crate::join::Joiner;
use crate::network::LabNetwork;
use crate::pcap::Recorder;
use crate::plan::FlowPlan;
use crate::resent::ResentWatch;
use crate::torn::TornPackets;
use crate::wire::{self, Pool, VIRTIO, Wire};
use linux::poll::PollSet;
use linux::{clock, file, schedule};
use path::{Outbox, Packet};
use result::{ElementResult, ElementSeries, Histogram, Resent};
use scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::{Span, Time, earliest};

/// How long before a deadline the engine stops sleeping, for up to so many packets in a [`WINDOW`];
/// beyond, it does not: that would be much of a core. A CPU that has slept long wakes late.
const SPINS: [(u32, Duration); 2] = [(12, Duration::from_micros(60)), (50, Duration::from_micros(8))];
/// Above so many (40,000 a second), segments that leave together are joined.
const DENSE: u32 = 400;
const WINDOW: Span = Span::from_millis(10);
/// Packets read from one device before the others have their turn.
const BATCH: usize = 64;
/// Real-time priority, where permitted.
const PRIORITY: i32 = 20;
/// How long the engine works without a pause before it gives way to others of its priority.
const SHIFT: Span = Span::from_micros(500);
/// So many packets are delivered without a pause before those that receive may run, as a network card's
/// driver takes in no more at once (half of NAPI's weight); and for how long.
const BUDGET: u32 = 32;
const PAUSE: Duration = Duration::from_micros(20);
/// So many segments a host may take in as one and acknowledge once: 64 kB (`GRO_LEGACY_MAX_SIZE`) of 1024 bytes.
const JOINED: u32 = 64;
/// The longest sleep: how soon a stop is seen.
const NAP: Duration = Duration::from_millis(50);

/// One direction of a link, between two devices.
struct EngineWay<'a> {
    along: chains::LinkWay<Wire>,
    /// Number of its first element among all.
    first: usize,
    /// Where its packets come from, and where they go.
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    /// Fragments of packets that no tunnel end has joined: how many came, and the bytes.
    partial: BTreeMap<u64, (u8, Wire)>,
    /// When the device that they come from was last seen empty.
    empty: Time,
    /// Whether a burst has begun to leave here since the engine last slept.
    begun: Begun,
}

/// How far a burst is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    Not,
    /// Its first packets have just left.
    Now,
    /// Who receives them had a turn since.
    Before,
}

/// How punctual the engine was, and what it lost.
#[derive(Clone, Debug, Default)]
pub struct Punctuality {
    /// From due to delivered.
    pub late: Histogram,
    /// From sent to taken, at most: since the device that it came from was last seen empty.
    pub waited: Histogram,
    /// From when a host got TCP data until it next sent a packet, of each packet with data, where more came meanwhile than
    /// the host may take in as one; otherwise zero.
    pub held: Histogram,
    /// Packets the kernel refused.
    pub refused: u64,
    /// Packets that hosts sent and did not only forward.
    pub sent: u64,
    /// Packets that a bucket or a full queue dropped after the engine had held them up: [`Bunches`].
    pub bunched: u64,
    /// CPU time of the engine, and how long it ran.
    pub cpu: Span,
    pub ran: Span,
    /// Whether it ran with real-time priority.
    pub real_time: bool,
}

/// What the engine leaves.
pub struct EngineReport {
    pub elements: Vec<ElementResult>,
    pub series: Vec<ElementSeries>,
    /// What each flow sent again.
    pub resent: BTreeMap<usize, Vec<Resent>>,
    pub punctuality: Punctuality,
}

/// The engine's thread, for people.
pub const ENGINE: &str = "the thread that moves packets";

/// The path's engine.
pub struct Engine<'a> {
    plan: &'a FlowPlan,
    ways: Vec<EngineWay<'a>>,
    clock: WallClock,
    /// `None`: until told to stop.
    end: Option<Time>,
    sample: Option<Span>,
    next_sample: Time,
    series: Vec<ElementSeries>,
    outbox: Outbox<Wire>,
    pool: Pool,
    next_id: u64,
    frame: Vec<u8>,
    batch: Vec<Packet<Wire>>,
    joiner: Joiner,
    /// Where the window began, packets since, and how many in the one before.
    window: (Time, u32, u32),
    /// How many windows there were.
    windows: u64,
    /// Those that receive run on this CPU, when this thread sleeps.
    gathered: bool,
    /// Packets delivered since this thread last slept.
    taken_in: u32,
    punctuality: Punctuality,
    recorder: Option<Recorder>,
    /// When there are time series.
    watch: Option<ResentWatch>,
    torn: TornPackets,
    /// What tunnels' packets carry.
    inner: InnerPackets,
    /// By host: TCP data since it last sent a packet.
    unanswered: Vec<Unanswered>,
    bunches: Bunches,
}

/// TCP data that a host got and has not answered.
#[derive(Clone, Copy, Default)]
struct Unanswered {
    since: Time,
    packets: u32,
}

impl<'a> Engine<'a> {
    /// Ends with the scenario's duration.
    pub fn new(
        scenario: &Scenario,
        network: &'a LabNetwork,
        plan: &'a FlowPlan,
        seed: u64,
        clock: WallClock,
        recorder: Option<Recorder>,
    ) -> Engine<'a> {
        let watched = recorder.as_ref().is_some_and(Recorder::watches_stages);
        let fds = network.tuns.iter().map(|ends| ends.each_ref().map(AsFd::as_fd));
        // Forward and backward, as the ways come.
        let fds = fds.flat_map(|[a, b]| [[a, b], [b, a]]);
        let (mut ways, mut first) = (Vec::new(), 0);
        for (mut along, [from, to]) in chains::ways(scenario, seed).into_iter().zip(fds) {
            if watched {
                along.chain.watch();
            }
            let elements = along.elements.len();
            ways.push(EngineWay {
                along,
                first,
                from,
                to,
                partial: BTreeMap::new(),
                empty: Time::ZERO,
                begun: Begun::Not,
            });
            first += elements;
        }
        Engine {
            plan,
            series: chains::element_series(ways.iter().map(|w| &w.along)),
            ways,
            clock,
            end: Some(Time::ZERO + scenario.duration),
            sample: (!scenario.sample.is_zero()).then_some(scenario.sample),
            next_sample: Time::ZERO,
            outbox: Outbox::default(),
            pool: Pool::default(),
            next_id: 0,
            frame: vec![0; VIRTIO + 65_536],
            batch: Vec::new(),
            joiner: Joiner::default(),
            window: (Time::ZERO, 0, 0),
            windows: 0,
            gathered: false,
            taken_in: 0,
            punctuality: Punctuality::default(),
            recorder,
            watch: (!scenario.sample.is_zero()).then(ResentWatch::default),
            torn: TornPackets::new(scenario),
            inner: InnerPackets::default(),
            unanswered: vec![Unanswered::default(); scenario.hosts.len()],
            bunches: Bunches::new(scenario),
        }
    }

    /// Books what is lost of tunnels with the flows inside.
    pub fn seeing_into_tunnels(mut self, inner: InnerPackets) -> Engine<'a> {
        self.inner = inner;
        self
    }

    /// Runs until told to stop, whatever the scenario's duration.
    pub fn without_end(mut self) -> Engine<'a> {
        self.end = None;
        self
    }

    /// Moves packets until the end, or until told to stop.
    /// `crew` are the threads that send and receive.
    pub fn run(mut self, stop: &AtomicBool, crew: &Crew) -> io::Result<EngineReport> {
        self.punctuality.real_time = schedule::be_punctual(Some(PRIORITY));
        let mut muster = Muster::new(crew, self.punctuality.real_time);
        let mut windows = self.windows;
        let (cpu, begun) = (clock::thread_cpu(), clock::monotonic());
        let mut devices = PollSet::new(self.ways.iter().map(|w| w.from));
        let mut rested = Time::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if self.end.is_some_and(|end| now >= end) {
                break;
            }
            self.wake(now);
            self.sample(now);
            let wake = self.ways.iter().fold(None, |t, w| earliest(t, w.along.chain.next_wake()));
            let wake = earliest(wake, self.end);
            let wake = earliest(wake, self.sample.map(|_| self.next_sample));
            if windows != self.windows {
                windows = self.windows;
                muster.iter_mut().for_each(|m| m.window(self.window.2));
                self.gathered = muster.as_ref().is_some_and(Muster::is_gathered);
            }
            let spin = SPINS.iter().find(|(most, _)| self.window.2 <= *most).map_or(Duration::ZERO, |s| s.1);
            let wait = wake.map_or(NAP, |t| self.clock.until(t).saturating_sub(spin).min(NAP));
            // Who receives a burst reads its first packet before the rest is there, as on a core of its own. Linux sizes the
            // receive buffer by what was read in a round trip less what is still unread (`tcp_rcv_space_adjust`): a
            // window that is always read in one piece never grows.
            if self.gathered && wait.is_zero() && self.ways.iter().any(|w| w.begun == Begun::Now) {
                std::thread::sleep(PAUSE);
                self.ways.iter_mut().filter(|w| w.begun == Begun::Now).for_each(|w| w.begun = Begun::Before);
            }
            // Overloaded, it would keep its core: another path's engine has its turn first.
            if !wait.is_zero() {
                rested = now;
                self.taken_in = 0;
                self.ways.iter_mut().for_each(|w| w.begun = Begun::Not);
            } else if now.since(rested) >= SHIFT {
                schedule::give_way();
                rested = now;
            }
            devices.wait(wait)?;
            let now = self.clock.now();
            for (number, way) in self.ways.iter_mut().enumerate() {
                // A sleep ends when the first packet comes.
                if !devices.is_ready(number) || !wait.is_zero() {
                    way.empty = now;
                }
            }
            for way in (0..self.ways.len()).filter(|&way| devices.is_ready(way)) {
                self.read(way)?;
            }
        }
        for way in 0..self.ways.len() {
            let now = self.now();
            self.ways[way].along.chain.catch_up(self.end.unwrap_or(now), &mut self.outbox);
            self.deliver(way);
        }
        self.punctuality.cpu = Span::from_nanos(clock::thread_cpu() - cpu);
        self.punctuality.ran = Span::from_nanos(clock::monotonic() - begun);
        self.punctuality.bunched = self.bunches.dropped;
        let elements = chains::elements(self.ways.iter().map(|w| &w.along));
        let plan = self.plan;
        let resent = self.watch.map(|w| w.finish(|flow| plan.flows[flow].is_iperf3())).unwrap_or_default();
        Ok(EngineReport { elements, series: self.series, resent, punctuality: self.punctuality })
    }

    /// The time, not beyond the end.
    fn now(&self) -> Time {
        let now = self.clock.now();
        self.end.map_or(now, |end| now.min(end))
    }

    fn wake(&mut self, now: Time) {
        for way in 0..self.ways.len() {
            if self.ways[way].along.chain.next_wake().is_some_and(|t| t <= now) {
                self.ways[way].along.chain.handle_wake(now, &mut self.outbox);
                self.deliver(way);
            }
        }
    }

    /// Reads what one device has; stops for what is due.
    fn read(&mut self, way: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let n = match file::read(self.ways[way].from, &mut self.frame) {
                Ok(n) => n,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    self.ways[way].empty = self.clock.now();
                    break;
                }
                Err(e) => return Err(e),
            };
            let now = self.now();
            let (waited, host) = (now.since(self.ways[way].empty), self.ways[way].along.hosts[0]);
            self.punctuality.waited.record(waited);
            let batch = &mut self.batch;
            wire::receive(&self.frame[..n], &mut self.pool, &mut self.next_id, |p| batch.push(p));
            let mut batch = std::mem::take(&mut self.batch);
            self.note_sent(now, host, &batch);
            for packet in batch.drain(..) {
                self.bunches.enter(now, host, packet.id, waited);
                self.torn.note(&packet);
                self.inner.note(now, way, &packet);
                self.ways[way].along.chain.handle_packet(now, packet, &mut self.outbox);
            }
            self.batch = batch;
            self.deliver(way);
            if self.ways.iter().any(|w| w.along.chain.next_wake().is_some_and(|t| t <= now)) {
                break;
            }
        }
        Ok(())
    }

    /// `host` has sent these packets, or forwarded them.
    fn note_sent(&mut self, now: Time, host: usize, batch: &[Packet<Wire>]) {
        let own = self.plan.addresses[host];
        for ip in batch.iter().map(|p| p.body.ip()).filter(|ip| wire::is_from(ip, own)) {
            self.punctuality.sent += 1;
            let got = std::mem::take(&mut self.unanswered[host]);
            let held = if got.packets > JOINED { now.since(got.since) } else { Span::ZERO };
            self.punctuality.held.record_many(held, got.packets);
            if let Some(recorder) = &mut self.recorder {
                recorder.host(now, host, ip);
            }
            if let Some(watch) = &mut self.watch {
                watch.see(now, host, ip, self.plan);
            }
        }
    }

    /// Writes out what left a chain.
    fn deliver(&mut self, way: usize) {
        let w = &mut self.ways[way];
        if let Some(recorder) = &mut self.recorder {
            for (i, due, packet) in w.along.chain.drain_seen() {
                recorder.stage(due, w.first + i, packet.body.ip());
            }
        }
        if self.outbox.is_empty() {
            return;
        }
        if w.begun == Begun::Not {
            w.begun = Begun::Now;
        }
        let p = &mut self.punctuality;
        let now = self.clock.now();
        self.window.1 += self.outbox.sent.len() as u32;
        if now.since(self.window.0) >= WINDOW {
            self.window = (now, 0, self.window.1);
            self.windows += 1;
        }
        let dense = self.window.2 >= DENSE;
        for (due, mut packet) in self.outbox.sent.drain(..) {
            self.taken_in += 1;
            if self.gathered && self.taken_in >= BUDGET {
                std::thread::sleep(PAUSE);
                self.taken_in = 0;
            }
            if packet.fragment.is_some() && !w.is_whole(&mut packet) {
                continue;
            }
            self.inner.take(&packet);
            wire::write_marks(&mut packet);
            let host = w.along.hosts[1];
            if wire::is_data_to(packet.body.ip(), self.plan.addresses[host]) {
                let got = &mut self.unanswered[host];
                if got.packets == 0 {
                    got.since = now;
                }
                got.packets += 1;
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.host(now, w.along.hosts[1], packet.body.ip());
            }
            let frame = &packet.body.0;
            let late = if dense { now } else { self.clock.now() }.since(due);
            p.late.record(late);
            let is_last = || wire::is_to(packet.body.ip(), self.plan.addresses[host]);
            self.bunches.leave(now, host, packet.id, late, is_last);
            if dense {
                if !self.joiner.add(frame) {
                    p.refused += u64::from(file::write(w.to, self.joiner.finish()).is_err());
                    self.joiner.clear();
                    self.joiner.add(frame);
                }
            } else {
                p.refused += u64::from(file::write(w.to, frame).is_err());
            }
            self.pool.give(packet.body);
        }
        if dense {
            let last = self.joiner.finish();
            p.refused += u64::from(!last.is_empty() && file::write(w.to, last).is_err());
            self.joiner.clear();
        }
        for (_, packet, cause) in self.outbox.dropped.drain(..) {
            self.bunches.drop(way, packet.id, cause);
            if let Some(inner) = self.inner.take(&packet) {
                let flow = wire::data_ports(inner.ip()).and_then(|p| self.plan.flow_of(p));
                flow.into_iter().for_each(|flow| flow.note_drop(inner.ip()));
            } else if let Some(flow) = self.torn.ports(&packet).and_then(|p| self.plan.flow_of(p)) {
                flow.note_drop(packet.body.ip());
            }
            self.pool.give(packet.body);
        }
        for (_, packet, mtu) in self.outbox.bounced.drain(..) {
            if let Some(icmp) = wire::too_big(packet.body.ip(), mtu) {
                p.refused += u64::from(file::write(w.from, &icmp).is_err());
                if let Some(recorder) = &mut self.recorder {
                    recorder.host(now, w.along.hosts[0], &icmp[VIRTIO..]);
                }
            }
            self.pool.give(packet.body);
        }
    }

    /// Gauges of all elements, at the times the scenario wants them.
    fn sample(&mut self, now: Time) {
        let Some(interval) = self.sample else { return };
        if now < self.next_sample {
            return;
        }
        for way in 0..self.ways.len() {
            self.ways[way].along.chain.catch_up(now, &mut self.outbox);
            self.deliver(way);
        }
        // Woken too late for several: they are all as it is now.
        while self.next_sample <= now {
            let ways = self.ways.iter().map(|w| &w.along);
            chains::sample(&mut self.series, ways, self.next_sample, now);
            self.next_sample += interval;
        }
    }
}

/// Sets of fragments kept at a way's end, at most; the oldest packet gives way.
const MOST_PARTIAL: usize = 1024;

impl EngineWay<'_> {
    /// Whether a fragment is its packet's last to arrive; then it has the whole packet's bytes.
    fn is_whole(&mut self, packet: &mut Packet<Wire>) -> bool {
        let Some(fragment) = packet.fragment else { return true };
        let set = self.partial.entry(packet.id).or_default();
        set.0 += 1;
        if !packet.body.0.is_empty() {
            set.1 = std::mem::take(&mut packet.body);
        }
        if set.0 < fragment.count {
            if self.partial.len() > MOST_PARTIAL {
                self.partial.pop_first();
            }
            return false;
        }
        packet.body = self.partial.remove(&packet.id).unwrap_or_default().1;
        true
    }
}
