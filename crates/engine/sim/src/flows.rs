//! The flows of a scenario as connections (one per leg between relays), datagram sources and applications.

use crate::datagrams::UdpFlow;
use crate::end_id::EndId;
use congestion::{Control, Controller};
use scenario::Scenario;
use std::ops::Range;
use transport::{Application, Limits, Sender, Side, Stack, Tcp, UDP_HEADER, UdpSource};
use units::{Span, Stream, Time};

/// Makes the controller of one end of a flow's connection; called with the flow (an index of the scenario's
/// flows) and the end's side. `None` selects the scenario's controller. Ends at relays always have the
/// scenario's.
pub type OwnControls<'a> = dyn Fn(usize, Side) -> Option<Box<dyn Controller>> + Sync + 'a;

/// A TCP flow: the connections of its legs, and its application.
pub struct TcpFlow {
    /// Indexes of the legs, those of the first connection first.
    pub legs: Range<u32>,
    /// Number of legs per connection, with a relay between two.
    pub hops: u32,
    pub app: Application,
    /// The side that sends more.
    pub sending: Side,
    /// Buffer sizes of the relays between the legs, bytes.
    pub buffers: Vec<u64>,
}

impl TcpFlow {
    /// The outer ends of the flow's connections on one side, in order.
    pub fn outer_ends(&self, side: Side) -> impl Iterator<Item = EndId> + use<> {
        let (first, hops) = (self.legs.start, self.hops);
        let connections = (self.legs.end - first) / hops;
        let leg = first + if side == Side::Client { 0 } else { hops - 1 };
        (0..connections).map(move |n| EndId::new(leg + n * hops, side))
    }

    /// The ends of all legs: for each leg the client's, then the server's.
    pub fn ends(&self) -> impl Iterator<Item = EndId> + use<> {
        self.legs.clone().flat_map(|leg| [Side::Client, Side::Server].map(|side| EndId::new(leg, side)))
    }

    /// The outer ends on the side that sends more.
    pub fn senders(&self) -> impl Iterator<Item = EndId> + use<> {
        self.outer_ends(self.sending)
    }

    /// The outer ends on the side that receives more.
    pub fn receivers(&self) -> impl Iterator<Item = EndId> + use<> {
        self.outer_ends(if self.sending == Side::Client { Side::Server } else { Side::Client })
    }

    /// The number of the connection that a leg belongs to, and that connection's legs.
    #[inline]
    pub fn connection_of(&self, leg: u32) -> (usize, Range<u32>) {
        // Nearly all flows have one connection: avoid the division.
        if self.legs.end - self.legs.start == self.hops {
            return (0, self.legs.clone());
        }
        let n = (leg - self.legs.start) / self.hops;
        let first = self.legs.start + n * self.hops;
        (n as usize, first..first + self.hops)
    }
}

// The variant that every segment reads is stored inline; datagram flows are rarer.
/// The parts of a simulated flow.
#[expect(clippy::large_enum_variant)]
pub enum FlowKind {
    Tcp(TcpFlow),
    Udp(Box<UdpFlow>),
}

/// One flow of the result.
pub struct SimFlow {
    pub name: String,
    /// Index of the scenario's flow that it belongs to.
    pub scenario_flow: u32,
    pub from: u32,
    pub cc: String,
    pub start: Time,
    pub started: bool,
    pub kind: FlowKind,
}

/// What the packets of a directed flow have in common.
#[derive(Clone, Copy)]
pub struct DirectedFlow {
    /// The flow that they belong to.
    pub flow: u32,
    /// Source host.
    pub from: u32,
    /// Destination host.
    pub to: u32,
    /// Header bytes in excess of IPv4's.
    pub extra_header: u32,
    pub dscp: u8,
}

/// All flows. Directed flow numbers start with those of the ends ([`EndId::number`]). Datagram flows follow,
/// with one number each, and another for the answers of a flow that has them.
pub struct SimFlows {
    pub flows: Vec<SimFlow>,
    pub ends: Vec<Tcp>,
    /// By directed flow number.
    pub directed: Vec<DirectedFlow>,
    /// Flow of each connection.
    pub flow_of_connection: Vec<u32>,
    /// Time at which the client of each connection was established.
    pub established: Vec<Option<Time>>,
}

/// Size of a segment as an IPv4 packet, bytes; for UDP the size that its source states, plus the UDP header.
pub fn ip_bytes(udp: bool, seg: &transport::Segment) -> u32 {
    if udp { UDP_HEADER + seg.len } else { seg.ip_bytes() }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    /// Index of the scenario's flow that is being built.
    scenario_flow: usize,
    controls: Option<&'a OwnControls<'a>>,
    /// Name of the caller's controller for the flow that is being built, if it replaces the scenario's.
    own_control: Option<&'static str>,
    out: SimFlows,
    /// Datagram flows with their destination hosts.
    udp: Vec<(u32, u32)>,
    /// Begin of each fault, and begin of the next fault or end of the run.
    faults: Vec<[Time; 2]>,
}

/// A connection between two hosts, which may be relays or the flow's outer ends.
struct ConnectionLeg<'a> {
    name: &'a str,
    /// Congestion control of the client's end and of the server's.
    cc: [Control; 2],
    hosts: [usize; 2],
    /// For each end, whether it is an outer end of the flow, and not a relay's.
    is_outer: [bool; 2],
}

impl Builder<'_> {
    /// The caller's controller for an outer end of the flow that is being built.
    fn own_control(&mut self, side: usize) -> Option<Box<dyn Controller>> {
        let make = self.controls?;
        let made = make(self.scenario_flow, if side == 0 { Side::Client } else { Side::Server })?;
        if side == 0 {
            self.own_control = Some(made.name());
        }
        Some(made)
    }

    /// Adds a directed flow between two hosts.
    fn direct(&mut self, flow: usize, from: usize, to: usize) {
        self.out.directed.push(DirectedFlow {
            flow: flow as u32,
            from: from as u32,
            to: to as u32,
            extra_header: self.scenario.extra_ip_header(to),
            dscp: self.scenario.flows[self.scenario_flow].dscp,
        });
    }

    fn connect(&mut self, flow: usize, leg: ConnectionLeg<'_>, pacing: Option<units::Rate>) {
        let [from, to] = leg.hosts;
        // The connection does not see the bytes by which an IPv6 header exceeds an IPv4 header.
        let mtu = self.scenario.mtu(from, to) - self.scenario.extra_ip_header(to);
        for (side, (here, there)) in [(from, to), (to, from)].into_iter().enumerate() {
            let stack: &Stack = &self.scenario.hosts[here].stack;
            let limits: Limits = stack.own_limits(mtu, pacing);
            let stream = format!("flow.{}.{side}", leg.name);
            let own = if leg.is_outer[side] { self.own_control(side) } else { None };
            let control = own.unwrap_or_else(|| leg.cc[side].make(self.seed, &stream));
            self.out.ends.push(Tcp::new(limits, control));
            self.direct(flow, here, there);
        }
        self.out.flow_of_connection.push(flow as u32);
        self.out.established.push(None);
    }

    /// Adds one connection of a flow, with a leg per relay.
    fn connection(&mut self, index: usize, f: &scenario::Flow, name: &str) {
        let first = self.out.flow_of_connection.len();
        let (mut at, mut cc) = (f.from, f.cc);
        for (n, &r) in f.via.iter().enumerate() {
            let relay = &self.scenario.relays[r];
            let leg = format!("{name}.{n}");
            let hosts = [at, relay.host];
            self.connect(
                index,
                ConnectionLeg { name: &leg, cc: [cc, f.cc], hosts, is_outer: [n == 0, false] },
                f.max_pacing_rate,
            );
            at = relay.host;
            cc = relay.cc.unwrap_or(f.cc);
        }
        let is_outer = [f.via.is_empty(), true];
        self.connect(
            index,
            ConnectionLeg { name, cc: [cc, f.cc], hosts: [at, f.to], is_outer },
            f.max_pacing_rate,
        );
        // At relays, received data is read by the relay instead of the application.
        let last = self.out.flow_of_connection.len() - 1;
        for leg in first..=last {
            let end = |side| EndId::new(leg as u32, side).index();
            self.out.ends[end(Side::Client)].rx.auto_read = leg == first;
            self.out.ends[end(Side::Server)].rx.auto_read = leg == last;
        }
    }

    fn add(&mut self, scenario_flow: u32, i: u32) {
        self.scenario_flow = scenario_flow as usize;
        let f = &self.scenario.flows[scenario_flow as usize];
        let index = self.out.flows.len();
        let name = if f.count == 1 { f.name.clone() } else { format!("{}-{}", f.name, i + 1) };
        let start = Time::ZERO + f.start + f.stagger * i as u64;
        let kind = match f.app.datagrams(self.scenario.udp_header(f.to)) {
            Some(pattern) => {
                let stream = Stream::new(self.seed, &format!("flow.{name}"));
                self.udp.push((index as u32, f.to as u32));
                let source = UdpSource::new(&pattern, start, stream);
                FlowKind::Udp(Box::new(UdpFlow::new(&f.app, source, pattern.answered, start, &self.faults)))
            }
            None => {
                let first = self.out.flow_of_connection.len() as u32;
                let sending = if f.app.answers() { Side::Server } else { Side::Client };
                let app = Application::new(f.app.clone());
                self.connection(index, f, &name);
                for n in 1..app.connections() {
                    self.connection(index, f, &format!("{name}/{n}"));
                }
                let legs = first..self.out.flow_of_connection.len() as u32;
                let hops = f.via.len() as u32 + 1;
                let buffers = f.via.iter().map(|&r| self.scenario.relays[r].buffer.get()).collect();
                FlowKind::Tcp(TcpFlow { legs, hops, app, sending, buffers })
            }
        };
        let cc = if matches!(kind, FlowKind::Udp(_)) {
            "udp"
        } else {
            self.own_control.take().unwrap_or(f.cc.name())
        };
        self.out.flows.push(SimFlow {
            name,
            scenario_flow,
            from: f.from as u32,
            cc: cc.to_string(),
            start,
            started: false,
            kind,
        });
    }
}

impl SimFlows {
    /// Source and destination host of packets with this directed flow number.
    pub fn hosts_of(&self, number: u32) -> (usize, usize) {
        let DirectedFlow { from, to, .. } = self.directed[number as usize];
        (from as usize, to as usize)
    }

    /// Builds the scenario's flows, or only the one with index `only`.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        only: Option<usize>,
        controls: Option<&OwnControls<'_>>,
    ) -> SimFlows {
        let out = SimFlows {
            flows: Vec::new(),
            ends: Vec::new(),
            directed: Vec::new(),
            flow_of_connection: Vec::new(),
            established: Vec::new(),
        };
        let faults = chains::spans(scenario);
        let mut b = Builder {
            scenario,
            seed,
            scenario_flow: 0,
            controls,
            own_control: None,
            out,
            udp: Vec::new(),
            faults,
        };
        for (i, f) in scenario.flows.iter().enumerate() {
            if only.is_none_or(|o| o == i) {
                for n in 0..f.count {
                    b.add(i as u32, n);
                }
            }
        }
        for (flow, to) in std::mem::take(&mut b.udp) {
            let from = b.out.flows[flow as usize].from;
            let FlowKind::Udp(u) = &mut b.out.flows[flow as usize].kind else { continue };
            u.number = b.out.directed.len() as u32;
            let answered = u.answered;
            b.scenario_flow = b.out.flows[flow as usize].scenario_flow as usize;
            for (from, to) in [(from, to), (to, from)].into_iter().take(1 + answered as usize) {
                b.direct(flow as usize, from as usize, to as usize);
            }
        }
        b.out
    }

    /// The sender that a flow's time series show: on the side that sends more, that of the connection that
    /// carries most.
    pub fn main_sender(&self, flow: &TcpFlow) -> &Sender {
        &self.main_end(flow).tx
    }

    /// The end of [`SimFlows::main_sender`].
    pub fn main_end(&self, flow: &TcpFlow) -> &Tcp {
        // Of connections that have carried equally much, take the first.
        let ends = flow.senders().map(|end| &self.ends[end.index()]);
        let most = ends.reduce(|most, end| if end.tx.s.snd_una > most.tx.s.snd_una { end } else { most });
        most.unwrap_or(&self.ends[EndId::new(flow.legs.start, Side::Client).index()])
    }

    /// Retransmitted packets of all senders on the side that sends more.
    pub fn retransmitted(&self, flow: &TcpFlow) -> u64 {
        flow.senders().map(|end| self.ends[end.index()].tx.stats.retransmitted).sum()
    }

    /// Makes every sender record its retransmissions.
    pub fn record_retransmissions(&mut self) {
        for flow in &self.flows {
            if let FlowKind::Tcp(t) = &flow.kind {
                for end in t.ends() {
                    self.ends[end.index()].tx.retransmissions = Some(Vec::new());
                }
            }
        }
    }

    /// Payload delivered to the receiving application so far, in the direction that carries more, bytes.
    pub fn delivered(&self, flow: &SimFlow) -> u64 {
        match &flow.kind {
            FlowKind::Udp(u) => u.received_bytes,
            FlowKind::Tcp(t) => t.receivers().map(|end| self.ends[end.index()].rx.copied).sum(),
        }
    }

    /// Time at which a flow was done: its last byte had reached the receiving application. `None` before.
    pub fn done(&self, flow: &SimFlow) -> Option<Time> {
        match &flow.kind {
            FlowKind::Udp(u) => u.source.ended().map(|end| end.max(u.last)),
            FlowKind::Tcp(t) => t.app.finished,
        }
    }

    /// Lifetime of a flow in a run that was simulated until `end`.
    pub fn active(&self, flow: &SimFlow, end: Time) -> Span {
        let from = match &flow.kind {
            FlowKind::Udp(_) => None,
            FlowKind::Tcp(t) => self.established[t.legs.start as usize],
        };
        self.done(flow).unwrap_or(end).since(from.unwrap_or(flow.start))
    }
}
