//! One host's traffic: all its sockets, in one thread inside its namespace.
//!
//! Kernel TCP does the rest: this thread writes while there is room, reads what is there, wakes
//! applications, and looks at `TCP_INFO` every [`TICK`].

use crate::LabError;
use crate::app::{AnsweringApp, Client, Counts};
use crate::clock::WallClock;
use crate::info::TcpInfo;
use crate::network::address;
use crate::options::{hold_window, is_paced, mark, prepare, receive_buffer};
use crate::plan::{FlowPlan, Leg, PlannedFlow};
use crate::series::{self, Point};
use crate::sys::{self, Epoll, Event, KernelSocket};
use result::FlowSeries;
use scenario::Scenario;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use transport::{App, Arrival};
use units::{Span, Stream, Time};

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
/// IP and UDP headers.
const UDP_HEADERS: u32 = 28;

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
    server: AnsweringApp,
    /// The other end at a relay, and the most bytes it holds unacknowledged.
    peer: Option<(usize, u64)>,
    awaits: (bool, bool),
    acked: u64,
    info: TcpInfo,
}

struct Source {
    socket: KernelSocket,
    flow: usize,
    interval: Span,
    payload: usize,
    poisson: Option<Stream>,
    until: Option<Time>,
}

struct Sink {
    socket: KernelSocket,
    flow: usize,
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
}

impl Owner {
    fn token(self) -> u64 {
        let (kind, i) = match self {
            Owner::Connection(i) => (0, i),
            Owner::Listener(i) => (1, i),
            Owner::Sink(i) => (2, i),
            Owner::Source(i) => (3, i),
            Owner::Leg(i) => (4, i),
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
            _ => Owner::Leg(i),
        }
    }
}

/// What a host's thread leaves. Its sockets stay open until everybody is done, so that no end
/// sees the other go before it has been looked at.
pub struct HostReport {
    pub series: Vec<(usize, FlowSeries)>,
    /// What went wrong with single connections.
    pub notices: Vec<String>,
    _open: Vec<Connection>,
}

impl HostReport {
    /// Of traffic whose sockets are not ours.
    pub fn new(series: Vec<(usize, FlowSeries)>, notices: Vec<String>) -> HostReport {
        HostReport { series, notices, _open: Vec::new() }
    }
}

/// A host's traffic.
pub struct LabHost<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    host: usize,
    clock: WallClock,
    end: Time,
    epoll: Epoll,
    connections: Vec<Connection>,
    listeners: Vec<(KernelSocket, usize)>,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    timers: BinaryHeap<Reverse<(Time, Owner)>>,
    series: Vec<(usize, FlowSeries)>,
    next_tick: Time,
    next_sample: Option<Time>,
    looked: usize,
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
            epoll: Epoll::new().map_err(LabError::system("epoll"))?,
            connections: Vec::new(),
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
        };
        for (i, leg) in plan.legs.iter().enumerate() {
            let flow = &plan.flows[leg.flow];
            if flow.tool.is_some() {
                continue;
            }
            if leg.to == host {
                this.listen(i, leg, flow)?;
            }
            if leg.shown(flow) == Some(host) {
                this.series.push((leg.flow, FlowSeries::new(&flow.name)));
            }
            if leg.from == host && leg.first {
                if flow.is_udp() {
                    this.add_source(leg, flow, seed)?;
                } else {
                    this.timers.push(Reverse((flow.start, Owner::Leg(i))));
                }
            }
        }
        Ok(this)
    }

    fn listen(&mut self, i: usize, leg: &Leg, flow: &PlannedFlow) -> Result<(), LabError> {
        let failed = || LabError::system(format!("flow {}: listening", flow.name));
        if flow.is_udp() {
            let socket = KernelSocket::udp().map_err(failed())?;
            receive_buffer(&socket, 64 << 20).map_err(failed())?;
            socket.bind(leg.port).map_err(failed())?;
            let owner = Owner::Sink(self.sinks.len());
            self.epoll.set(socket.fd(), owner.token(), true, false, true).map_err(failed())?;
            self.sinks.push(Sink { socket, flow: leg.flow });
            return Ok(());
        }
        let socket = KernelSocket::tcp().map_err(failed())?;
        prepare(&socket, &self.scenario.hosts[self.host].stack, flow, leg, false)?;
        socket.bind(leg.port).and_then(|()| socket.listen()).map_err(failed())?;
        let owner = Owner::Listener(self.listeners.len());
        self.epoll.set(socket.fd(), owner.token(), true, false, true).map_err(failed())?;
        self.listeners.push((socket, i));
        Ok(())
    }

    fn add_source(&mut self, leg: &Leg, flow: &PlannedFlow, seed: u64) -> Result<(), LabError> {
        let App::Udp { rate, size, arrival, duration } = flow.app else { return Ok(()) };
        let failed = || LabError::system(format!("flow {}: UDP", flow.name));
        let socket = KernelSocket::udp().map_err(failed())?;
        mark(&socket, flow).map_err(failed())?;
        socket.connect(SocketAddrV4::new(address(leg.to), leg.port)).map_err(failed())?;
        let size = size.unwrap_or(1500).max(UDP_HEADERS);
        let stream = Stream::new(seed, &format!("flow.{}", flow.name));
        self.timers.push(Reverse((flow.start, Owner::Source(self.sources.len()))));
        self.sources.push(Source {
            socket,
            flow: leg.flow,
            interval: rate.time_for(size as u64),
            payload: (size - UDP_HEADERS) as usize,
            poisson: (arrival == Arrival::Poisson).then_some(stream),
            until: duration.map(|d| flow.start + d),
        });
        Ok(())
    }

    /// Plays until the scenario's end, or until told to stop.
    pub fn run(mut self, stop: &AtomicBool) -> Result<HostReport, LabError> {
        sys::be_punctual(None);
        std::thread::sleep(self.clock.until(Time::ZERO));
        let mut events: Vec<Event> = Vec::new();
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
            self.epoll.wait(wait, &mut events).map_err(LabError::system("waiting for sockets"))?;
            for &(token, read, write) in &events {
                match Owner::of(token) {
                    Owner::Connection(i) => self.handle_socket(i, read, write),
                    Owner::Listener(i) => self.handle_listener(i),
                    Owner::Sink(i) => self.handle_sink(i),
                    Owner::Source(_) | Owner::Leg(_) => {}
                }
            }
        }
        self.tick(self.end);
        for i in 0..self.connections.len() {
            self.account(i);
        }
        Ok(HostReport { series: self.series, notices: self.notices, _open: self.connections })
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
                Owner::Leg(leg) => self.open(leg, due),
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
                Owner::Listener(_) | Owner::Sink(_) => {}
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
        let socket = KernelSocket::tcp().map_err(failed())?;
        prepare(&socket, &self.scenario.hosts[self.host].stack, flow, leg, true)?;
        socket.connect(SocketAddrV4::new(address(leg.to), leg.port)).map_err(failed())?;
        let at = self.add(socket, i, true).map_err(failed())?;
        if leg.first {
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
        self.epoll.set(socket.fd(), Owner::Connection(at).token(), awaits.0, awaits.1, true)?;
        self.connections.push(Connection {
            socket,
            leg,
            opens,
            sends,
            up: !opens,
            dead: false,
            io: Counts::default(),
            client: Client::default(),
            server: AnsweringApp::default(),
            peer: None,
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
        let Ok(at) = accepted else { return };
        let l = &self.plan.legs[leg];
        if l.last {
            return;
        }
        // A relay: onward, and what one end reads the other writes.
        match self.try_open(leg + 1, Time::ZERO) {
            Ok(onward) => {
                self.connections[at].peer = Some((onward, l.buffer));
                self.connections[onward].peer = Some((at, l.buffer));
            }
            Err(e) => self.notices.push(e.to_string()),
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
            if self.plan.legs[c.leg].first {
                PlannedFlow::note(&flow.established, self.clock.now());
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
        let _ = self.epoll.set(c.socket.fd(), Owner::Connection(i).token(), false, false, false);
    }

    /// How many bytes an end may read now.
    fn room(&self, i: usize) -> usize {
        match self.connections[i].peer {
            None => CHUNK,
            Some((peer, buffer)) => {
                let peer = &self.connections[peer];
                let sent = peer.socket.unacknowledged().unwrap_or(0) as u64;
                buffer.saturating_sub(peer.io.to_write + sent).min(CHUNK as u64) as usize
            }
        }
    }

    fn read(&mut self, i: usize) {
        for _ in 0..CHUNKS {
            let room = self.room(i);
            if room == 0 || self.connections[i].dead {
                break;
            }
            let c = &mut self.connections[i];
            let n = match c.socket.discard(room) {
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
                c.client.handle_progress(self.clock.now(), flow, &mut c.io);
                self.arm(i);
            } else if !c.opens && leg.last {
                c.server.handle_progress(flow, &mut c.io);
            } else if let Some((peer, _)) = c.peer {
                self.connections[peer].io.to_write += n;
                self.write(peer);
            }
            if (n as usize) < room {
                break;
            }
        }
        self.await_events(i);
    }

    fn write(&mut self, i: usize) {
        let c = &mut self.connections[i];
        let mut wrote = false;
        for _ in 0..CHUNKS {
            if !c.up || c.dead || c.io.to_write == 0 {
                break;
            }
            let n = c.io.to_write.min(CHUNK as u64) as usize;
            match c.socket.send(&self.buffer[..n]) {
                Ok(taken) => {
                    c.io.to_write -= taken as u64;
                    c.io.written += taken as u64;
                    wrote = true;
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
        if wrote && let Some((peer, _)) = self.connections[i].peer {
            self.await_events(peer);
        }
    }

    /// Tells the event queue what this end waits for now.
    fn await_events(&mut self, i: usize) {
        let room = self.room(i) > 0;
        let c = &mut self.connections[i];
        let awaits = (room, !c.up || c.io.to_write > 0);
        if awaits != c.awaits && !c.dead {
            c.awaits = awaits;
            let _ = self.epoll.set(c.socket.fd(), Owner::Connection(i).token(), awaits.0, awaits.1, false);
        }
    }

    fn send_datagram(&mut self, i: usize, due: Time) {
        let s = &mut self.sources[i];
        let stamp = due.as_nanos().to_ne_bytes();
        let n = s.payload.min(self.buffer.len());
        if let Some(head) = self.buffer[..n].get_mut(..8) {
            head.copy_from_slice(&stamp);
        }
        // What the socket's buffer cannot take is lost, as on any full interface.
        let _ = s.socket.send(&self.buffer[..n]);
        self.plan.flows[s.flow].sent.fetch_add(1, Relaxed);
        let gap = s.poisson.as_mut().map_or(s.interval, |p| p.exponential(s.interval));
        let next = due + gap.max(Span::from_nanos(1));
        if s.until.is_none_or(|u| next < u) {
            self.timers.push(Reverse((next, Owner::Source(i))));
        }
    }

    fn handle_sink(&mut self, i: usize) {
        let mut stamp = [0; 8];
        let sink = &self.sinks[i];
        let flow = &self.plan.flows[sink.flow];
        for _ in 0..TURN {
            let Ok(n) = sink.socket.recv(&mut stamp) else { break };
            let now = self.clock.now().min(self.end);
            flow.take(now, n as u64);
            if n >= stamp.len() {
                flow.record(now, now.since(Time::from_nanos(u64::from_ne_bytes(stamp))));
            }
        }
    }

    /// Looks at the connections: RTTs, ends of flows, time series.
    fn tick(&mut self, now: Time) {
        self.next_tick = now + TICK;
        let n = self.connections.len();
        // No event tells that a relay's onward end was acknowledged and there is room again.
        for i in 0..n {
            if self.connections[i].peer.is_some() {
                self.await_events(i);
            }
        }
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
        let Some(info) = TcpInfo::of(&c.socket, leg.cc[usize::from(!c.opens)].name == "bbr") else { return };
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
            let c = self.connections.iter().find(mine);
            let stack = &self.scenario.hosts[self.host].stack;
            let point = Point {
                delivered: f.delivered.load(Relaxed),
                retransmitted: c.map_or(0, |c| c.info.total_retrans as u64),
                info: c.map(|c| c.info),
                opened: c.is_some_and(|c| c.opens),
                paced: c.is_some_and(|c| is_paced(stack, f, &self.plan.legs[c.leg], c.opens)),
                udp: f.is_udp(),
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
        if let Some(info) = TcpInfo::of(&c.socket, false) {
            if leg.is_outer(c.opens) && c.sends {
                flow.mss.store(info.snd_mss.into(), Relaxed);
            }
            flow.sent.fetch_add(info.data_segs_out as u64, Relaxed);
            flow.retransmitted.fetch_add(info.total_retrans as u64, Relaxed);
            flow.timeouts.fetch_add(info.total_rto as u64, Relaxed);
        }
    }
}
