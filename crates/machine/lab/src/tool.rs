//! Flows that programs play: their start and end, and a look at their sockets every [`LOOK`].
//!
//! | number | is |
//! |---|---|
//! | `delivered` | `tcpi_bytes_received` of the end that received more, summed over the connections |
//! | `sent`, `retransmitted`, `timeouts` | of all connections and both ends, but for the one over which iperf3 steers |
//! | RTT | the smoothed one of each connection, once a look in which something was acknowledged |
//! | series | cwnd, RTT, rate and state of the connection that carries most; bytes and retransmissions of all |
//! | of `udp` | datagrams that left and arrived, seen on the way; no RTT, and all of its time since the first one |
//! | goodput's time | from iperf3's first data or a command's first connection, to the last data received, or to the run's end for what is killed there |

use crate::LabError;
use crate::clock::WallClock;
use crate::datagrams::Datagrams;
use crate::deaths::{Deaths, by_signal};
use crate::host::HostReport;
use crate::identity::Identity;
use crate::network::{LabNetwork, default_congestion_control, hosts_file, is_restricted, route_control};
use crate::plan::{FlowPlan, Leg, PlannedFlow};
use crate::program::{RunningProgram, commands, exists};
use crate::series;
use crate::tally::{Mine, Tally};
use linux::namespace::within;
use linux::schedule::be_punctual;
use linux::sock_diag::{Diag, Sock};
use result::FlowSeries;
use scenario::{Scenario, Tool};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, io, thread};
use units::{Span, Time};

/// Between two looks at the sockets.
const LOOK: Span = Span::from_millis(2);
/// How long a server may take until it listens, in looks of [`PAUSE`].
const PATIENCE: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(5);

/// A flow and its programs.
struct Player {
    server: Option<RunningProgram>,
    client: Option<RunningProgram>,
    command: Vec<String>,
    tally: Tally,
    datagrams: Vec<Datagrams>,
    series: FlowSeries,
    started: bool,
}

/// Every flow of a run that a program plays.
pub struct Tools<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    network: &'a LabNetwork,
    hosts_file: String,
    identity: Identity,
    hosts: BTreeMap<usize, Diag>,
    players: Vec<Player>,
    notices: Vec<String>,
    socks: Vec<Sock>,
}

/// What of the programs cannot be, found before anything is made.
///
/// # Errors
/// Programs that are not there, flows that could not be told from each other.
pub fn check(scenario: &Scenario, plan: &FlowPlan) -> Result<(), LabError> {
    let mut rest: BTreeMap<usize, &str> = BTreeMap::new();
    for leg in &plan.legs {
        let flow = &plan.flows[leg.flow];
        let Some((server, client)) = commands(scenario, flow, leg.port) else { continue };
        for command in server.iter().chain([&client]) {
            exists(&flow.name, &command[0])?;
        }
        let key = format!("flows.{}.tool", flow.name);
        if let Some(tool) = &flow.tool
            && !tool.uses("port")
            && let Some(other) = rest.insert(flow.from, &flow.name)
        {
            let why = format!(
                "neither it nor flow {other} uses {{port}}, so their connections cannot be told from each other"
            );
            return Err(LabError::unsupported(key, why));
        }
        if let Some(other) = plan.legs.iter().find(|l| disagrees(plan, leg, l)) {
            let why = format!(
                "flow {} joins the same hosts with {}; without privileges a program cannot choose {}, and its hosts have one for all between them",
                plan.flows[other.flow].name, plan.flows[other.flow].cc, flow.cc
            );
            return Err(LabError::unsupported(key, why));
        }
    }
    Ok(())
}

/// Whether a program's hosts cannot have the congestion control it needs because of `other`.
fn disagrees(plan: &FlowPlan, leg: &Leg, other: &Leg) -> bool {
    let (flow, of) = (&plan.flows[leg.flow], &plan.flows[other.flow]);
    let pair = |l: &Leg| [l.from.min(l.to), l.from.max(l.to)];
    let differ = other.cc.iter().any(|cc| *cc != flow.control);
    let routed = is_restricted(&flow.control.name) && pair(leg) == pair(other);
    let share = [other.from, other.to].iter().any(|h| *h == leg.from || *h == leg.to);
    let defaults = needs_default(flow) && needs_default(of) && share;
    !flow.is_udp() && !of.is_udp() && differ && (routed || defaults)
}

/// Whether a program takes what its host has, having no way to choose.
fn needs_default(flow: &PlannedFlow) -> bool {
    matches!(&flow.tool, Some(tool @ Tool::Command { .. }) if !tool.uses("cc"))
}

/// Whether a UDP socket has this port in the namespace that the thread is in; `sock_diag` of them is a module that not every
/// kernel has.
fn bound(port: u16) -> bool {
    let tables = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"].map(fs::read_to_string);
    let port = format!(":{port:04X}");
    let local = |line: &str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port));
    tables.into_iter().flatten().any(|table| table.lines().skip(1).any(local))
}

/// Runs a step in a namespace.
fn inside<T: Send>(
    namespace: BorrowedFd<'_>,
    step: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    within(namespace, step).map_err(LabError::system("entering a namespace"))?
}

impl<'a> Tools<'a> {
    /// Starts the servers and waits until they listen; `None` when no flow has a program.
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
            players: Vec::new(),
            notices: Vec::new(),
            socks: Vec::new(),
        };
        for leg in &plan.legs {
            let flow = &plan.flows[leg.flow];
            let Some((server, command)) = commands(scenario, flow, leg.port) else { continue };
            this.open(flow.from, flow.to, flow)?;
            this.open(flow.to, flow.from, flow)?;
            let tally = Tally::new(plan, leg.flow);
            let server = server.map(|s| this.serve(flow, &tally, leg.port, &s)).transpose()?;
            let series = FlowSeries::new(&flow.name);
            let datagrams = if flow.is_udp() { this.datagrams(flow, leg.port)? } else { Vec::new() };
            this.players.push(Player {
                server,
                client: None,
                command,
                tally,
                datagrams,
                series,
                started: false,
            });
        }
        Ok(Some(this).filter(|t| !t.players.is_empty()))
    }

    /// A host's sockets become visible, and those towards `peer` get the flow's congestion control.
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

    fn datagrams(&self, flow: &PlannedFlow, port: u16) -> Result<Vec<Datagrams>, LabError> {
        let failed = || LabError::system(format!("flow {}: a packet socket", flow.name));
        let ends = [(flow.from, true), (flow.to, false)];
        let open = |(host, sends): (usize, bool)| {
            let namespace = self.network.namespaces[host].as_fd();
            inside(namespace, || Datagrams::new(port, sends).map_err(failed()))
        };
        ends.into_iter().map(open).collect()
    }

    fn serve(
        &mut self,
        flow: &PlannedFlow,
        tally: &Tally,
        port: u16,
        command: &[String],
    ) -> Result<RunningProgram, LabError> {
        let listening = |socks: &[Sock]| {
            let mine =
                |s: &&Sock| s.listens() && (tally.mine() != Mine::Port(port) || s.local.port() == port);
            socks.iter().filter(mine).count()
        };
        // iperf3's server is asked for over TCP.
        let by_datagrams = flow.is_udp() && flow.tool != Some(Tool::Iperf3);
        let ready = |this: &mut Self| {
            if by_datagrams {
                return inside(this.network.namespaces[flow.to].as_fd(), || Ok(bound(port).into()));
            }
            this.sockets(flow.to).map(listening)
        };
        let before = ready(self)?;
        let namespace = self.network.namespaces[flow.to].as_fd();
        let mut server = RunningProgram::start(namespace, &self.hosts_file, &self.identity, command)?;
        for _ in 0..PATIENCE {
            if ready(self)? > before {
                return Ok(server);
            }
            if server.has_ended() {
                let what = format!("{} ended before it listened: {}", server.name(), server.last_words());
                return Err(LabError::Program { flow: flow.name.clone(), what });
            }
            thread::sleep(PAUSE);
        }
        let wait = PAUSE * PATIENCE;
        let what = format!("the server `{}` does not listen after {wait:?}", command[0]);
        Err(LabError::Program { flow: flow.name.clone(), what })
    }

    fn sockets(&mut self, host: usize) -> Result<&[Sock], LabError> {
        self.socks.clear();
        if let Some(diag) = self.hosts.get_mut(&host) {
            diag.dump(&mut self.socks).map_err(LabError::system("sock_diag"))?;
        }
        Ok(&self.socks)
    }

    /// Plays until the scenario's end, or until told to stop; then kills what still runs.
    pub fn run(
        mut self,
        clock: WallClock,
        stop: &AtomicBool,
        deaths: &Deaths,
    ) -> Result<HostReport, LabError> {
        let end = Time::ZERO + self.scenario.duration;
        let step = self.scenario.sample;
        let mut sample = (!step.is_zero()).then_some(Time::ZERO);
        let mut look = Time::ZERO;
        be_punctual(None);
        thread::sleep(clock.until(Time::ZERO));
        while !stop.load(Relaxed) {
            let now = clock.now().min(end);
            self.start(now, deaths);
            self.look(now).map_err(LabError::system("sock_diag"))?;
            while let Some(t) = sample.filter(|&t| t <= now) {
                self.sample(t);
                sample = Some(t + step);
            }
            if now >= end {
                break;
            }
            self.watch(deaths);
            look = (look + LOOK).max(now);
            thread::sleep(clock.until(look.min(end)));
        }
        self.close()
    }

    /// Starts what is due. What does not start costs the others nothing.
    fn start(&mut self, now: Time, deaths: &Deaths) {
        for p in &mut self.players {
            let flow = &self.plan.flows[p.tally.flow];
            if !p.started && flow.start <= now {
                p.started = true;
                let namespace = self.network.namespaces[flow.from].as_fd();
                match RunningProgram::start(namespace, &self.hosts_file, &self.identity, &p.command) {
                    Ok(program) => p.client = Some(program),
                    Err(e) => deaths.note(format!("flow {}: {}", flow.name, p.command[0]), e.to_string()),
                }
            }
        }
    }

    fn look(&mut self, now: Time) -> io::Result<()> {
        for (&host, diag) in &mut self.hosts {
            // Dumps first: what has ended meanwhile is then told by its last word.
            for open in [true, false] {
                self.socks.clear();
                if open { diag.dump(&mut self.socks) } else { diag.ended(&mut self.socks) }?;
                for sock in &self.socks {
                    let mut tallies = self.players.iter_mut().map(|p| &mut p.tally);
                    if let Some(tally) = tallies.find(|t| t.owns(self.plan, host, sock)) {
                        tally.see(self.plan, host, sock, open, now);
                    }
                }
            }
        }
        for p in &self.players {
            let flow = &self.plan.flows[p.tally.flow];
            if !flow.is_udp() {
                p.tally.book(flow);
            }
            for datagrams in &p.datagrams {
                datagrams.look(flow, now)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, t: Time) {
        for p in &mut self.players {
            let flow = &self.plan.flows[p.tally.flow];
            let stack = &self.scenario.hosts[flow.from].stack;
            let asked = stack.pacing == Some(true) || flow.max_pacing_rate.is_some();
            let paced = asked && flow.tool == Some(Tool::Iperf3);
            let point = p.tally.point(flow, paced, stack.initial_window.unwrap_or(10));
            series::push(&mut p.series, t, &point);
        }
    }

    /// Notes programs that died, and keeps what those say that failed.
    fn watch(&mut self, deaths: &Deaths) {
        for p in &mut self.players {
            let flow = &self.plan.flows[p.tally.flow];
            let is_over = p.client.as_mut().is_some_and(RunningProgram::has_ended_well);
            for (program, is_server) in [(&mut p.server, true), (&mut p.client, false)] {
                let Some(program) = program else { continue };
                program.has_ended();
                let Some(code) = program.take_end().filter(|&code| code != 0) else { continue };
                let (name, words) = (program.name(), program.last_words());
                // Its own exit code may be what a client is for (`timeout`, `curl --max-time`).
                let is_needed = is_server && !is_over || !is_server && flow.tool == Some(Tool::Iperf3);
                if is_needed || by_signal(code) && !is_server {
                    let end = if is_server { "server" } else { "client" };
                    deaths.note(format!("flow {}: the {end} {name}", flow.name), words);
                } else if !by_signal(code) {
                    self.notices.push(format!("flow {}: {name} ended with {words}", flow.name));
                }
            }
        }
    }

    fn close(mut self) -> Result<HostReport, LabError> {
        let mut all = Vec::new();
        for mut p in self.players {
            let flow = &self.plan.flows[p.tally.flow];
            let ended = p.client.as_mut().is_some_and(RunningProgram::has_ended);
            if !flow.is_udp() {
                p.tally.close(flow, ended);
            }
            match p.tally.control() {
                None if !flow.is_udp() => {
                    self.notices.push(format!("flow {}: `{}` made no connection", flow.name, p.command[0]))
                }
                Some(cc) if !cc.is_empty() && cc != flow.control.name && !flow.is_udp() => {
                    self.notices.push(format!("flow {}: it used {cc}, not {}", flow.name, flow.cc));
                }
                _ => {}
            }
            all.push((p.tally.flow, p.series));
        }
        Ok(HostReport::new(all, self.notices))
    }
}
