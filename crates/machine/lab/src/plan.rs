//! A scenario's flows as legs of TCP connections and datagram streams, and the state that their threads
//! share.

use crate::LabError;
use crate::controls::{Controls, KernelControl};
use chains::ArrivalMeter;
use result::RttMeter;
use scenario::{Scenario, Tool};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use transport::{App, DatagramPattern, RequestPattern, Requester, Responder};
use units::{Rate, Span, Time};

/// Port of the first leg; each leg and datagram flow listens on its own port.
pub const FIRST_PORT: u16 = 5201;
/// Maximum number of legs: their ports stay below the ephemeral ports.
const MAX_LEGS: usize = 32_768 - FIRST_PORT as usize;

/// Marks a time that is not known yet.
const NEVER: u64 = u64::MAX;

/// One connection of a flow between two hosts, or a flow's datagrams.
pub struct Leg {
    pub flow: usize,
    /// Index of the flow's connection that the leg belongs to.
    pub connection: usize,
    /// Whether the leg starts at the flow's `from`, and whether it ends at its `to`.
    pub first: bool,
    pub last: bool,
    pub from: usize,
    pub to: usize,
    pub port: u16,
    /// Congestion control of the end that opens the connection, and of the other.
    pub cc: [KernelControl; 2],
    /// Index of the scenario's relay at the leg's end.
    pub relay: Option<usize>,
}

impl Leg {
    /// Whether the end that `is_opener` this leg, or the other end, belongs to the flow and not to a relay.
    pub fn is_outer(&self, is_opener: bool) -> bool {
        if is_opener { self.first } else { self.last }
    }

    /// Returns the host that records the flow's time series at its end of this leg, if any.
    pub fn shown(&self, flow: &PlannedFlow) -> Option<usize> {
        let answers = flow.answers();
        self.is_outer(!answers).then_some(if answers { self.to } else { self.from })
    }
}

/// One flow of the result, and the counters that its threads update.
pub struct PlannedFlow {
    /// Index of the scenario's flow.
    pub of: usize,
    pub name: String,
    pub from: usize,
    pub to: usize,
    /// The scenario's name of its congestion control; "udp" for datagrams.
    pub cc: String,
    /// The kernel's congestion control.
    pub control: KernelControl,
    pub dscp: u8,
    pub start: Time,
    pub app: App,
    /// Bytes of IP and UDP header per datagram.
    pub udp_header: u32,
    /// The program that generates the flow's traffic.
    pub tool: Option<Tool>,
    /// Connections that the program opens; 1 for longfat's own traffic.
    pub count: u32,
    pub max_pacing_rate: Option<Rate>,
    /// Whether the flow's sockets set their congestion control.
    pub chooses_control: bool,
    /// Start and end of the interval in which RTTs are counted.
    pub rtt_interval: [Time; 2],
    /// Payload bytes that the receiving application has read, in the direction that carries more.
    pub delivered: AtomicU64,
    /// Time of the last read.
    pub last_read: AtomicU64,
    /// Total bytes of a bulk transfer, once known.
    pub total: AtomicU64,
    pub established: AtomicU64,
    pub finished: AtomicU64,
    /// The responding end. The requesting end passes it the requests directly, because both are in one
    /// process.
    pub responder: Mutex<Option<Responder>>,
    /// The requesting end, after the run.
    pub requester: Mutex<Option<Requester>>,
    pub sent: AtomicU64,
    pub retransmitted: AtomicU64,
    pub timeouts: AtomicU64,
    /// MSS of the connection that represents the flow, in payload bytes; 0 before there is one.
    pub mss: AtomicU64,
    /// Data packets that the path dropped.
    pub lost: AtomicU64,
    /// The kernel's minimum RTT, ns.
    pub min_rtt: AtomicU64,
    /// Smoothed RTTs, one per tick in which an ACK arrived.
    pub rtts: Mutex<RttMeter>,
    /// Arrivals of datagrams.
    pub meter: Mutex<ArrivalMeter>,
}

impl PlannedFlow {
    pub fn is_udp(&self) -> bool {
        self.app.is_datagrams()
    }
    /// Returns the pattern of the flow's datagrams, if it sends any.
    pub fn datagrams(&self) -> Option<DatagramPattern> {
        self.app.datagrams(self.udp_header)
    }
    /// Whether the flow's `to` sends more than its `from`.
    pub fn answers(&self) -> bool {
        self.tool.is_none() && self.app.answers()
    }
    /// Returns the pattern of the flow's requests, if it sends any.
    pub fn asking(&self) -> Option<RequestPattern> {
        self.app.asking().filter(|_| self.tool.is_none())
    }
    /// Whether iperf3 generates the flow's traffic, also with a user's own command line.
    pub fn is_iperf3(&self) -> bool {
        match &self.tool {
            Some(Tool::Iperf3) => true,
            Some(Tool::Command { run, .. }) => run[0].rsplit('/').next() == Some("iperf3"),
            None => false,
        }
    }
    /// Whether the flow's packets can be recognised by their port.
    pub fn has_port(&self) -> bool {
        self.tool.as_ref().is_none_or(|t| t.uses("port"))
    }
    /// Sets a time unless it is already set.
    pub fn set_once(cell: &AtomicU64, now: Time) {
        let _ = cell.compare_exchange(NEVER, now.as_nanos(), Relaxed, Relaxed);
    }
    fn time(cell: &AtomicU64) -> Option<Time> {
        Some(cell.load(Relaxed)).filter(|&t| t != NEVER).map(Time::from_nanos)
    }
    /// Adds an RTT sample measured at `now`.
    pub fn record_rtt(&self, now: Time, sample: Span) {
        self.rtts.lock().unwrap_or_else(PoisonError::into_inner).record(now, sample, self.rtt_interval);
    }
    /// Records that the receiving application read `n` more bytes.
    pub fn add_read(&self, now: Time, n: u64) {
        self.delivered.fetch_add(n, Relaxed);
        self.last_read.fetch_max(now.as_nanos(), Relaxed);
    }
    /// Returns when the flow finished before the run's `end`: when the receiving application had read its
    /// last byte.
    pub fn finished_at(&self, end: Time) -> Option<Time> {
        let last_read = || Time::from_nanos(self.last_read.load(Relaxed));
        match self.app {
            _ if self.tool.is_some() => PlannedFlow::time(&self.finished),
            App::Bulk { .. } => (self.delivered.load(Relaxed) >= self.total.load(Relaxed)).then(last_read),
            _ if self.is_udp() => {
                let duration = self.datagrams().and_then(|pattern| pattern.duration);
                let until = duration.map(|d| self.start + d).filter(|&until| until <= end);
                until.map(|until| until.max(last_read()))
            }
            _ => PlannedFlow::time(&self.finished),
        }
    }
    /// Returns the duration of the flow, at most until the run's `end`.
    pub fn active(&self, end: Time) -> Span {
        let from = PlannedFlow::time(&self.established).unwrap_or(self.start);
        self.finished_at(end).unwrap_or(end).since(from)
    }
}

/// All flows of a run.
pub struct FlowPlan {
    pub flows: Vec<PlannedFlow>,
    pub legs: Vec<Leg>,
    /// Address of each host that flows use.
    pub addresses: Vec<IpAddr>,
}

impl FlowPlan {
    /// Plans the scenario's flows, or only the flow `only`.
    pub fn new(scenario: &Scenario, only: Option<usize>, controls: &Controls) -> Result<FlowPlan, LabError> {
        let addresses = (0..scenario.hosts.len()).map(|host| scenario.address(host)).collect();
        let mut plan = FlowPlan { flows: Vec::new(), legs: Vec::new(), addresses };
        for (i, f) in scenario.flows.iter().enumerate() {
            if only.is_none_or(|o| o == i) {
                // A program runs all its connections as one flow.
                for n in 0..if f.tool.is_some() { 1 } else { f.count } {
                    plan.add(scenario, i, n, controls)?;
                }
            }
        }
        Ok(plan)
    }

    /// Returns the flows of longfat's own that start or end at a host.
    fn own_flows(&self, host: usize) -> impl Iterator<Item = &PlannedFlow> {
        let is_own = move |l: &&Leg| l.first && l.from == host || l.last && l.to == host;
        let legs = self.legs.iter().filter(is_own);
        legs.map(|l| &self.flows[l.flow]).filter(|f| f.tool.is_none())
    }

    /// Whether a host has traffic of longfat's own.
    pub fn has_own_traffic(&self, host: usize) -> bool {
        self.own_flows(host).next().is_some()
    }

    /// Whether this traffic includes TCP connections.
    pub fn has_own_tcp(&self, host: usize) -> bool {
        self.own_flows(host).any(|f| !f.is_udp())
    }

    /// Returns the flow that one of these ports belongs to.
    pub fn flow_of(&self, ports: [u16; 2]) -> Option<&PlannedFlow> {
        self.leg_of(ports).map(|leg| &self.flows[leg.flow])
    }

    /// Returns the leg that one of these ports belongs to.
    pub fn leg_of(&self, ports: [u16; 2]) -> Option<&Leg> {
        let leg = |port: u16| self.legs.get(port.checked_sub(FIRST_PORT)? as usize);
        ports.into_iter().find_map(leg)
    }

    /// Adds the legs of one connection of the next flow, via its relays.
    fn connect(
        &mut self,
        scenario: &Scenario,
        of: usize,
        connection: usize,
        controls: &Controls,
    ) -> Result<(), LabError> {
        let (f, flow) = (&scenario.flows[of], self.flows.len());
        let (mut at, mut cc) = (f.from, f.cc);
        let stops = f.via.iter().map(|&r| Some(&scenario.relays[r])).chain([None]);
        for (i, relay) in stops.enumerate() {
            let to = relay.map_or(f.to, |r| r.host);
            if self.legs.len() >= MAX_LEGS {
                return Err(LabError::unsupported("flows", format!("more than {MAX_LEGS} connections")));
            }
            self.legs.push(Leg {
                flow,
                connection,
                first: i == 0,
                last: relay.is_none(),
                from: at,
                to,
                port: FIRST_PORT + self.legs.len() as u16,
                cc: [cc, f.cc].map(|cc| controls.find(cc)),
                relay: f.via.get(i).copied(),
            });
            at = to;
            cc = relay.and_then(|r| r.cc).unwrap_or(f.cc);
        }
        Ok(())
    }

    fn add(&mut self, scenario: &Scenario, of: usize, n: u32, controls: &Controls) -> Result<(), LabError> {
        let f = &scenario.flows[of];
        let udp = f.app.is_datagrams();
        let asking = f.app.asking().filter(|_| f.tool.is_none());
        for connection in 0..asking.map_or(1, |a| a.connections as usize) {
            self.connect(scenario, of, connection, controls)?;
        }
        self.flows.push(PlannedFlow {
            of,
            name: if f.count == 1 || f.tool.is_some() {
                f.name.clone()
            } else {
                format!("{}-{}", f.name, n + 1)
            },
            from: f.from,
            to: f.to,
            cc: if udp { "udp".into() } else { f.cc.name().to_string() },
            control: controls.find(f.cc),
            dscp: f.dscp,
            start: Time::ZERO + f.start + f.stagger * n as u64,
            app: f.app.clone(),
            udp_header: scenario.udp_header(f.to),
            tool: f.tool.clone(),
            count: if f.tool.is_some() { f.count } else { 1 },
            max_pacing_rate: f.max_pacing_rate,
            chooses_control: true,
            rtt_interval: scenario.measure.unwrap_or([Span::ZERO, scenario.duration]).map(|t| Time::ZERO + t),
            delivered: AtomicU64::new(0),
            last_read: AtomicU64::new(0),
            total: AtomicU64::new(NEVER),
            established: AtomicU64::new(NEVER),
            finished: AtomicU64::new(NEVER),
            responder: Mutex::new(asking.map(Responder::new)),
            requester: Mutex::new(None),
            sent: AtomicU64::new(0),
            retransmitted: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            mss: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            min_rtt: AtomicU64::new(NEVER),
            rtts: Mutex::default(),
            meter: Mutex::new(ArrivalMeter::new(&f.app)),
        });
        Ok(())
    }
}
