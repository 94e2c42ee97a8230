//! Flows with traffic from programs: starts and stops the programs and reads their sockets' counters every
//! [`READ_INTERVAL`].
//!
//! | number | source |
//! |---|---|
//! | `delivered` | `tcpi_bytes_received` of the end that received more, summed over the connections |
//! | `sent`, `retransmitted`, `timeouts` | both ends of all connections, without iperf3's control connection |
//! | RTT | the smoothed RTT of each connection, once per read in which an ACK arrived |
//! | series | cwnd, RTT, rate and state of the connection with the most bytes; bytes and retransmissions of all |
//! | `udp` | datagrams that left and arrived, counted with packet sockets; no RTT; active since the first datagram |
//! | goodput's time | from iperf3's first data, or a command's first connection, to the last data received; to the run's end for programs that are killed there |

use crate::LabError;
use crate::clock::WallClock;
use crate::datagram_counter::DatagramCounter;
use crate::failures::{FailedComponents, is_signal_exit};
use crate::host::HostReport;
use crate::identity::Identity;
use crate::network::{LabNetwork, default_congestion_control, hosts_file, is_restricted, route_control};
use crate::plan::{FlowPlan, Leg, PlannedFlow};
use crate::program::{RunningProgram, commands, require};
use crate::series;
use crate::socket_stats::{FlowSockets, SocketMatch};
use linux::namespace::within;
use linux::schedule::set_precise_scheduling;
use linux::sock_diag::{Diag, Sock};
use result::FlowSeries;
use scenario::{Scenario, Tool};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, io, thread};
use units::{Span, Time};

/// Interval between reads of the sockets' counters.
const READ_INTERVAL: Span = Span::from_millis(2);
/// Limit until a server listens, in steps of [`LISTEN_POLL`].
const LISTEN_CHECKS: u32 = 2000;
const LISTEN_POLL: Duration = Duration::from_millis(5);

struct ProgramFlow {
    server: Option<RunningProgram>,
    client: Option<RunningProgram>,
    command: Vec<String>,
    sockets: FlowSockets,
    datagrams: Vec<DatagramCounter>,
    series: FlowSeries,
    started: bool,
}

/// All flows of a run with traffic from programs.
pub struct Tools<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    network: &'a LabNetwork,
    hosts_file: String,
    identity: Identity,
    hosts: BTreeMap<usize, Diag>,
    programs: Vec<ProgramFlow>,
    notices: Vec<String>,
    socks: Vec<Sock>,
}

/// Checks the programs of flows before anything is created.
///
/// # Errors
/// Fails if a program is missing, or if flows could not be distinguished.
pub fn check(scenario: &Scenario, plan: &FlowPlan) -> Result<(), LabError> {
    let mut flows_without_port: BTreeMap<usize, &str> = BTreeMap::new();
    for leg in &plan.legs {
        let flow = &plan.flows[leg.flow];
        let Some((server, client)) = commands(scenario, flow, leg.port) else { continue };
        for command in server.iter().chain([&client]) {
            require(&flow.name, &command[0])?;
        }
        let key = format!("flows.{}.tool", flow.name);
        if let Some(tool) = &flow.tool
            && !tool.uses("port")
            && let Some(other) = flows_without_port.insert(flow.from, &flow.name)
        {
            let why = format!(
                "neither it nor flow {other} uses {{port}}, so their connections cannot be distinguished"
            );
            return Err(LabError::unsupported(key, why));
        }
        if let Some(other) = plan.legs.iter().find(|l| conflicts(plan, leg, l)) {
            let why = format!(
                "flow {} runs {} between the same hosts; an unprivileged program cannot choose {}, and its hosts have only one congestion control between them",
                plan.flows[other.flow].name, plan.flows[other.flow].cc, flow.cc
            );
            return Err(LabError::unsupported(key, why));
        }
    }
    Ok(())
}

/// Whether the congestion control of `other` conflicts with the one that a program's flow needs on the same
/// hosts.
fn conflicts(plan: &FlowPlan, leg: &Leg, other: &Leg) -> bool {
    let (flow, of) = (&plan.flows[leg.flow], &plan.flows[other.flow]);
    let pair = |l: &Leg| [l.from.min(l.to), l.from.max(l.to)];
    let differ = other.cc.iter().any(|cc| *cc != flow.control);
    let routed = is_restricted(&flow.control.name) && pair(leg) == pair(other);
    let share = [other.from, other.to].iter().any(|h| *h == leg.from || *h == leg.to);
    let defaults = needs_default(flow) && needs_default(of) && share;
    !flow.is_udp() && !of.is_udp() && differ && (routed || defaults)
}

/// Whether a program uses its host's default congestion control, because it cannot choose one.
fn needs_default(flow: &PlannedFlow) -> bool {
    matches!(&flow.tool, Some(tool @ Tool::Command { .. }) if !tool.uses("cc"))
}

/// Whether a UDP socket is bound to this port in the thread's namespace. Reads /proc, because `sock_diag` for
/// UDP is a module that not every kernel has.
fn is_udp_port_bound(port: u16) -> bool {
    let tables = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"].map(fs::read_to_string);
    let port = format!(":{port:04X}");
    let local = |line: &str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port));
    tables.into_iter().flatten().any(|table| table.lines().skip(1).any(local))
}

fn inside<T: Send>(
    namespace: BorrowedFd<'_>,
    step: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    within(namespace, step).map_err(LabError::system("entering a namespace"))?
}

impl<'a> Tools<'a> {
    /// Starts the servers and waits until they listen. Returns `None` if no flow has a program.
    pub fn prepare(
        scenario: &'a Scenario,
        plan: &'a FlowPlan,
        network: &'a LabNetwork,
        identity: Identity,
    ) -> Result<Option<Tools<'a>>, LabError> {
        let mut this = Tools {
            scenario,
            plan,
            network,
            hosts_file: hosts_file(scenario),
            identity,
            hosts: BTreeMap::new(),
            programs: Vec::new(),
            notices: Vec::new(),
            socks: Vec::new(),
        };
        for leg in &plan.legs {
            let flow = &plan.flows[leg.flow];
            let Some((server, command)) = commands(scenario, flow, leg.port) else { continue };
            this.open(flow.from, flow.to, flow)?;
            this.open(flow.to, flow.from, flow)?;
            let sockets = FlowSockets::new(plan, leg.flow);
            let server = server.map(|s| this.serve(flow, &sockets, leg.port, &s)).transpose()?;
            let series = FlowSeries::new(&flow.name);
            let datagrams = if flow.is_udp() { this.datagrams(flow, leg.port)? } else { Vec::new() };
            this.programs.push(ProgramFlow {
                server,
                client: None,
                command,
                sockets,
                datagrams,
                series,
                started: false,
            });
        }
        Ok(Some(this).filter(|t| !t.programs.is_empty()))
    }

    /// Opens a host's `sock_diag`, and sets the flow's congestion control for connections to `peer`.
    fn open(&mut self, host: usize, peer: usize, flow: &PlannedFlow) -> Result<(), LabError> {
        let scenario = self.scenario;
        let failed = |what: &str| LabError::system(format!("host {}: {what}", scenario.hosts[host].name));
        let diag = inside(self.network.namespaces[host].as_fd(), || {
            let set = if flow.is_udp() {
                Ok(())
            } else if is_restricted(&flow.control.name) {
                route_control(scenario, host, peer, &flow.control.name)
            } else if needs_default(flow) {
                default_congestion_control(&flow.control.name)
            } else {
                Ok(())
            };
            set.map_err(failed(&format!("congestion control {}", flow.cc)))?;
            Diag::new().map_err(failed("sock_diag"))
        })?;
        self.hosts.entry(host).or_insert(diag);
        Ok(())
    }

    fn datagrams(&self, flow: &PlannedFlow, port: u16) -> Result<Vec<DatagramCounter>, LabError> {
        let failed = || LabError::system(format!("flow {}: a packet socket", flow.name));
        let ends = [(flow.from, true), (flow.to, false)];
        let open = |(host, sends): (usize, bool)| {
            let namespace = self.network.namespaces[host].as_fd();
            inside(namespace, || DatagramCounter::new(port, sends).map_err(failed()))
        };
        ends.into_iter().map(open).collect()
    }

    fn serve(
        &mut self,
        flow: &PlannedFlow,
        sockets: &FlowSockets,
        port: u16,
        command: &[String],
    ) -> Result<RunningProgram, LabError> {
        let listening = |socks: &[Sock]| {
            let is_server = |s: &&Sock| {
                s.listens() && (sockets.socket_match() != SocketMatch::Port(port) || s.local.port() == port)
            };
            socks.iter().filter(is_server).count()
        };
        // iperf3's server waits for a TCP control connection.
        let by_datagrams = flow.is_udp() && flow.tool != Some(Tool::Iperf3);
        let ready = |this: &mut Self| {
            if by_datagrams {
                return inside(this.network.namespaces[flow.to].as_fd(), || {
                    Ok(is_udp_port_bound(port).into())
                });
            }
            this.sockets(flow.to).map(listening)
        };
        let before = ready(self)?;
        let namespace = self.network.namespaces[flow.to].as_fd();
        let mut server = RunningProgram::start(namespace, &self.hosts_file, &self.identity, command)?;
        for _ in 0..LISTEN_CHECKS {
            if ready(self)? > before {
                return Ok(server);
            }
            if server.has_ended() {
                let what = format!("{} ended before it listened: {}", server.name(), server.last_output());
                return Err(LabError::Program { flow: flow.name.clone(), what });
            }
            thread::sleep(LISTEN_POLL);
        }
        let wait = LISTEN_POLL * LISTEN_CHECKS;
        let what = format!("the server `{}` is not listening after {wait:?}", command[0]);
        Err(LabError::Program { flow: flow.name.clone(), what })
    }

    fn sockets(&mut self, host: usize) -> Result<&[Sock], LabError> {
        self.socks.clear();
        if let Some(diag) = self.hosts.get_mut(&host) {
            diag.dump(&mut self.socks).map_err(LabError::system("sock_diag"))?;
        }
        Ok(&self.socks)
    }

    /// Runs the programs until the scenario's end, or until `stop` is set; then kills those that still run.
    pub fn run(
        mut self,
        clock: WallClock,
        stop: &AtomicBool,
        failures: &FailedComponents,
    ) -> Result<HostReport, LabError> {
        let end = Time::ZERO + self.scenario.duration;
        let step = self.scenario.sample;
        let mut sample = (!step.is_zero()).then_some(Time::ZERO);
        let mut read_counters = Time::ZERO;
        set_precise_scheduling(None);
        thread::sleep(clock.until(Time::ZERO));
        while !stop.load(Relaxed) {
            let now = clock.now().min(end);
            self.start(now, failures);
            self.read_counters(now).map_err(LabError::system("sock_diag"))?;
            while let Some(t) = sample.filter(|&t| t <= now) {
                self.sample(t);
                sample = Some(t + step);
            }
            if now >= end {
                break;
            }
            self.watch(failures);
            read_counters = (read_counters + READ_INTERVAL).max(now);
            thread::sleep(clock.until(read_counters.min(end)));
        }
        self.close()
    }

    /// Starts the programs that are due. A program that fails to start does not delay the others.
    fn start(&mut self, now: Time, failures: &FailedComponents) {
        for p in &mut self.programs {
            let flow = &self.plan.flows[p.sockets.flow];
            if !p.started && flow.start <= now {
                p.started = true;
                let namespace = self.network.namespaces[flow.from].as_fd();
                match RunningProgram::start(namespace, &self.hosts_file, &self.identity, &p.command) {
                    Ok(program) => p.client = Some(program),
                    Err(e) => failures.record(format!("flow {}: {}", flow.name, p.command[0]), e.to_string()),
                }
            }
        }
    }

    fn read_counters(&mut self, now: Time) -> io::Result<()> {
        for (&host, diag) in &mut self.hosts {
            // Dump first, so that the final report of a socket that closed meanwhile is read last.
            for open in [true, false] {
                self.socks.clear();
                if open { diag.dump(&mut self.socks) } else { diag.ended(&mut self.socks) }?;
                for sock in &self.socks {
                    let mut tallies = self.programs.iter_mut().map(|p| &mut p.sockets);
                    if let Some(sockets) = tallies.find(|t| t.owns(self.plan, host, sock)) {
                        sockets.update(self.plan, host, sock, open, now);
                    }
                }
            }
        }
        for p in &self.programs {
            let flow = &self.plan.flows[p.sockets.flow];
            if !flow.is_udp() {
                p.sockets.store_totals(flow);
            }
            for datagrams in &p.datagrams {
                datagrams.update(flow, now)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, t: Time) {
        for p in &mut self.programs {
            let flow = &self.plan.flows[p.sockets.flow];
            let stack = &self.scenario.hosts[flow.from].stack;
            let paced_by_scenario = stack.pacing == Some(true) || flow.max_pacing_rate.is_some();
            let paced = paced_by_scenario && flow.tool == Some(Tool::Iperf3);
            let point = p.sockets.point(flow, paced, stack.initial_window.unwrap_or(10));
            series::push(&mut p.series, t, &point);
        }
    }

    /// Records programs that failed, and keeps the output of those that ended with an error.
    fn watch(&mut self, failures: &FailedComponents) {
        for p in &mut self.programs {
            let flow = &self.plan.flows[p.sockets.flow];
            let is_over = p.client.as_mut().is_some_and(RunningProgram::has_succeeded);
            for (program, is_server) in [(&mut p.server, true), (&mut p.client, false)] {
                let Some(program) = program else { continue };
                program.has_ended();
                let Some(code) = program.take_end().filter(|&code| code != 0) else { continue };
                let (name, words) = (program.name(), program.last_output());
                // A nonzero exit code may be a client's normal end (`timeout`, `curl --max-time`).
                let is_needed = is_server && !is_over || !is_server && flow.tool == Some(Tool::Iperf3);
                if is_needed || is_signal_exit(code) && !is_server {
                    let end = if is_server { "server" } else { "client" };
                    failures.record(format!("flow {}: the {end} {name}", flow.name), words);
                } else if !is_signal_exit(code) {
                    self.notices.push(format!("flow {}: {name} ended with {words}", flow.name));
                }
            }
        }
    }

    fn close(mut self) -> Result<HostReport, LabError> {
        let mut all = Vec::new();
        for mut p in self.programs {
            let flow = &self.plan.flows[p.sockets.flow];
            let ended = p.client.as_mut().is_some_and(RunningProgram::has_ended);
            if !flow.is_udp() {
                p.sockets.close(flow, ended);
            }
            match p.sockets.control() {
                None if !flow.is_udp() => {
                    self.notices.push(format!("flow {}: `{}` made no connection", flow.name, p.command[0]))
                }
                Some(cc) if !cc.is_empty() && cc != flow.control.name && !flow.is_udp() => {
                    self.notices.push(format!("flow {}: it used {cc}, not {}", flow.name, flow.cc));
                }
                _ => {}
            }
            all.push((p.sockets.flow, p.series));
        }
        Ok(HostReport::new(all, self.notices))
    }
}
