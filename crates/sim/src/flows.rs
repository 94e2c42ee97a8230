//! A scenario's flows as connections (a leg between relays each), datagram sources and applications.

use congestion::Control;
use scenario::Scenario;
use std::ops::Range;
use transport::{App, Application, Limits, Sender, Stack, Tcp, UDP_HEADER, UdpSource};
use units::{Span, Stream, Time};

/// Size of a datagram's IP packet where its flow does not say it.
const DATAGRAM: u32 = 1500;

/// A TCP flow: its legs' connections and its application.
pub struct TcpFlow {
    /// Connections `legs.start..legs.end`; between them a relay each.
    pub legs: Range<u32>,
    pub app: Application,
    /// Which of a connection's two ends, 0 or 1, is on the side that sends more.
    pub sending: u32,
    /// Buffers of the relays between the legs.
    pub buffers: Vec<u64>,
}

impl TcpFlow {
    /// The flow's outer end at its `from` (0) or its `to` (1).
    pub fn outer(&self, side: u32) -> usize {
        (if side == 0 { 2 * self.legs.start } else { 2 * self.legs.end - 1 }) as usize
    }
}

/// A datagram flow.
pub struct UdpFlow {
    pub source: UdpSource,
    /// Its directed flow number.
    pub number: u32,
    pub received: u64,
    pub received_bytes: u64,
    /// When the last arrived.
    pub last: Time,
}

/// What a flow is made of.
pub enum FlowKind {
    Tcp(TcpFlow),
    Udp(UdpFlow),
}

/// One flow of the result.
pub struct SimFlow {
    pub name: String,
    /// Which of the scenario's flows it is (one of).
    pub of: u32,
    pub from: u32,
    pub cc: String,
    pub dscp: u8,
    pub start: Time,
    pub started: bool,
    pub kind: FlowKind,
}

/// All flows. Connection `c` has ends `2c` (client) and `2c + 1` (server) and directed flows of
/// the same numbers; datagram flows follow, one number each.
pub struct SimFlows {
    pub flows: Vec<SimFlow>,
    pub ends: Vec<Tcp>,
    /// Host of each end.
    pub host: Vec<u32>,
    /// Flow of each connection.
    pub owner: Vec<u32>,
    /// Flow of each directed flow number.
    pub of: Vec<u32>,
    /// Destination host of each directed flow number.
    pub destination: Vec<u32>,
    /// When each connection's client was established.
    pub established: Vec<Option<Time>>,
}

/// A UDP packet is as big as its source says.
pub fn ip_bytes(udp: bool, seg: &transport::Segment) -> u32 {
    if udp { UDP_HEADER + seg.len } else { seg.ip_bytes() }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    out: SimFlows,
    udp: Vec<(u32, u32)>,
}

impl Builder<'_> {
    fn connect(
        &mut self,
        flow: usize,
        name: &str,
        cc: [Control; 2],
        from: usize,
        to: usize,
        pacing: Option<units::Rate>,
    ) {
        let mtu = self.scenario.mtu(from, to);
        let stack = |h: usize| -> &Stack { &self.scenario.hosts[h].stack };
        for (side, (here, there)) in [(from, to), (to, from)].into_iter().enumerate() {
            let limits: Limits = stack(here).own_limits(mtu, pacing);
            let stream = format!("flow.{name}.{side}");
            self.out.ends.push(Tcp::new(limits, cc[side].make(self.seed, &stream)));
            self.out.host.push(here as u32);
            self.out.of.push(flow as u32);
            self.out.destination.push(there as u32);
        }
        self.out.owner.push(flow as u32);
        self.out.established.push(None);
    }

    fn add(&mut self, of: u32, i: u32) {
        let f = &self.scenario.flows[of as usize];
        let index = self.out.flows.len();
        let name = if f.count == 1 { f.name.clone() } else { format!("{}-{}", f.name, i + 1) };
        let start = Time::ZERO + f.start + f.stagger * i as u64;
        let kind = match &f.app {
            App::Udp { rate, size, arrival, duration } => {
                let stream = Stream::new(self.seed, &format!("flow.{name}"));
                let source =
                    UdpSource::new(*rate, size.unwrap_or(DATAGRAM), *arrival, start, *duration, stream);
                self.udp.push((index as u32, f.to as u32));
                FlowKind::Udp(UdpFlow { source, number: 0, received: 0, received_bytes: 0, last: start })
            }
            app => {
                let first = self.out.owner.len() as u32;
                let mut at = f.from;
                let mut buffers = Vec::new();
                let mut cc = f.cc;
                for (n, &r) in f.via.iter().enumerate() {
                    let relay = &self.scenario.relays[r];
                    self.connect(
                        index,
                        &format!("{name}.{n}"),
                        [cc, f.cc],
                        at,
                        relay.host,
                        f.max_pacing_rate,
                    );
                    buffers.push(relay.buffer.get());
                    at = relay.host;
                    cc = relay.cc.unwrap_or(f.cc);
                }
                self.connect(index, &name, [cc, f.cc], at, f.to, f.max_pacing_rate);
                let legs = first..self.out.owner.len() as u32;
                // What a relay receives it hands on itself.
                for c in legs.start..legs.end {
                    if c > legs.start {
                        self.out.ends[2 * c as usize].rx.auto_read = false;
                    }
                    if c + 1 < legs.end {
                        self.out.ends[2 * c as usize + 1].rx.auto_read = false;
                    }
                }
                let (sending, app) = (app.answers().into(), Application::new(app.clone()));
                FlowKind::Tcp(TcpFlow { legs, app, sending, buffers })
            }
        };
        let cc = if matches!(kind, FlowKind::Udp(_)) { "udp".into() } else { f.cc.name().to_string() };
        self.out.flows.push(SimFlow {
            name,
            of,
            from: f.from as u32,
            cc,
            dscp: f.dscp,
            start,
            started: false,
            kind,
        });
    }
}

impl SimFlows {
    /// Source and destination host of a directed flow number's connection or datagrams.
    pub fn ends_of(&self, number: u32) -> (usize, usize) {
        let number = number as usize;
        let from = match self.host.get(number) {
            Some(&host) => host,
            None => self.flows[self.of[number] as usize].from,
        };
        (from as usize, self.destination[number] as usize)
    }

    /// Builds the scenario's flows; `only`: just that one (an index into the scenario's).
    pub fn new(scenario: &Scenario, seed: u64, only: Option<usize>) -> SimFlows {
        let out = SimFlows {
            flows: Vec::new(),
            ends: Vec::new(),
            host: Vec::new(),
            owner: Vec::new(),
            of: Vec::new(),
            destination: Vec::new(),
            established: Vec::new(),
        };
        let mut b = Builder { scenario, seed, out, udp: Vec::new() };
        for (i, f) in scenario.flows.iter().enumerate() {
            if only.is_none_or(|o| o == i) {
                for n in 0..f.count {
                    b.add(i as u32, n);
                }
            }
        }
        for (flow, to) in std::mem::take(&mut b.udp) {
            if let FlowKind::Udp(u) = &mut b.out.flows[flow as usize].kind {
                u.number = b.out.of.len() as u32;
            }
            b.out.of.push(flow);
            b.out.destination.push(to);
        }
        b.out
    }

    /// The sender that a flow's time series show: at the side that sends more.
    pub fn main_sender(&self, flow: &TcpFlow) -> &Sender {
        &self.ends[flow.outer(flow.sending)].tx
    }

    /// Has every such sender keep its retransmissions.
    pub fn keep_resent(&mut self) {
        for flow in &self.flows {
            if let FlowKind::Tcp(t) = &flow.kind {
                self.ends[t.outer(t.sending)].tx.again = Some(Vec::new());
            }
        }
    }

    /// Payload delivered to the receiving application so far, of the direction in which the flow sends more.
    pub fn delivered(&self, flow: &SimFlow) -> u64 {
        match &flow.kind {
            FlowKind::Udp(u) => u.received_bytes,
            FlowKind::Tcp(t) => self.ends[t.outer(1 - t.sending)].rx.copied,
        }
    }

    /// When a flow was done: its last byte was with the receiving application.
    pub fn done(&self, flow: &SimFlow) -> Option<Time> {
        match &flow.kind {
            FlowKind::Udp(u) => u.source.ended().map(|end| end.max(u.last)),
            FlowKind::Tcp(t) => t.app.finished,
        }
    }

    /// A flow's own time, in a run that came to `end`.
    pub fn active(&self, flow: &SimFlow, end: Time) -> Span {
        let from = match &flow.kind {
            FlowKind::Udp(_) => None,
            FlowKind::Tcp(t) => self.established[t.legs.start as usize],
        };
        self.done(flow).unwrap_or(end).since(from.unwrap_or(flow.start))
    }
}
