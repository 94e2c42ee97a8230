//! A scenario's flows as legs of TCP connections and datagram streams, and what their threads share.

use crate::LabError;
use crate::controls::{Controls, InKernel};
use chains::ArrivalMeter;
use result::RttMeter;
use scenario::{Scenario, Tool};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use transport::{Answerer, App, Asker, Asking, DatagramPattern};
use units::{Rate, Span, Time};

/// First port; each leg and datagram flow listens on its own.
pub const FIRST_PORT: u16 = 5201;
/// Below the ports that clients get.
const MOST: usize = 32_768 - FIRST_PORT as usize;

/// No time yet.
const NEVER: u64 = u64::MAX;

/// A connection of a flow, or its datagrams.
pub struct Leg {
    /// Index of the flow.
    pub flow: usize,
    /// Which of the flow's connections it belongs to.
    pub connection: usize,
    /// Whether it begins at the flow's `from` and ends at its `to`.
    pub first: bool,
    pub last: bool,
    pub from: usize,
    pub to: usize,
    pub port: u16,
    /// Congestion control of the side that opens and of the other.
    pub cc: [InKernel; 2],
    /// The relay at its end, of the scenario's.
    pub relay: Option<usize>,
}

impl Leg {
    /// Whether the end that `opens` this leg, or the other, is the flow's own and not a relay's.
    pub fn is_outer(&self, opens: bool) -> bool {
        if opens { self.first } else { self.last }
    }

    /// The host whose end of this leg the flow's time series show, if they show one of it.
    pub fn shown(&self, flow: &PlannedFlow) -> Option<usize> {
        let answers = flow.answers();
        self.is_outer(!answers).then_some(if answers { self.to } else { self.from })
    }
}

/// One flow of the result, and what its threads report.
pub struct PlannedFlow {
    /// Index of the scenario's flow.
    pub of: usize,
    pub name: String,
    pub from: usize,
    pub to: usize,
    /// The scenario's name of its congestion control; "udp" of datagrams.
    pub cc: String,
    /// What the kernel has for it.
    pub control: InKernel,
    pub dscp: u8,
    pub start: Time,
    pub app: App,
    /// Bytes of IP and UDP header of its datagrams, if they are what it sends.
    pub udp_header: u32,
    /// The program that plays it.
    pub tool: Option<Tool>,
    /// Connections that the program is to open; 1 of what longfat plays.
    pub count: u32,
    pub max_pacing_rate: Option<Rate>,
    /// Whether its sockets say which congestion control they want.
    pub chooses_control: bool,
    /// RTTs count from the first of these times to the second.
    pub counted: [Time; 2],
    /// Payload that the receiving application has read, of the direction in which the flow sends more.
    pub delivered: AtomicU64,
    /// When it last read some.
    pub last_read: AtomicU64,
    /// Bytes of the stream in all, once nothing more will be written; of a bulk transfer.
    pub total: AtomicU64,
    pub established: AtomicU64,
    pub finished: AtomicU64,
    /// Who answers its requests: told of them by those who ask, which in one process need not write them down.
    pub answerer: Mutex<Option<Answerer>>,
    /// Who asked, when the run is over.
    pub asker: Mutex<Option<Asker>>,
    pub sent: AtomicU64,
    pub retransmitted: AtomicU64,
    pub timeouts: AtomicU64,
    /// Payload bytes of a full segment of the connection that stands for the flow; 0 before there is one.
    pub mss: AtomicU64,
    /// Data packets the path dropped.
    pub lost: AtomicU64,
    /// The kernel's own smallest RTT, ns.
    pub min_rtt: AtomicU64,
    /// Smoothed RTT, once a tick in which something was acknowledged.
    pub rtts: Mutex<RttMeter>,
    /// What is noted of datagrams.
    pub meter: Mutex<ArrivalMeter>,
}

impl PlannedFlow {
    pub fn is_udp(&self) -> bool {
        self.app.is_datagrams()
    }
    /// The datagrams that it sends, if it does.
    pub fn datagrams(&self) -> Option<DatagramPattern> {
        self.app.datagrams(self.udp_header)
    }
    /// Whether its `to` sends more than its `from`.
    pub fn answers(&self) -> bool {
        self.tool.is_none() && self.app.answers()
    }
    /// What it asks for, if it does.
    pub fn asking(&self) -> Option<Asking> {
        self.app.asking().filter(|_| self.tool.is_none())
    }
    /// Whether iperf3 plays it, be it by a command line of the user's own.
    pub fn is_iperf3(&self) -> bool {
        match &self.tool {
            Some(Tool::Iperf3) => true,
            Some(Tool::Command { run, .. }) => run[0].rsplit('/').next() == Some("iperf3"),
            None => false,
        }
    }
    /// Whether its packets are known by their port.
    pub fn has_port(&self) -> bool {
        self.tool.as_ref().is_none_or(|t| t.uses("port"))
    }
    /// Notes a time, the first time it is told.
    pub fn note(cell: &AtomicU64, now: Time) {
        let _ = cell.compare_exchange(NEVER, now.as_nanos(), Relaxed, Relaxed);
    }
    fn time(cell: &AtomicU64) -> Option<Time> {
        Some(cell.load(Relaxed)).filter(|&t| t != NEVER).map(Time::from_nanos)
    }
    /// Adds a sample that was measured at `now`.
    pub fn record(&self, now: Time, sample: Span) {
        self.rtts.lock().unwrap_or_else(PoisonError::into_inner).record(now, sample, self.counted);
    }
    /// The receiving application has read `n` bytes more.
    pub fn take(&self, now: Time, n: u64) {
        self.delivered.fetch_add(n, Relaxed);
        self.last_read.fetch_max(now.as_nanos(), Relaxed);
    }
    /// When it was done, by the run's `end`: its last byte was with the receiving application.
    pub fn done(&self, end: Time) -> Option<Time> {
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
    /// Its own time, by the run's `end`.
    pub fn active(&self, end: Time) -> Span {
        let from = PlannedFlow::time(&self.established).unwrap_or(self.start);
        self.done(end).unwrap_or(end).since(from)
    }
}

/// Everything that is to flow.
pub struct FlowPlan {
    pub flows: Vec<PlannedFlow>,
    pub legs: Vec<Leg>,
    /// By host the address that flows use.
    pub addresses: Vec<IpAddr>,
}

impl FlowPlan {
    /// Of the scenario's flows, or of that one alone.
    pub fn new(scenario: &Scenario, only: Option<usize>, controls: &Controls) -> Result<FlowPlan, LabError> {
        let addresses = (0..scenario.hosts.len()).map(|host| scenario.address(host)).collect();
        let mut plan = FlowPlan { flows: Vec::new(), legs: Vec::new(), addresses };
        for (i, f) in scenario.flows.iter().enumerate() {
            if only.is_none_or(|o| o == i) {
                // A program plays all its connections as one flow.
                for n in 0..if f.tool.is_some() { 1 } else { f.count } {
                    plan.add(scenario, i, n, controls)?;
                }
            }
        }
        Ok(plan)
    }

    /// The flows that begin or end at a host and that no program plays.
    fn played(&self, host: usize) -> impl Iterator<Item = &PlannedFlow> {
        let own = move |l: &&Leg| l.first && l.from == host || l.last && l.to == host;
        let legs = self.legs.iter().filter(own);
        legs.map(|l| &self.flows[l.flow]).filter(|f| f.tool.is_none())
    }

    /// Whether a host has traffic of ours.
    pub fn plays(&self, host: usize) -> bool {
        self.played(host).next().is_some()
    }

    /// Whether connections are among it.
    pub fn connects(&self, host: usize) -> bool {
        self.played(host).any(|f| !f.is_udp())
    }

    /// The flow that one of these ports belongs to.
    pub fn flow_of(&self, ports: [u16; 2]) -> Option<&PlannedFlow> {
        self.leg_of(ports).map(|leg| &self.flows[leg.flow])
    }

    /// The leg that one of these ports belongs to.
    pub fn leg_of(&self, ports: [u16; 2]) -> Option<&Leg> {
        let leg = |port: u16| self.legs.get(port.checked_sub(FIRST_PORT)? as usize);
        ports.into_iter().find_map(leg)
    }

    /// One connection of the next flow, over its relays.
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
            if self.legs.len() >= MOST {
                return Err(LabError::unsupported("flows", format!("more than {MOST} connections")));
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
            counted: scenario.measure.unwrap_or([Span::ZERO, scenario.duration]).map(|t| Time::ZERO + t),
            delivered: AtomicU64::new(0),
            last_read: AtomicU64::new(0),
            total: AtomicU64::new(NEVER),
            established: AtomicU64::new(NEVER),
            finished: AtomicU64::new(NEVER),
            answerer: Mutex::new(asking.map(Answerer::new)),
            asker: Mutex::new(None),
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
