//! One host's traffic: all its sockets, in one thread inside its namespace.
//!
//! Kernel TCP does the rest: this thread writes while there is room, reads what is there, wakes
//! applications, and looks at `TCP_INFO` every [`TICK`].

use crate::LabError;
use crate::app::{AskingApp, Client, Counts};
use crate::clock::WallClock;
use crate::machine;
use crate::options::{hold_window, is_paced, prepare};
use crate::plan::{FlowPlan, Leg, PlannedFlow};
use crate::relay::RunningRelay;
use crate::series::{self, Point};
use crate::sources::{DatagramSink, DatagramSource};
use linux::epoll::{EventQueue, EventWatch, Readiness};
use linux::schedule;
use linux::socket::KernelSocket;
use linux::tcp_info::TcpInfo;
use result::FlowSeries;
use scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use transport::DatagramPattern;
use units::{Span, Time};

/// How often a connection's RTT is looked at.
const TICK: Span = Span::from_millis(1);
/// Connections looked at in one tick; more of them are looked at less often.
const LOOKS: usize = 32;
/// Bytes of one write or read.
const CHUNK: usize = 128 << 10;
/// Timers served between two looks at the sockets.
const TURN: usize = 256;
/// Writes or reads of one socket before the others have their turn.
const CHUNKS: usize = 16;
/// The longest wait: how soon a stop is seen.
const NAP: Duration = Duration::from_millis(50);

/// One end of a connection.
struct Connection {
    socket: KernelSocket,
    leg: usize,
    opens: bool,
    /// It is on the side that sends more: what results tell is told of it.
    sends: bool,
    up: bool,
    dead: bool,
    io: Counts,
    client: Client,
    awaits: (bool, bool),
    acked: u64,
    info: TcpInfo,
}

/// What a timer or a descriptor stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Connection(usize),
    Listener(usize),
    Sink(usize),
    Source(usize),
    /// A leg that is to open its connection.
    Leg(usize),
    /// A flow that has thought and asks again.
    Asker(usize),
}

impl Owner {
    fn token(self) -> u64 {
        let (kind, i) = match self {
            Owner::Connection(i) => (0, i),
            Owner::Listener(i) => (1, i),
            Owner::Sink(i) => (2, i),
            Owner::Source(i) => (3, i),
            Owner::Leg(i) => (4, i),
            Owner::Asker(i) => (5, i),
        };
        kind << 32 | i as u64
    }
    fn of(token: u64) -> Owner {
        let i = (token & 0xffff_ffff) as usize;
        match token >> 32 {
            0 => Owner::Connection(i),
            1 => Owner::Listener(i),
            2 => Owner::Sink(i),
            3 => Owner::Source(i),
            4 => Owner::Leg(i),
            _ => Owner::Asker(i),
        }
    }
}

/// What a host's thread leaves. Its sockets stay open until everybody is done, so that no end
/// sees the other go before it has been looked at.
pub struct HostReport {
    pub series: Vec<(usize, FlowSeries)>,
    /// What went wrong with single connections.
    pub notices: Vec<String>,
    /// How long it waited for a CPU, in the mean.
    pub wait: Option<Span>,
    /// From when a flow was due until it was begun, of the flow that waited longest.
    pub begun_late: Span,
    _open: Vec<Connection>,
    _relays: Vec<RunningRelay>,
}

impl HostReport {
    /// Of traffic whose sockets are not ours.
    pub fn new(series: Vec<(usize, FlowSeries)>, notices: Vec<String>) -> HostReport {
        HostReport {
            series,
            notices,
            wait: None,
            begun_late: Span::ZERO,
            _open: Vec::new(),
            _relays: Vec::new(),
        }
    }

    /// Of relays, which run until it is dropped.
    pub fn of_relays(relays: Vec<RunningRelay>, notices: Vec<String>, wait: Option<Span>) -> HostReport {
        HostReport { wait, _relays: relays, ..HostReport::new(Vec::new(), notices) }
    }
}

/// A host's traffic.
pub struct LabHost<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    host: usize,
    clock: WallClock,
    end: Time,
    epoll: EventQueue,
    connections: Vec<Connection>,
    /// By flow.
    askers: BTreeMap<usize, AskingApp>,
    listeners: Vec<(KernelSocket, usize)>,
    sources: Vec<DatagramSource>,
    sinks: Vec<DatagramSink>,
    timers: BinaryHeap<Reverse<(Time, Owner)>>,
    series: Vec<(usize, FlowSeries)>,
    next_tick: Time,
    next_sample: Option<Time>,
    looked: usize,
    /// From when a flow was due until it was begun, at the most.
    begun_late: Span,
    buffer: Vec<u8>,
    notices: Vec<String>,
}

impl<'a> LabHost<'a> {
    /// Opens what listens. Called in the host's namespace, before the clock starts.
    pub fn new(
        scenario: &'a Scenario,
        plan: &'a FlowPlan,
        host: usize,
        seed: u64,
        clock: WallClock,
    ) -> Result<LabHost<'a>, LabError> {
        let mut this = LabHost {
            scenario,
            plan,
            host,
            clock,
            end: Time::ZERO + scenario.duration,
            epoll: EventQueue::new().map_err(LabError::system("epoll"))?,
            connections: Vec::new(),
            askers: BTreeMap::new(),
            listeners: Vec::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            timers: BinaryHeap::new(),
            series: Vec::new(),
            next_tick: Time::ZERO,
            next_sample: (!scenario.sample.is_zero()).then_some(Time::ZERO),
            looked: 0,
            buffer: vec![0; CHUNK],
            notices: Vec::new(),
            begun_late: Span::ZERO,
        };
        for (i, leg) in plan.legs.iter().enumerate() {
            let flow = &plan.flows[leg.flow];
            if flow.tool.is_some() {
                continue;
            }
            if leg.last && leg.to == host {
                this.listen(i, leg, flow)?;
            }
            if leg.shown(flow) == Some(host) && leg.connection == 0 {
                this.series.push((leg.flow, FlowSeries::new(&flow.name)));
            }
            if leg.from == host && leg.first {
                if let Some(pattern) = flow.datagrams() {
                    this.add_source(leg, flow, &pattern, seed)?;
                } else {
                    this.timers.push(Reverse((flow.start, Owner::Leg(i))));
                }
            }
        }
        Ok(this)
    }

    fn listen(&mut self, i: usize, leg: &Leg, flow: &PlannedFlow) -> Result<(), LabError> {
        let failed = || LabError::system(format!("flow {}: listening", flow.name));
        if let Some(pattern) = flow.datagrams() {
            let sink = DatagramSink::open(leg, self.plan.addresses[leg.from], flow, &pattern)?;
            let owner = Owner::Sink(self.sinks.len());
            self.epoll.watch(sink.socket.as_fd(), owner.token(), EventWatch::Read).map_err(failed())?;
            self.sinks.push(sink);
            return Ok(());
        }
        let own = self.plan.addresses[self.host];
        let socket = KernelSocket::tcp(own).map_err(failed())?;
        prepare(&socket, &self.scenario.hosts[self.host].stack, flow, leg, false)?;
        socket.bind(own, leg.port).and_then(|()| socket.listen()).map_err(failed())?;
        let owner = Owner::Listener(self.listeners.len());
        self.epoll.watch(socket.as_fd(), owner.token(), EventWatch::Read).map_err(failed())?;
        self.listeners.push((socket, i));
        Ok(())
    }

    fn add_source(
        &mut self,
        leg: &Leg,
        flow: &PlannedFlow,
        pattern: &DatagramPattern,
        seed: u64,
    ) -> Result<(), LabError> {
        let faults = chains::spans(self.scenario);
        let to = self.plan.addresses[leg.to];
        let source = DatagramSource::open(leg, to, flow, pattern, seed, &faults)?;
        let owner = Owner::Source(self.sources.len());
        if pattern.answered {
            let failed = LabError::system(format!("flow {}: waiting for answers", flow.name));
            self.epoll.watch(source.socket.as_fd(), owner.token(), EventWatch::Read).map_err(failed)?;
        }
        self.timers.push(Reverse((flow.start, owner)));
        self.sources.push(source);
        Ok(())
    }

    /// Plays until the scenario's end, or until told to stop.
    pub fn run(mut self, stop: &AtomicBool) -> Result<HostReport, LabError> {
        schedule::be_punctual(None);
        std::thread::sleep(self.clock.until(Time::ZERO));
        let mut events: Vec<Readiness> = Vec::new();
        while !stop.load(Relaxed) {
            let now = self.clock.now();
            if now >= self.end {
                break;
            }
            self.handle_timers(now);
            if now >= self.next_tick {
                self.tick(now);
            }
            let mut wake = self.end.min(self.next_tick);
            if let Some(Reverse((t, _))) = self.timers.peek() {
                wake = wake.min(*t);
            }
            let wait = self.clock.until(wake).min(NAP);
            self.epoll
                .wait_exactly(&mut events, Some(wait))
                .map_err(LabError::system("waiting for sockets"))?;
            for &Readiness { token, readable: read, writable: write, .. } in &events {
                match Owner::of(token) {
                    Owner::Connection(i) => self.handle_socket(i, read, write),
                    Owner::Listener(i) => self.handle_listener(i),
                    Owner::Sink(i) => {
                        let s = &self.sinks[i];
                        s.handle_arrivals(&self.plan.flows[s.flow], self.clock, &mut self.buffer);
                    }
                    Owner::Source(i) => {
                        let s = &self.sources[i];
                        s.handle_answers(&self.plan.flows[s.flow], self.clock);
                    }
                    Owner::Leg(_) | Owner::Asker(_) => {}
                }
            }
        }
        self.tick(self.end);
        for i in 0..self.connections.len() {
            self.account(i);
        }
        for (flow, asking) in self.askers {
            *self.plan.flows[flow].asker.lock().unwrap_or_else(PoisonError::into_inner) = Some(asking.asker);
        }
        let wait = machine::mean_wait();
        let begun_late = self.begun_late;
        Ok(HostReport {
            wait,
            begun_late,
            _open: self.connections,
            ..HostReport::new(self.series, self.notices)
        })
    }

    fn handle_timers(&mut self, now: Time) {
        // Not more at once than leaves the sockets their turn.
        for _ in 0..TURN {
            let Some(&Reverse((due, owner))) = self.timers.peek() else { break };
            if due > now {
                break;
            }
            self.timers.pop();
            match owner {
                Owner::Leg(leg) => {
                    self.begun_late = self.begun_late.max(now.since(due));
                    self.open(leg, due);
                }
                Owner::Source(i) => self.send_datagram(i, due),
                Owner::Connection(i) => {
                    let c = &mut self.connections[i];
                    let flow = &self.plan.flows[self.plan.legs[c.leg].flow];
                    if c.client.wake.is_some_and(|t| t <= due) {
                        c.client.handle_wake(due, flow, &mut c.io);
                        self.arm(i);
                        self.write(i);
                    }
                }
                Owner::Asker(flow) => self.ask(flow, |asking| {
                    if asking.asker.next_wake().is_some_and(|t| t <= due) {
                        asking.asker.handle_wake(due, &mut asking.asks);
                    }
                }),
                Owner::Listener(_) | Owner::Sink(_) => {}
            }
        }
    }

    /// Has a flow's asking side act, and writes what it asks for.
    fn ask(&mut self, flow: usize, act: impl FnOnce(&mut AskingApp)) {
        let Some(asking) = self.askers.get_mut(&flow) else { return };
        let before = asking.asker.next_wake();
        act(asking);
        let planned = &self.plan.flows[flow];
        if let Some(t) = asking.asker.next_wake().filter(|_| before.is_none()) {
            self.timers.push(Reverse((t, Owner::Asker(flow))));
        }
        if let Some(t) = asking.asker.finished {
            PlannedFlow::note(&planned.finished, t);
        }
        while let Some(ask) = self.askers.get_mut(&flow).and_then(|asking| asking.asks.pop_front()) {
            if let Some(answerer) = &mut *planned.answerer.lock().unwrap_or_else(PoisonError::into_inner) {
                answerer.expect(ask);
            }
            let at = self.askers.get(&flow).and_then(|asking| asking.connections[ask.connection]);
            if let Some(at) = at {
                self.connections[at].io.to_write += ask.request;
                self.write(at);
            }
        }
    }

    fn arm(&mut self, i: usize) {
        if let Some(t) = self.connections[i].client.wake {
            self.timers.push(Reverse((t, Owner::Connection(i))));
        }
    }

    /// Opens a leg's connection, at `due`.
    fn open(&mut self, leg: usize, due: Time) {
        if let Err(e) = self.try_open(leg, due) {
            self.notices.push(e.to_string());
        }
    }

    fn try_open(&mut self, i: usize, due: Time) -> Result<usize, LabError> {
        let leg = &self.plan.legs[i];
        let flow = &self.plan.flows[leg.flow];
        let failed = || LabError::system(format!("flow {}: connecting", flow.name));
        let to = self.plan.addresses[leg.to];
        let socket = KernelSocket::tcp(to).map_err(failed())?;
        prepare(&socket, &self.scenario.hosts[self.host].stack, flow, leg, true)?;
        socket.connect(SocketAddr::new(to, leg.port)).map_err(failed())?;
        let at = self.add(socket, i, true).map_err(failed())?;
        if leg.first {
            let (of, connection) = (leg.flow, leg.connection);
            if connection == 0
                && let Some(asking) = AskingApp::of(flow)
            {
                self.askers.insert(of, asking);
                self.ask(of, |asking| asking.asker.start(due, &mut asking.asks));
            }
            if let Some(asking) = self.askers.get_mut(&of) {
                asking.connections[connection] = Some(at);
            }
            let c = &mut self.connections[at];
            c.client.start(due, flow, &mut c.io);
            self.arm(at);
        }
        Ok(at)
    }

    fn add(&mut self, socket: KernelSocket, leg: usize, opens: bool) -> io::Result<usize> {
        let at = self.connections.len();
        let awaits = (true, opens);
        let sends = opens != self.plan.flows[self.plan.legs[leg].flow].answers();
        self.epoll.watch(socket.as_fd(), Owner::Connection(at).token(), watch(awaits))?;
        self.connections.push(Connection {
            socket,
            leg,
            opens,
            sends,
            up: !opens,
            dead: false,
            io: Counts::default(),
            client: Client::default(),
            awaits,
            acked: 0,
            info: TcpInfo::default(),
        });
        Ok(at)
    }

    fn handle_listener(&mut self, i: usize) {
        let (socket, leg) = &self.listeners[i];
        let (socket, leg) = (socket.accept(), *leg);
        let accepted = socket.and_then(|s| self.add(s, leg, false));
        if let Err(e) = accepted {
            self.notices.push(format!("accepting a connection: {e}"));
        }
    }

    fn handle_socket(&mut self, i: usize, read: bool, write: bool) {
        let c = &mut self.connections[i];
        if c.dead {
            return;
        }
        if !c.up && write {
            let flow = &self.plan.flows[self.plan.legs[c.leg].flow];
            if let Some(e) = c.socket.error() {
                let text = format!("flow {}: connecting: {e}", flow.name);
                return self.give_up(i, text);
            }
            c.up = true;
            let leg = &self.plan.legs[c.leg];
            if leg.first {
                PlannedFlow::note(&flow.established, self.clock.now());
                let connection = leg.connection;
                self.ask(leg.flow, |asking| asking.asker.handle_up(connection, &mut asking.asks));
            }
        }
        if read {
            self.read(i);
        }
        self.write(i);
    }

    fn give_up(&mut self, i: usize, text: String) {
        self.notices.push(text);
        self.connections[i].dead = true;
        let c = &self.connections[i];
        let _ = self.epoll.change(c.socket.as_fd(), Owner::Connection(i).token(), watch((false, false)));
    }

    fn read(&mut self, i: usize) {
        for _ in 0..CHUNKS {
            let c = &mut self.connections[i];
            if c.dead {
                break;
            }
            let n = match c.socket.discard(CHUNK) {
                Ok(0) => return self.give_up(i, "a connection was closed".into()),
                Ok(n) => n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return self.give_up(i, format!("a connection failed: {e}")),
            };
            c.io.read += n;
            // It was taken when the connection was made; if not now, the next read says it again.
            let _ = hold_window(&c.socket, &self.scenario.hosts[self.host].stack);
            let leg = &self.plan.legs[c.leg];
            let flow = &self.plan.flows[leg.flow];
            if leg.is_outer(c.opens) && !c.sends {
                flow.take(self.clock.now().min(self.end), n);
            }
            if c.opens && leg.first {
                let (now, connection, read) = (self.clock.now().min(self.end), leg.connection, c.io.read);
                self.ask(leg.flow, |asking| {
                    asking.asker.handle_read(now, connection, read, &mut asking.asks);
                });
            } else if !c.opens
                && let Some(answerer) = &mut *flow.answerer.lock().unwrap_or_else(PoisonError::into_inner)
            {
                while let Some(answer) = answerer.next(leg.connection, c.io.read) {
                    c.io.to_write += answer;
                }
            }
            if (n as usize) < CHUNK {
                break;
            }
        }
        self.await_events(i);
    }

    fn write(&mut self, i: usize) {
        let c = &mut self.connections[i];
        for _ in 0..CHUNKS {
            if !c.up || c.dead || c.io.to_write == 0 {
                break;
            }
            let n = c.io.to_write.min(CHUNK as u64) as usize;
            match c.socket.send(&self.buffer[..n]) {
                Ok(taken) => {
                    c.io.to_write -= taken as u64;
                    c.io.written += taken as u64;
                    // The buffer is full: who waited there would sleep until a third of it is free.
                    if taken < n {
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return self.give_up(i, format!("a connection failed: {e}")),
            }
        }
        self.await_events(i);
    }

    /// Tells the event queue what this end waits for now.
    fn await_events(&mut self, i: usize) {
        let c = &mut self.connections[i];
        let awaits = (true, !c.up || c.io.to_write > 0);
        if awaits != c.awaits && !c.dead {
            c.awaits = awaits;
            let _ = self.epoll.change(c.socket.as_fd(), Owner::Connection(i).token(), watch(awaits));
        }
    }

    fn send_datagram(&mut self, i: usize, due: Time) {
        let s = &mut self.sources[i];
        if let Some(next) = s.send(due, &self.plan.flows[s.flow], &mut self.buffer) {
            self.timers.push(Reverse((next, Owner::Source(i))));
        }
    }

    /// Looks at the connections: RTTs, ends of flows, time series.
    fn tick(&mut self, now: Time) {
        self.next_tick = now + TICK;
        let n = self.connections.len();
        for k in 0..n.min(LOOKS) {
            self.look((self.looked + k) % n, now);
        }
        self.looked = (self.looked + n.min(LOOKS)) % n.max(1);
        let Some(due) = self.next_sample.filter(|&t| t <= now) else { return };
        if n > LOOKS {
            for i in 0..n {
                self.look(i, now);
            }
        }
        let mut t = due;
        while t <= now {
            self.sample(t);
            t += self.scenario.sample;
        }
        self.next_sample = Some(t);
        self.next_tick = self.next_tick.min(t);
    }

    fn look(&mut self, i: usize, now: Time) {
        let c = &mut self.connections[i];
        if !c.sends || !c.up || c.dead {
            return;
        }
        let leg = &self.plan.legs[c.leg];
        let flow = &self.plan.flows[leg.flow];
        let Some(info) = TcpInfo::of(c.socket.as_fd(), leg.cc[usize::from(!c.opens)].name == "bbr") else {
            return;
        };
        if info.bytes_acked != c.acked && info.rtt_us > 0 {
            c.acked = info.bytes_acked;
            flow.record(now, Span::from_micros(info.rtt_us as u64));
            flow.min_rtt.fetch_min(info.min_rtt_us as u64 * 1000, Relaxed);
        }
        c.info = info;
    }

    fn sample(&mut self, t: Time) {
        for (flow, s) in &mut self.series {
            let f = &self.plan.flows[*flow];
            let mine = |c: &&Connection| {
                let leg = &self.plan.legs[c.leg];
                leg.flow == *flow && leg.is_outer(c.opens) && c.sends && c.up
            };
            let mine = || self.connections.iter().filter(mine);
            // The one that carries most; of several that carry the same, the first.
            let more = |a: &Connection, b: &Connection| b.info.bytes_acked > a.info.bytes_acked;
            let c = mine().reduce(|a, b| if more(a, b) { b } else { a });
            let stack = &self.scenario.hosts[self.host].stack;
            let point = Point {
                delivered: f.delivered.load(Relaxed),
                retransmitted: mine().map(|c| u64::from(c.info.total_retrans)).sum(),
                info: c.map(|c| c.info),
                opened: c.is_some_and(|c| c.opens),
                paced: c.is_some_and(|c| is_paced(stack, f, &self.plan.legs[c.leg], c.opens)),
                udp: f.is_udp(),
                delay: f.last_delay(),
                initial_window: stack.initial_window.unwrap_or(10),
            };
            series::push(s, t, &point);
        }
    }

    /// Books what a connection sent.
    fn account(&mut self, i: usize) {
        let c = &self.connections[i];
        let leg = &self.plan.legs[c.leg];
        let flow = &self.plan.flows[leg.flow];
        if let Some(info) = TcpInfo::of(c.socket.as_fd(), false) {
            if leg.is_outer(c.opens) && c.sends {
                flow.mss.store(info.snd_mss.into(), Relaxed);
            }
            flow.sent.fetch_add(info.data_segs_out as u64, Relaxed);
            flow.retransmitted.fetch_add(info.total_retrans as u64, Relaxed);
            flow.timeouts.fetch_add(info.total_rto as u64, Relaxed);
        }
    }
}

/// How a connection is watched that awaits this: reading, writing.
fn watch((read, write): (bool, bool)) -> EventWatch {
    EventWatch::Level { read, write }
}
