//! One host's traffic: all its sockets, in one thread inside its namespace.
//!
//! This thread writes while the sockets have room, reads incoming data, runs the applications' timers, and
//! reads `TCP_INFO` every [`TICK`]. Kernel TCP does the rest.

use crate::LabError;
use crate::app::{Client, Counts, RequestingApp};
use crate::clock::WallClock;
use crate::datagram_endpoints::{DatagramSink, DatagramSource};
use crate::machine;
use crate::options::{hold_window, is_paced, prepare};
use crate::plan::{FlowPlan, Leg, PlannedFlow};
use crate::relay::RunningRelay;
use crate::series::{self, Point};
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

/// Interval between reads of a connection's `TCP_INFO`.
const TICK: Span = Span::from_millis(1);
/// Connections read per tick; with more connections each is read less often.
const READS_PER_TICK: usize = 32;
const CHUNK: usize = 128 << 10;
/// Timers run between two polls of the sockets.
const MAX_TIMERS: usize = 256;
/// Writes or reads of one socket before the next one is served.
const MAX_CHUNKS: usize = 16;
/// Longest wait; bounds the time until a stop request is seen.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// One end of a connection.
struct Connection {
    socket: KernelSocket,
    leg: usize,
    is_opener: bool,
    /// This end sends the bulk of the data, so results report its statistics.
    is_sender: bool,
    is_up: bool,
    is_dead: bool,
    io: Counts,
    client: Client,
    interest: (bool, bool),
    acked: u64,
    info: TcpInfo,
}

/// The object that a timer or a descriptor belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Connection(usize),
    Listener(usize),
    Sink(usize),
    Source(usize),
    /// A leg whose connection is to be opened.
    Leg(usize),
    /// A flow whose think time is over and that sends its next request.
    Requester(usize),
}

impl Owner {
    fn token(self) -> u64 {
        let (kind, i) = match self {
            Owner::Connection(i) => (0, i),
            Owner::Listener(i) => (1, i),
            Owner::Sink(i) => (2, i),
            Owner::Source(i) => (3, i),
            Owner::Leg(i) => (4, i),
            Owner::Requester(i) => (5, i),
        };
        kind << 32 | i as u64
    }
    fn from_token(token: u64) -> Owner {
        let i = (token & 0xffff_ffff) as usize;
        match token >> 32 {
            0 => Owner::Connection(i),
            1 => Owner::Listener(i),
            2 => Owner::Sink(i),
            3 => Owner::Source(i),
            4 => Owner::Leg(i),
            _ => Owner::Requester(i),
        }
    }
}

/// Results of a host's thread. Its sockets stay open until all threads are done, so that no end sees the
/// other close before its statistics have been read.
pub struct HostReport {
    pub series: Vec<(usize, FlowSeries)>,
    /// Errors of single connections.
    pub notices: Vec<String>,
    /// Mean time that the thread waited for a CPU.
    pub cpu_wait: Option<Span>,
    /// Longest delay from a flow's scheduled start to its actual start.
    pub start_delay: Span,
    _open: Vec<Connection>,
    _relays: Vec<RunningRelay>,
}

impl HostReport {
    /// Report of traffic whose sockets belong to other processes.
    pub fn new(series: Vec<(usize, FlowSeries)>, notices: Vec<String>) -> HostReport {
        HostReport {
            series,
            notices,
            cpu_wait: None,
            start_delay: Span::ZERO,
            _open: Vec::new(),
            _relays: Vec::new(),
        }
    }

    /// Report of relays, which run until it is dropped.
    pub fn of_relays(relays: Vec<RunningRelay>, notices: Vec<String>, cpu_wait: Option<Span>) -> HostReport {
        HostReport { cpu_wait, _relays: relays, ..HostReport::new(Vec::new(), notices) }
    }
}

/// The traffic of one host.
pub struct LabHost<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    host: usize,
    clock: WallClock,
    end: Time,
    epoll: EventQueue,
    connections: Vec<Connection>,
    /// Requesting ends by flow.
    requesters: BTreeMap<usize, RequestingApp>,
    listeners: Vec<(KernelSocket, usize)>,
    sources: Vec<DatagramSource>,
    sinks: Vec<DatagramSink>,
    timers: BinaryHeap<Reverse<(Time, Owner)>>,
    series: Vec<(usize, FlowSeries)>,
    next_tick: Time,
    next_sample: Option<Time>,
    next_read: usize,
    /// Longest delay of a flow's start so far.
    start_delay: Span,
    buffer: Vec<u8>,
    notices: Vec<String>,
}

impl<'a> LabHost<'a> {
    /// Opens the listening sockets. Must be called in the host's namespace, before the clock starts.
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
            requesters: BTreeMap::new(),
            listeners: Vec::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            timers: BinaryHeap::new(),
            series: Vec::new(),
            next_tick: Time::ZERO,
            next_sample: (!scenario.sample.is_zero()).then_some(Time::ZERO),
            next_read: 0,
            buffer: vec![0; CHUNK],
            notices: Vec::new(),
            start_delay: Span::ZERO,
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

    /// Runs the traffic until the scenario's end, or until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) -> Result<HostReport, LabError> {
        schedule::set_precise_scheduling(None);
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
            let timeout = self.clock.until(wake).min(MAX_WAIT);
            self.epoll
                .wait_exactly(&mut events, Some(timeout))
                .map_err(LabError::system("waiting for sockets"))?;
            for &Readiness { token, readable: read, writable: write, .. } in &events {
                match Owner::from_token(token) {
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
                    Owner::Leg(_) | Owner::Requester(_) => {}
                }
            }
        }
        self.tick(self.end);
        for i in 0..self.connections.len() {
            self.add_counters(i);
        }
        for (flow, asking) in self.requesters {
            *self.plan.flows[flow].requester.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(asking.requester);
        }
        let cpu_wait = machine::mean_wait();
        let start_delay = self.start_delay;
        Ok(HostReport {
            cpu_wait,
            start_delay,
            _open: self.connections,
            ..HostReport::new(self.series, self.notices)
        })
    }

    fn handle_timers(&mut self, now: Time) {
        // Bound the number of timers so that the sockets are served too.
        for _ in 0..MAX_TIMERS {
            let Some(&Reverse((due, owner))) = self.timers.peek() else { break };
            if due > now {
                break;
            }
            self.timers.pop();
            match owner {
                Owner::Leg(leg) => {
                    self.start_delay = self.start_delay.max(now.since(due));
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
                Owner::Requester(flow) => self.ask(flow, |asking| {
                    if asking.requester.next_wake().is_some_and(|t| t <= due) {
                        asking.requester.handle_wake(due, &mut asking.requests);
                    }
                }),
                Owner::Listener(_) | Owner::Sink(_) => {}
            }
        }
    }

    /// Runs `act` on a flow's requesting end and writes the requests that it produces.
    fn ask(&mut self, flow: usize, act: impl FnOnce(&mut RequestingApp)) {
        let Some(asking) = self.requesters.get_mut(&flow) else { return };
        let before = asking.requester.next_wake();
        act(asking);
        let planned = &self.plan.flows[flow];
        if let Some(t) = asking.requester.next_wake().filter(|_| before.is_none()) {
            self.timers.push(Reverse((t, Owner::Requester(flow))));
        }
        if let Some(t) = asking.requester.finished {
            PlannedFlow::set_once(&planned.finished, t);
        }
        while let Some(ask) = self.requesters.get_mut(&flow).and_then(|asking| asking.requests.pop_front()) {
            if let Some(responder) = &mut *planned.responder.lock().unwrap_or_else(PoisonError::into_inner) {
                responder.expect(ask);
            }
            let at = self.requesters.get(&flow).and_then(|asking| asking.connections[ask.connection]);
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

    /// Opens a leg's connection; `due` is its scheduled time.
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
                && let Some(asking) = RequestingApp::for_flow(flow)
            {
                self.requesters.insert(of, asking);
                self.ask(of, |asking| asking.requester.start(due, &mut asking.requests));
            }
            if let Some(asking) = self.requesters.get_mut(&of) {
                asking.connections[connection] = Some(at);
            }
            let c = &mut self.connections[at];
            c.client.start(due, flow, &mut c.io);
            self.arm(at);
        }
        Ok(at)
    }

    fn add(&mut self, socket: KernelSocket, leg: usize, is_opener: bool) -> io::Result<usize> {
        let at = self.connections.len();
        let interest = (true, is_opener);
        let is_sender = is_opener != self.plan.flows[self.plan.legs[leg].flow].answers();
        self.epoll.watch(socket.as_fd(), Owner::Connection(at).token(), watch(interest))?;
        self.connections.push(Connection {
            socket,
            leg,
            is_opener,
            is_sender,
            is_up: !is_opener,
            is_dead: false,
            io: Counts::default(),
            client: Client::default(),
            interest,
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
        if c.is_dead {
            return;
        }
        if !c.is_up && write {
            let flow = &self.plan.flows[self.plan.legs[c.leg].flow];
            if let Some(e) = c.socket.error() {
                let text = format!("flow {}: connecting: {e}", flow.name);
                return self.fail(i, text);
            }
            c.is_up = true;
            let leg = &self.plan.legs[c.leg];
            if leg.first {
                PlannedFlow::set_once(&flow.established, self.clock.now());
                let connection = leg.connection;
                self.ask(leg.flow, |asking| {
                    asking.requester.handle_established(connection, &mut asking.requests)
                });
            }
        }
        if read {
            self.read(i);
        }
        self.write(i);
    }

    fn fail(&mut self, i: usize, text: String) {
        self.notices.push(text);
        self.connections[i].is_dead = true;
        let c = &self.connections[i];
        let _ = self.epoll.change(c.socket.as_fd(), Owner::Connection(i).token(), watch((false, false)));
    }

    fn read(&mut self, i: usize) {
        for _ in 0..MAX_CHUNKS {
            let c = &mut self.connections[i];
            if c.is_dead {
                break;
            }
            let n = match c.socket.discard(CHUNK) {
                Ok(0) => return self.fail(i, "a connection was closed".into()),
                Ok(n) => n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return self.fail(i, format!("a connection failed: {e}")),
            };
            c.io.read += n;
            // The option was accepted when the connection was made; if setting it fails now, the next read
            // retries.
            let _ = hold_window(&c.socket, &self.scenario.hosts[self.host].stack);
            let leg = &self.plan.legs[c.leg];
            let flow = &self.plan.flows[leg.flow];
            if leg.is_outer(c.is_opener) && !c.is_sender {
                flow.add_read(self.clock.now().min(self.end), n);
            }
            if c.is_opener && leg.first {
                let (now, connection, read) = (self.clock.now().min(self.end), leg.connection, c.io.read);
                self.ask(leg.flow, |asking| {
                    asking.requester.handle_read(now, connection, read, &mut asking.requests);
                });
            } else if !c.is_opener
                && let Some(responder) = &mut *flow.responder.lock().unwrap_or_else(PoisonError::into_inner)
            {
                while let Some(answer) = responder.next(leg.connection, c.io.read) {
                    c.io.to_write += answer;
                }
            }
            if (n as usize) < CHUNK {
                break;
            }
        }
        self.update_interest(i);
    }

    fn write(&mut self, i: usize) {
        let c = &mut self.connections[i];
        for _ in 0..MAX_CHUNKS {
            if !c.is_up || c.is_dead || c.io.to_write == 0 {
                break;
            }
            let n = c.io.to_write.min(CHUNK as u64) as usize;
            match c.socket.send(&self.buffer[..n]) {
                Ok(taken) => {
                    c.io.to_write -= taken as u64;
                    c.io.written += taken as u64;
                    // The buffer is full. A blocking writer would sleep until a third of it is free.
                    if taken < n {
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return self.fail(i, format!("a connection failed: {e}")),
            }
        }
        self.update_interest(i);
    }

    /// Updates the events that this end waits for.
    fn update_interest(&mut self, i: usize) {
        let c = &mut self.connections[i];
        let interest = (true, !c.is_up || c.io.to_write > 0);
        if interest != c.interest && !c.is_dead {
            c.interest = interest;
            let _ = self.epoll.change(c.socket.as_fd(), Owner::Connection(i).token(), watch(interest));
        }
    }

    fn send_datagram(&mut self, i: usize, due: Time) {
        let s = &mut self.sources[i];
        if let Some(next) = s.send(due, &self.plan.flows[s.flow], &mut self.buffer) {
            self.timers.push(Reverse((next, Owner::Source(i))));
        }
    }

    /// Reads the connections' RTTs and appends to the time series.
    fn tick(&mut self, now: Time) {
        self.next_tick = now + TICK;
        let n = self.connections.len();
        for k in 0..n.min(READS_PER_TICK) {
            self.read_info((self.next_read + k) % n, now);
        }
        self.next_read = (self.next_read + n.min(READS_PER_TICK)) % n.max(1);
        let Some(due) = self.next_sample.filter(|&t| t <= now) else { return };
        if n > READS_PER_TICK {
            for i in 0..n {
                self.read_info(i, now);
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

    fn read_info(&mut self, i: usize, now: Time) {
        let c = &mut self.connections[i];
        if !c.is_sender || !c.is_up || c.is_dead {
            return;
        }
        let leg = &self.plan.legs[c.leg];
        let flow = &self.plan.flows[leg.flow];
        let Some(info) = TcpInfo::of(c.socket.as_fd(), leg.cc[usize::from(!c.is_opener)].name == "bbr")
        else {
            return;
        };
        if info.bytes_acked != c.acked && info.rtt_us > 0 {
            c.acked = info.bytes_acked;
            flow.record_rtt(now, Span::from_micros(info.rtt_us as u64));
            flow.min_rtt.fetch_min(info.min_rtt_us as u64 * 1000, Relaxed);
        }
        c.info = info;
    }

    fn sample(&mut self, t: Time) {
        for (flow, s) in &mut self.series {
            let f = &self.plan.flows[*flow];
            let is_of_flow = |c: &&Connection| {
                let leg = &self.plan.legs[c.leg];
                leg.flow == *flow && leg.is_outer(c.is_opener) && c.is_sender && c.is_up
            };
            let flow_connections = || self.connections.iter().filter(is_of_flow);
            // The connection with the most bytes; the first of equals.
            let more = |a: &Connection, b: &Connection| b.info.bytes_acked > a.info.bytes_acked;
            let c = flow_connections().reduce(|a, b| if more(a, b) { b } else { a });
            let stack = &self.scenario.hosts[self.host].stack;
            let point = Point {
                delivered: f.delivered.load(Relaxed),
                retransmitted: flow_connections().map(|c| u64::from(c.info.total_retrans)).sum(),
                info: c.map(|c| c.info),
                opened: c.is_some_and(|c| c.is_opener),
                paced: c.is_some_and(|c| is_paced(stack, f, &self.plan.legs[c.leg], c.is_opener)),
                udp: f.is_udp(),
                delay: f.last_delay(),
                initial_window: stack.initial_window.unwrap_or(10),
            };
            series::push(s, t, &point);
        }
    }

    /// Adds a connection's counters to its flow.
    fn add_counters(&mut self, i: usize) {
        let c = &self.connections[i];
        let leg = &self.plan.legs[c.leg];
        let flow = &self.plan.flows[leg.flow];
        if let Some(info) = TcpInfo::of(c.socket.as_fd(), false) {
            if leg.is_outer(c.is_opener) && c.is_sender {
                flow.mss.store(info.snd_mss.into(), Relaxed);
            }
            flow.sent.fetch_add(info.data_segs_out as u64, Relaxed);
            flow.retransmitted.fetch_add(info.total_retrans as u64, Relaxed);
            flow.timeouts.fetch_add(info.total_rto as u64, Relaxed);
        }
    }
}

/// The watch mode of a connection that waits for (reading, writing).
fn watch((read, write): (bool, bool)) -> EventWatch {
    EventWatch::Level { read, write }
}
