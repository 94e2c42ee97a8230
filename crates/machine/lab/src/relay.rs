//! Relays: one program per relay, in its host's namespace, from before the clock starts until all counters
//! have been read.
//!
//! `longfat proxy` runs in threads of this process, nginx and HAProxy as unprivileged processes. Each listens
//! on the port of every leg that ends at it and connects to the port of the next leg. The counters of its
//! sockets are read with one `sock_diag` request per socket, as often as the hosts read theirs.
//!
//! | scenario key | longfat | nginx, HAProxy |
//! |---|---|---|
//! | `cc` | `TCP_CONGESTION` on each side | `congctl` of the routes to both neighbours |
//! | `buffer` | maximum of `net.ipv4.tcp_wmem` on the host | the same |
//! | `max_pacing_rate`, `stack.pacing` | `SO_MAX_PACING_RATE` | not supported |
//! | `dscp`, `stack.mss`, `receive_window`, `delayed_ack` | not supported | not supported |

mod command;
mod limits;

pub use command::proxy_commands;
pub use limits::{check, departures};

use crate::LabError;
use crate::affinity::TrafficThreads;
use crate::clock::WallClock;
use crate::failures::FailedComponents;
use crate::host::HostReport;
use crate::identity::Identity;
use crate::machine;
use crate::network::{LabNetwork, hosts_file, route_control};
use crate::plan::FlowPlan;
use crate::program::RunningProgram;
use ::proxy::Proxy;
use linux::sock_diag::{Diag, Sock};
use linux::tcp_info::TcpInfo;
use linux::{namespace, schedule};
use scenario::{RelayTool, Scenario};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use units::{Span, Time};

/// Interval between reads of the sockets' counters, and sockets read each time, as in `host.rs`.
const READ_INTERVAL: Span = Span::from_millis(1);
const READS_PER_INTERVAL: usize = 32;
/// Interval between dumps of a host's sockets while one is missing.
const DUMP_INTERVAL: Span = Span::from_millis(10);
/// Limit until a program listens, in steps of [`LISTEN_POLL`].
const LISTEN_CHECKS: u32 = 2000;
const LISTEN_POLL: Duration = Duration::from_millis(5);

/// A running relay.
pub enum RunningRelay {
    /// longfat's proxy; its threads belong to this process.
    Longfat(Box<Proxy>),
    /// A process of another proxy.
    Program(Box<RunningProgram>),
}

/// A relay and its name in the scenario.
struct WatchedRelay {
    name: String,
    running: RunningRelay,
    /// Whether the relay's death has been recorded.
    is_dead: bool,
}

/// One end of a connection, at a relay.
struct RelayEnd {
    host: usize,
    leg: usize,
    /// Whether this end opened the connection.
    is_opener: bool,
    /// The socket, once found.
    sock: Option<Sock>,
    acked: u64,
}

/// All relays of a run.
pub struct Relays<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    hosts: BTreeMap<usize, Diag>,
    running: Vec<WatchedRelay>,
    ends: Vec<RelayEnd>,
    /// Kernel thread ids of longfat's proxies.
    threads: Arc<Mutex<Vec<i32>>>,
    notices: Arc<Mutex<Vec<String>>>,
    next_read: usize,
}

/// Returns the legs that end at each relay.
fn legs_by_relay(plan: &FlowPlan) -> BTreeMap<usize, Vec<usize>> {
    let mut legs_by_relay: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, leg) in plan.legs.iter().enumerate() {
        if let Some(relay) = leg.relay {
            legs_by_relay.entry(relay).or_default().push(i);
        }
    }
    legs_by_relay
}

impl<'a> Relays<'a> {
    /// Starts the relays and waits until they listen. Returns `None` if no flow passes one.
    ///
    /// # Errors
    /// Fails if a relay does not start or does not listen.
    pub fn prepare(
        scenario: &'a Scenario,
        plan: &'a FlowPlan,
        network: &LabNetwork,
        identity: &Identity,
    ) -> Result<Option<Relays<'a>>, LabError> {
        let mut this = Relays {
            scenario,
            plan,
            hosts: BTreeMap::new(),
            running: Vec::new(),
            ends: Vec::new(),
            threads: Arc::default(),
            notices: Arc::default(),
            next_read: 0,
        };
        for (relay, legs) in legs_by_relay(plan) {
            let host = scenario.relays[relay].host;
            for &leg in &legs {
                for (leg, is_opener) in [(leg, false), (leg + 1, true)] {
                    this.ends.push(RelayEnd { host, leg, is_opener, sock: None, acked: 0 });
                }
            }
            let namespace = network.namespaces[host].as_fd();
            let diag = namespace::within(namespace, Diag::new).and_then(|diag| diag);
            this.hosts.entry(host).or_insert(diag.map_err(LabError::system("sock_diag"))?);
            let running = match scenario.relays[relay].tool {
                RelayTool::Longfat => this.start_proxy(relay, &legs, network)?,
                tool => this.start_program(relay, tool, &legs, network, identity)?,
            };
            let name = scenario.relays[relay].name.clone();
            this.running.push(WatchedRelay { name, running, is_dead: false });
        }
        Ok(Some(this).filter(|relays| !relays.running.is_empty()))
    }

    fn start_proxy(
        &self,
        relay: usize,
        legs: &[usize],
        network: &LabNetwork,
    ) -> Result<RunningRelay, LabError> {
        let relay = &self.scenario.relays[relay];
        let config = command::proxy_config(self.scenario, self.plan, legs);
        let (threads, notices, name) = (self.threads.clone(), self.notices.clone(), relay.name.clone());
        let settle = move |_: usize| {
            schedule::set_precise_scheduling(None);
            threads.lock().unwrap_or_else(PoisonError::into_inner).push(schedule::thread_id());
        };
        let log = move |entry: serde_json::Map<String, serde_json::Value>| {
            if entry.get("event").and_then(|e| e.as_str()) != Some("started") {
                let text = format!("relay {name}: {}", serde_json::Value::Object(entry));
                notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        };
        let start = || Proxy::start_in(&config, BTreeMap::new(), Box::new(log), Arc::new(settle));
        let started = namespace::within(network.namespaces[relay.host].as_fd(), start);
        let started = started.map_err(LabError::system("entering a namespace"))?;
        let proxy =
            started.map_err(|e| LabError::Relay { relay: relay.name.clone(), what: e.to_string() })?;
        Ok(RunningRelay::Longfat(Box::new(proxy)))
    }

    /// nginx, and HAProxy before 3.3, cannot set a congestion control; the routes set it.
    fn start_program(
        &mut self,
        relay: usize,
        tool: RelayTool,
        legs: &[usize],
        network: &LabNetwork,
        identity: &Identity,
    ) -> Result<RunningRelay, LabError> {
        let relay = &self.scenario.relays[relay];
        let namespace = network.namespaces[relay.host].as_fd();
        let plan = self.plan;
        let routes = || {
            legs.iter().try_for_each(|&i| {
                let (near, far) = (&plan.legs[i], &plan.legs[i + 1]);
                route_control(self.scenario, relay.host, near.from, &near.cc[1].name)?;
                route_control(self.scenario, relay.host, far.to, &far.cc[0].name)
            })
        };
        let set = namespace::within(namespace, routes).and_then(|set| set);
        set.map_err(LabError::system(format!("relay {}: congestion control of its routes", relay.name)))?;
        let (argv, text) = command::of_program(self.scenario, plan, tool, legs, relay.buffer);
        let program =
            RunningProgram::start_with_input(namespace, &hosts_file(self.scenario), identity, &argv, &text)?;
        let ports: Vec<u16> = legs.iter().map(|&i| plan.legs[i].port).collect();
        self.listening(relay.host, &relay.name, &ports, program).map(|p| RunningRelay::Program(Box::new(p)))
    }

    /// Waits until a program listens on all these ports.
    fn listening(
        &mut self,
        host: usize,
        relay: &str,
        ports: &[u16],
        mut program: RunningProgram,
    ) -> Result<RunningProgram, LabError> {
        let failed = |what| LabError::Relay { relay: relay.into(), what };
        for _ in 0..LISTEN_CHECKS {
            let mut socks = Vec::new();
            if let Some(diag) = self.hosts.get_mut(&host) {
                diag.dump(&mut socks).map_err(LabError::system("sock_diag"))?;
            }
            let is_there = |port: &u16| socks.iter().any(|s| s.listens() && s.local.port() == *port);
            if ports.iter().all(is_there) {
                return Ok(program);
            }
            if program.has_ended() {
                let what = format!("{} ended before it listened: {}", program.name(), program.last_output());
                return Err(failed(what));
            }
            thread::sleep(LISTEN_POLL);
        }
        Err(failed(format!("it is not listening after {:?}", LISTEN_POLL * LISTEN_CHECKS)))
    }

    /// Reads counters until the scenario's end, or until `stop` is set.
    pub fn run(
        mut self,
        clock: WallClock,
        stop: &AtomicBool,
        threads: &TrafficThreads,
        failures: &FailedComponents,
    ) -> Result<HostReport, LabError> {
        let end = Time::ZERO + self.scenario.duration;
        let own_threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        own_threads.iter().for_each(|&thread| threads.register(thread));
        schedule::set_precise_scheduling(None);
        thread::sleep(clock.until(Time::ZERO));
        let failed = LabError::system("sock_diag");
        let done = self.read_until(clock, end, stop, failures);
        done.map_err(failed)?;
        let mut notices = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for end in &self.ends {
            self.add_counters(end);
            notices.extend(self.control_mismatch(end));
        }
        let wait = own_threads.iter().filter_map(|&thread| machine::mean_wait_of(thread)).max();
        Ok(HostReport::of_relays(
            self.running.into_iter().map(|relay| relay.running).collect(),
            notices,
            wait,
        ))
    }

    /// Records relays that have ended.
    fn watch(&mut self, failures: &FailedComponents) {
        for relay in self.running.iter_mut().filter(|relay| !relay.is_dead) {
            let ended = match &mut relay.running {
                RunningRelay::Longfat(proxy) => proxy.is_finished().then(|| "its threads ended".into()),
                RunningRelay::Program(program) => program.has_ended().then(|| program.last_output()),
            };
            if let Some(how) = ended {
                relay.is_dead = true;
                failures.record(format!("relay {}", relay.name), how);
            }
        }
    }

    fn read_until(
        &mut self,
        clock: WallClock,
        end: Time,
        stop: &AtomicBool,
        failures: &FailedComponents,
    ) -> io::Result<()> {
        let (mut read_counters, mut next_dump) = (Time::ZERO, Time::ZERO);
        loop {
            let now = clock.now().min(end);
            if now >= next_dump {
                self.find_sockets(now)?;
                self.watch(failures);
                next_dump = now + DUMP_INTERVAL;
            }
            let n = self.ends.len();
            let reads = if now >= end { n } else { n.min(READS_PER_INTERVAL) };
            for k in 0..reads {
                self.read_counters((self.next_read + k) % n, now)?;
            }
            self.next_read = (self.next_read + reads) % n.max(1);
            if now >= end || stop.load(Relaxed) {
                return Ok(());
            }
            read_counters = (read_counters + READ_INTERVAL).max(now);
            thread::sleep(clock.until(read_counters.min(end)));
        }
    }

    /// Dumps a host's sockets if one that should exist has not been found.
    fn find_sockets(&mut self, now: Time) -> io::Result<()> {
        let (plan, mut socks) = (self.plan, Vec::new());
        let missing = |e: &RelayEnd| e.sock.is_none() && plan.flows[plan.legs[e.leg].flow].start <= now;
        for (&host, diag) in &mut self.hosts {
            if !self.ends.iter().any(|e| e.host == host && missing(e)) {
                continue;
            }
            socks.clear();
            diag.dump(&mut socks)?;
            for end in self.ends.iter_mut().filter(|e| e.host == host && missing(e)) {
                let port = plan.legs[end.leg].port;
                let is_this_end = |s: &&Sock| {
                    let leg_port = if end.is_opener { s.remote.port() } else { s.local.port() };
                    // The kernel reports no congestion control before the handshake is complete.
                    leg_port == port && !s.listens() && s.remote.port() != 0 && !s.cc.is_empty()
                };
                end.sock = socks.iter().find(is_this_end).cloned();
            }
        }
        Ok(())
    }

    fn read_counters(&mut self, i: usize, now: Time) -> io::Result<()> {
        let end = &mut self.ends[i];
        let (Some(sock), Some(diag)) = (&mut end.sock, self.hosts.get_mut(&end.host)) else { return Ok(()) };
        // A closed socket keeps its last counters.
        let Some(new) = diag.query(sock.id())?.map(|sock| sock.info) else { return Ok(()) };
        sock.info = new;
        let flow = &self.plan.flows[self.plan.legs[end.leg].flow];
        if end.is_opener != flow.answers() && new.bytes_acked != end.acked && new.rtt_us > 0 {
            end.acked = new.bytes_acked;
            flow.record_rtt(now, Span::from_micros(new.rtt_us.into()));
            flow.min_rtt.fetch_min(u64::from(new.min_rtt_us) * 1000, Relaxed);
        }
        Ok(())
    }

    /// Returns a notice if an end used another congestion control than planned.
    fn control_mismatch(&self, end: &RelayEnd) -> Option<String> {
        let leg = &self.plan.legs[end.leg];
        let planned = &leg.cc[usize::from(!end.is_opener)].name;
        let used = end.sock.as_ref().map(|s| &s.cc).filter(|used| *used != planned)?;
        let (peer, flow) = (if end.is_opener { leg.to } else { leg.from }, &self.plan.flows[leg.flow].name);
        let [host, peer] = [end.host, peer].map(|h| &self.scenario.hosts[h].name);
        Some(format!("flow {flow}: towards {peer} the relay at {host} used {used}, not {planned}"))
    }

    /// Adds an end's counters to its flow.
    fn add_counters(&self, end: &RelayEnd) {
        let Some(TcpInfo { data_segs_out, total_retrans, total_rto, .. }) = end.sock.as_ref().map(|s| s.info)
        else {
            return;
        };
        let flow = &self.plan.flows[self.plan.legs[end.leg].flow];
        flow.sent.fetch_add(data_segs_out.into(), Relaxed);
        flow.retransmitted.fetch_add(total_retrans.into(), Relaxed);
        flow.timeouts.fetch_add(total_rto.into(), Relaxed);
    }
}
