//! The path's engine: reads packets from TUN devices, passes them through the chains of elements and writes
//! them to the next device.
//!
//! One thread serves all links. It sleeps in `ppoll` until a packet arrives or an element is due, and polls
//! busily only for the last [`SPIN_TIMES`] before that. A late wake-up delays a packet but not the schedule:
//! elements stamp the packets they send with the scheduled time.

use crate::affinity::{CpuPlacement, TrafficThreads};
use crate::clock::WallClock;
use crate::emulator_burst::EmulatorBursts;
use crate::fragment_loss::FragmentedPackets;
use crate::gro::Joiner;
use crate::inner_packet::InnerPackets;
use crate::network::LabNetwork;
use crate::pcap::Recorder;
use crate::plan::FlowPlan;
use crate::retransmission::RetransmissionTracker;
use crate::wire::{self, Ethernet, Pool, VIRTIO, Wire};
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

/// Packets per [`WINDOW`] and, up to that load, how long before a deadline the engine stops sleeping and
/// spins. Above the last entry it never spins, because that would use much of a core. A CPU that has slept
/// long wakes up late.
const SPIN_TIMES: [(u32, Duration); 2] = [(12, Duration::from_micros(60)), (50, Duration::from_micros(8))];
/// Packets per window (40,000 a second) above which segments that leave together are joined.
const JOIN_THRESHOLD: u32 = 400;
const WINDOW: Span = Span::from_millis(10);
/// Packets read from one device before the next one is served.
const BATCH: usize = 64;
/// Real-time priority, if permitted.
const REAL_TIME_PRIORITY: i32 = 20;
/// Maximum time that the engine runs without sleeping before it yields to other threads of its priority.
const MAX_BUSY: Span = Span::from_micros(500);
/// Packets delivered without a pause before the receivers may run, as a network card's driver also delivers a
/// limited number at once (half of NAPI's weight); and the length of the pause.
const DELIVERY_BUDGET: u32 = 32;
const RECEIVER_PAUSE: Duration = Duration::from_micros(20);
/// Segments that a host may receive as one and acknowledge once: 64 kB (`GRO_LEGACY_MAX_SIZE`) of 1024 bytes
/// each.
const MAX_RECEIVE_SEGMENTS: u32 = 64;
/// Longest sleep; bounds the time until a stop request is seen.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// One direction of a link, between two devices.
struct EngineDirection<'a> {
    path: chains::LinkDirection<Wire>,
    /// Index of the direction's first element among those of all directions.
    first_element: usize,
    /// The devices that the direction's packets are read from and written to.
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    /// The device that answers to the direction's sender are written to.
    back: BorrowedFd<'a>,
    /// Incomplete packets at a tunnel's end, by packet id: fragments received so far, and the packet's
    /// bytes.
    partial: BTreeMap<u64, (u8, Wire)>,
    /// When the source device was last seen empty.
    last_empty: Time,
    /// Whether a burst has started to leave since the engine last slept.
    burst: BurstState,
}

/// The devices of one direction of a link.
#[derive(Clone, Copy)]
pub struct DirectionDevices<'a> {
    /// The device that packets are read from.
    pub from: BorrowedFd<'a>,
    /// The device that they are written to.
    pub to: BorrowedFd<'a>,
    /// The device that ICMP errors for their sender are written to.
    pub back: BorrowedFd<'a>,
}

/// The state of a running engine.
#[derive(Clone, Debug, Default)]
pub struct EngineStatus {
    pub elements: Vec<ElementResult>,
    /// Packets in the queue of each element, in the same order.
    pub queued: Vec<u64>,
    pub timing: EngineTiming,
    /// Packets of delayed bursts that were dropped.
    pub bunched: u64,
}

/// Called by the running engine at intervals; its argument determines the engine's state.
type BeatCall<'a> = Box<dyn FnMut(&dyn Fn() -> EngineStatus) + Send + 'a>;

struct Beat<'a> {
    interval: Span,
    next: Time,
    call: BeatCall<'a>,
}

/// Progress of a burst that leaves a direction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BurstState {
    Idle,
    /// The burst's first packets have just left.
    Started,
    /// The receivers have had time to run since.
    ReceiversRan,
}

/// Timing and losses of the engine.
#[derive(Clone, Debug, Default)]
pub struct EngineTiming {
    /// Time from a packet's scheduled departure to its delivery.
    pub late: Histogram,
    /// Upper bound of the time from sending to reading a packet: since its device was last seen empty.
    pub waited: Histogram,
    /// Time from the delivery of TCP data to a host until that host next sent a packet, per data packet.
    /// Zero unless more packets arrived meanwhile than the host may receive as one.
    pub held: Histogram,
    /// Packets that the kernel refused to accept.
    pub refused: u64,
    /// Packets that hosts sent themselves, without forwarded ones.
    pub sent: u64,
    /// Packets that a bucket or a full queue dropped after the engine had delayed them: [`EmulatorBursts`].
    pub bunched: u64,
    pub cpu: Span,
    pub ran: Span,
    pub real_time: bool,
}

/// The engine's results.
pub struct EngineReport {
    pub elements: Vec<ElementResult>,
    pub series: Vec<ElementSeries>,
    /// Retransmissions by flow.
    pub resent: BTreeMap<usize, Vec<Resent>>,
    pub timing: EngineTiming,
}

/// Name of the engine's thread in messages.
pub const ENGINE: &str = "the thread that moves packets";

/// The path's engine.
pub struct Engine<'a> {
    /// `None`: the hosts are not the engine's, and neither their addresses nor their flows are known.
    plan: Option<&'a FlowPlan>,
    directions: Vec<EngineDirection<'a>>,
    /// Present if the devices are TAP devices.
    ethernet: Option<Ethernet>,
    beat: Option<Beat<'a>>,
    clock: WallClock,
    /// `None`: run until stopped.
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
    /// Start of the current window, packets since then, and packets of the window before.
    window: (Time, u32, u32),
    /// Number of windows so far.
    windows: u64,
    /// Whether the receivers run on this CPU while this thread sleeps.
    receivers_on_this_cpu: bool,
    /// Packets delivered since this thread last slept.
    delivered_since_sleep: u32,
    timing: EngineTiming,
    recorder: Option<Recorder>,
    /// Present if the run records time series.
    watch: Option<RetransmissionTracker>,
    fragment_loss: FragmentedPackets,
    /// The packets inside tunnel packets.
    inner: InnerPackets,
    /// By host: TCP data received since the host last sent a packet.
    unanswered: Vec<Unanswered>,
    bursts: EmulatorBursts,
}

/// TCP data that a host received and has not answered.
#[derive(Clone, Copy, Default)]
struct Unanswered {
    since: Time,
    packets: u32,
}

impl<'a> Engine<'a> {
    /// Creates an engine that runs for the scenario's duration.
    pub fn new(
        scenario: &Scenario,
        network: &'a LabNetwork,
        plan: &'a FlowPlan,
        seed: u64,
        clock: WallClock,
        recorder: Option<Recorder>,
    ) -> Engine<'a> {
        let fds = network.tuns.iter().map(|ends| ends.each_ref().map(AsFd::as_fd));
        // Forward, then backward, in the order of `chains::directions`.
        let devices = fds.flat_map(|[a, b]| [[a, b], [b, a]]);
        let devices = devices.map(|[from, to]| DirectionDevices { from, to, back: from });
        Engine::over(scenario, devices, Some(plan), seed, clock, recorder)
    }

    /// Creates an engine over devices: for each link those of the forward and of the backward direction. It
    /// runs for the scenario's duration.
    pub fn over(
        scenario: &Scenario,
        devices: impl IntoIterator<Item = DirectionDevices<'a>>,
        plan: Option<&'a FlowPlan>,
        seed: u64,
        clock: WallClock,
        recorder: Option<Recorder>,
    ) -> Engine<'a> {
        let watched = recorder.as_ref().is_some_and(Recorder::watches_stages);
        let (mut directions, mut first_element) = (Vec::new(), 0);
        for (mut path, devices) in chains::ways(scenario, seed).into_iter().zip(devices) {
            let DirectionDevices { from, to, back } = devices;
            if watched {
                path.chain.watch();
            }
            let elements = path.elements.len();
            directions.push(EngineDirection {
                path,
                first_element,
                from,
                to,
                back,
                partial: BTreeMap::new(),
                last_empty: Time::ZERO,
                burst: BurstState::Idle,
            });
            first_element += elements;
        }
        Engine {
            plan,
            series: chains::element_series(directions.iter().map(|w| &w.path)),
            directions,
            ethernet: None,
            beat: None,
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
            receivers_on_this_cpu: false,
            delivered_since_sleep: 0,
            timing: EngineTiming::default(),
            recorder,
            watch: (!scenario.sample.is_zero()).then(RetransmissionTracker::default),
            fragment_loss: FragmentedPackets::new(scenario),
            inner: InnerPackets::default(),
            unanswered: vec![Unanswered::default(); scenario.hosts.len()],
            bursts: EmulatorBursts::new(scenario),
        }
    }

    /// Assigns losses of tunnel packets to the flows inside.
    pub fn with_inner_packets(mut self, inner: InnerPackets) -> Engine<'a> {
        self.inner = inner;
        self
    }

    /// Makes the engine serve TAP devices instead of TUN devices.
    pub fn over_ethernet(mut self) -> Engine<'a> {
        self.ethernet = Some(Ethernet::default());
        self
    }

    /// Makes the engine's thread call `call` at intervals. It must return soon, because packets wait.
    pub fn with_beat(
        mut self,
        interval: Span,
        call: impl FnMut(&dyn Fn() -> EngineStatus) + Send + 'a,
    ) -> Engine<'a> {
        self.beat = Some(Beat { interval, next: Time::ZERO, call: Box::new(call) });
        self
    }

    /// Makes the engine run until it is stopped, whatever the scenario's duration.
    pub fn without_end(mut self) -> Engine<'a> {
        self.end = None;
        self
    }

    /// Forwards packets until the end, or until `stop` is set. `threads` are the threads that send and
    /// receive, if they are known.
    pub fn run(mut self, stop: &AtomicBool, threads: Option<&TrafficThreads>) -> io::Result<EngineReport> {
        self.timing.real_time = schedule::set_precise_scheduling(Some(REAL_TIME_PRIORITY));
        let real_time = self.timing.real_time;
        let mut placement = threads.and_then(|threads| CpuPlacement::new(threads, real_time));
        let mut windows = self.windows;
        let (cpu, started) = (clock::thread_cpu(), clock::monotonic());
        let mut devices = PollSet::new(self.directions.iter().map(|w| w.from));
        let mut last_rest = Time::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if self.end.is_some_and(|end| now >= end) {
                break;
            }
            self.wake(now);
            self.sample(now);
            self.beat(now, Span::from_nanos(clock::thread_cpu() - cpu));
            let wake = self.directions.iter().fold(None, |t, w| earliest(t, w.path.chain.next_wake()));
            let wake = earliest(wake, self.end);
            let wake = earliest(wake, self.sample.map(|_| self.next_sample));
            if windows != self.windows {
                windows = self.windows;
                placement.iter_mut().for_each(|m| m.end_window(self.window.2));
                self.receivers_on_this_cpu = placement.as_ref().is_some_and(CpuPlacement::is_on_one_cpu);
            }
            let spin = SPIN_TIMES
                .iter()
                .find(|(max_packets, _)| self.window.2 <= *max_packets)
                .map_or(Duration::ZERO, |s| s.1);
            let wait = wake.map_or(MAX_SLEEP, |t| self.clock.until(t).saturating_sub(spin).min(MAX_SLEEP));
            // A receiver must read the first packet before the rest of the burst arrives, as it would on
            // another core. Linux sizes the receive buffer by what was read in a round trip less what is
            // still unread (`tcp_rcv_space_adjust`): a window that is always read in one piece never grows.
            if self.receivers_on_this_cpu
                && wait.is_zero()
                && self.directions.iter().any(|w| w.burst == BurstState::Started)
            {
                std::thread::sleep(RECEIVER_PAUSE);
                self.directions
                    .iter_mut()
                    .filter(|w| w.burst == BurstState::Started)
                    .for_each(|w| w.burst = BurstState::ReceiversRan);
            }
            // An overloaded engine would keep its core; let another path's engine run first.
            if !wait.is_zero() {
                last_rest = now;
                self.delivered_since_sleep = 0;
                self.directions.iter_mut().for_each(|w| w.burst = BurstState::Idle);
            } else if now.since(last_rest) >= MAX_BUSY {
                schedule::yield_cpu();
                last_rest = now;
            }
            devices.wait(wait)?;
            let now = self.clock.now();
            for (number, direction) in self.directions.iter_mut().enumerate() {
                // A sleep ends with the first packet, so the device was empty until now.
                if !devices.is_ready(number) || !wait.is_zero() {
                    direction.last_empty = now;
                }
            }
            for direction in (0..self.directions.len()).filter(|&direction| devices.is_ready(direction)) {
                self.read(direction)?;
            }
        }
        for direction in 0..self.directions.len() {
            let now = self.now();
            self.directions[direction].path.chain.catch_up(self.end.unwrap_or(now), &mut self.outbox);
            self.deliver(direction);
        }
        self.timing.cpu = Span::from_nanos(clock::thread_cpu() - cpu);
        self.timing.ran = Span::from_nanos(clock::monotonic() - started);
        self.timing.bunched = self.bursts.dropped;
        let elements = chains::elements(self.directions.iter().map(|w| &w.path));
        let plan = self.plan;
        let is_iperf3 = |flow: usize| plan.is_some_and(|plan| plan.flows[flow].is_iperf3());
        let resent = self.watch.map(|w| w.finish(is_iperf3)).unwrap_or_default();
        Ok(EngineReport { elements, series: self.series, resent, timing: self.timing })
    }

    /// Returns the current time, at most the end.
    fn now(&self) -> Time {
        let now = self.clock.now();
        self.end.map_or(now, |end| now.min(end))
    }

    fn wake(&mut self, now: Time) {
        for direction in 0..self.directions.len() {
            if self.directions[direction].path.chain.next_wake().is_some_and(|t| t <= now) {
                self.directions[direction].path.chain.handle_wake(now, &mut self.outbox);
                self.deliver(direction);
            }
        }
    }

    /// Reads up to [`BATCH`] packets from one device; stops early when an element is due.
    fn read(&mut self, direction: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let n = match file::read(self.directions[direction].from, &mut self.frame) {
                Ok(n) => n,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    self.directions[direction].last_empty = self.clock.now();
                    break;
                }
                Err(e) => return Err(e),
            };
            let now = self.now();
            let (waited, host) =
                (now.since(self.directions[direction].last_empty), self.directions[direction].path.hosts[0]);
            self.timing.waited.record(waited);
            let (packet, ethernet) = match &mut self.ethernet {
                None => (0..n, 0),
                Some(ethernet) => match ethernet.strip(&mut self.frame[..n]) {
                    Some(stripped) => stripped,
                    None => continue,
                },
            };
            let batch = &mut self.batch;
            wire::receive(&self.frame[packet], &mut self.pool, &mut self.next_id, |mut p| {
                p.body.ethernet = ethernet;
                batch.push(p);
            });
            let mut batch = std::mem::take(&mut self.batch);
            self.note_sent(now, host, &batch);
            for packet in batch.drain(..) {
                self.bursts.enter(now, host, packet.id, waited);
                self.fragment_loss.record(&packet);
                self.inner.record_entry(now, direction, &packet);
                self.directions[direction].path.chain.handle_packet(now, packet, &mut self.outbox);
            }
            self.batch = batch;
            self.deliver(direction);
            if self.directions.iter().any(|w| w.path.chain.next_wake().is_some_and(|t| t <= now)) {
                break;
            }
        }
        Ok(())
    }

    /// Records packets that `host` sent or forwarded.
    fn note_sent(&mut self, now: Time, host: usize, batch: &[Packet<Wire>]) {
        let address = self.plan.map(|plan| plan.addresses[host]);
        let is_own = |ip: &&[u8]| address.is_none_or(|address| wire::is_from(ip, address));
        for ip in batch.iter().map(|p| p.body.ip()).filter(is_own) {
            self.timing.sent += 1;
            let unanswered = std::mem::take(&mut self.unanswered[host]);
            let held = if unanswered.packets > MAX_RECEIVE_SEGMENTS {
                now.since(unanswered.since)
            } else {
                Span::ZERO
            };
            self.timing.held.record_many(held, unanswered.packets);
            if let Some(recorder) = &mut self.recorder {
                recorder.host(now, host, ip);
            }
            if let (Some(watch), Some(plan)) = (&mut self.watch, self.plan) {
                watch.record(now, host, ip, plan);
            }
        }
    }

    /// Writes the packets that left a chain to their device, and records drops.
    fn deliver(&mut self, direction: usize) {
        let w = &mut self.directions[direction];
        if let Some(recorder) = &mut self.recorder {
            for (i, due, packet) in w.path.chain.drain_seen() {
                recorder.stage(due, w.first_element + i, packet.body.ip());
            }
        }
        if self.outbox.is_empty() {
            return;
        }
        if w.burst == BurstState::Idle {
            w.burst = BurstState::Started;
        }
        let p = &mut self.timing;
        let now = self.clock.now();
        self.window.1 += self.outbox.sent.len() as u32;
        if now.since(self.window.0) >= WINDOW {
            self.window = (now, 0, self.window.1);
            self.windows += 1;
        }
        let joins = self.window.2 >= JOIN_THRESHOLD;
        let mut joined_header = 0;
        let ethernet = &mut self.ethernet;
        for (due, mut packet) in self.outbox.sent.drain(..) {
            self.delivered_since_sleep += 1;
            if self.receivers_on_this_cpu && self.delivered_since_sleep >= DELIVERY_BUDGET {
                std::thread::sleep(RECEIVER_PAUSE);
                self.delivered_since_sleep = 0;
            }
            if packet.fragment.is_some() && !w.is_whole(&mut packet) {
                continue;
            }
            self.inner.take(&packet);
            wire::write_marks(&mut packet);
            let host = w.path.hosts[1];
            if self.plan.is_some_and(|plan| wire::is_data_to(packet.body.ip(), plan.addresses[host])) {
                let unanswered = &mut self.unanswered[host];
                if unanswered.packets == 0 {
                    unanswered.since = now;
                }
                unanswered.packets += 1;
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.host(now, w.path.hosts[1], packet.body.ip());
            }
            let frame = &packet.body.bytes;
            let late = if joins { now } else { self.clock.now() }.since(due);
            p.late.record(late);
            let is_last = || self.plan.is_none_or(|plan| wire::is_to(packet.body.ip(), plan.addresses[host]));
            self.bursts.leave(now, host, packet.id, late, is_last);
            let header = packet.body.ethernet;
            if joins {
                let is_same = header == joined_header || self.joiner.finish().is_empty();
                if !is_same || !self.joiner.add(frame) {
                    p.refused += write(w.to, ethernet, joined_header, self.joiner.finish());
                    self.joiner.clear();
                    self.joiner.add(frame);
                }
                joined_header = header;
            } else {
                p.refused += write(w.to, ethernet, header, frame);
            }
            self.pool.recycle(packet.body);
        }
        if joins {
            let last = self.joiner.finish();
            if !last.is_empty() {
                p.refused += write(w.to, ethernet, joined_header, last);
            }
            self.joiner.clear();
        }
        for (_, packet, cause) in self.outbox.dropped.drain(..) {
            self.bursts.drop(direction, packet.id, cause);
            if let Some(inner) = self.inner.take(&packet) {
                let flow = wire::data_ports(inner.ip()).and_then(|p| self.plan?.flow_of(p));
                flow.into_iter().for_each(|flow| flow.note_drop(inner.ip()));
            } else if let Some(flow) = self.fragment_loss.ports(&packet).and_then(|p| self.plan?.flow_of(p)) {
                flow.note_drop(packet.body.ip());
            }
            self.pool.recycle(packet.body);
        }
        for (_, packet, mtu) in self.outbox.bounced.drain(..) {
            if let Some(icmp) = wire::too_big(packet.body.ip(), mtu) {
                let header = ethernet.as_mut().map_or(0, |e| e.answer(packet.body.ethernet));
                p.refused += write(w.back, ethernet, header, &icmp);
                if let Some(recorder) = &mut self.recorder {
                    recorder.host(now, w.path.hosts[0], &icmp[VIRTIO..]);
                }
            }
            self.pool.recycle(packet.body);
        }
    }

    /// Calls the caller's function if it is due. `cpu` is the time that this thread has used.
    fn beat(&mut self, now: Time, cpu: Span) {
        let Some(mut beat) = self.beat.take() else { return };
        if now >= beat.next {
            beat.next = now + beat.interval;
            for direction in 0..self.directions.len() {
                self.directions[direction].path.chain.catch_up(now, &mut self.outbox);
                self.deliver(direction);
            }
            (beat.call)(&|| self.status(now, cpu));
        }
        self.beat = Some(beat);
    }

    fn status(&self, now: Time, cpu: Span) -> EngineStatus {
        let paths = || self.directions.iter().map(|w| &w.path);
        let gauges = paths().flat_map(|path| (0..path.chain.len()).map(move |i| path.chain.gauge(i, now)));
        EngineStatus {
            elements: chains::elements(paths()),
            queued: gauges.map(|gauge| gauge.queue_packets).collect(),
            timing: EngineTiming { cpu, ran: now.since(Time::ZERO), ..self.timing.clone() },
            bunched: self.bursts.dropped,
        }
    }

    /// Samples the gauges of all elements at the scenario's interval.
    fn sample(&mut self, now: Time) {
        let Some(interval) = self.sample else { return };
        if now < self.next_sample {
            return;
        }
        for direction in 0..self.directions.len() {
            self.directions[direction].path.chain.catch_up(now, &mut self.outbox);
            self.deliver(direction);
        }
        // After a late wake-up all missed samples get the current values.
        while self.next_sample <= now {
            let directions = self.directions.iter().map(|w| &w.path);
            chains::sample(&mut self.series, directions, self.next_sample, now);
            self.next_sample += interval;
        }
    }
}

/// Writes a packet to a device. Returns 1 if the kernel refused it, otherwise 0.
fn write(to: BorrowedFd<'_>, ethernet: &mut Option<Ethernet>, header: u16, packet: &[u8]) -> u64 {
    let frame = match ethernet {
        None => packet,
        Some(ethernet) => ethernet.dress(header, packet),
    };
    file::write(to, frame).is_err().into()
}

/// Maximum number of incomplete packets per direction; beyond it the oldest is dropped.
const MAX_PARTIAL: usize = 1024;

impl EngineDirection<'_> {
    /// Whether a fragment completes its packet; if so, it gets the whole packet's bytes.
    fn is_whole(&mut self, packet: &mut Packet<Wire>) -> bool {
        let Some(fragment) = packet.fragment else { return true };
        let entry = self.partial.entry(packet.id).or_default();
        entry.0 += 1;
        if !packet.body.bytes.is_empty() {
            entry.1 = std::mem::take(&mut packet.body);
        }
        if entry.0 < fragment.count {
            if self.partial.len() > MAX_PARTIAL {
                self.partial.pop_first();
            }
            return false;
        }
        packet.body = self.partial.remove(&packet.id).unwrap_or_default().1;
        true
    }
}
