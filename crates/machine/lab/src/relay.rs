//! Relays: a program in its host's namespace for each, from before the clock starts until all that flows was counted.
//!
//! `longfat proxy` runs in threads of this process, nginx and HAProxy as processes without privileges; each listens on the port
//! of every leg that ends at it and goes on to the next leg's. What its sockets did is read from the kernel by one question a
//! socket (`sock_diag`), as often as the hosts look at theirs.
//!
//! | the scenario's | longfat | nginx, HAProxy |
//! |---|---|---|
//! | `cc` | `TCP_CONGESTION` of each side | `congctl` of the routes to both neighbours |
//! | `buffer` | the most that `net.ipv4.tcp_wmem` lets a socket of the host hold | the same |
//! | `max_pacing_rate`, `stack.pacing` | `SO_MAX_PACING_RATE` | not had |
//! | `dscp`, `stack.mss`, `receive_window`, `delayed_ack` | not had | not had |

mod command;
mod limits;

pub use command::proxy_commands;
pub use limits::{check, departures};

use crate::LabError;
use crate::clock::WallClock;
use crate::crew::Crew;
use crate::deaths::Deaths;
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

/// Between two looks at the sockets, and how many are looked at then: as at the hosts (`host.rs`).
const LOOK: Span = Span::from_millis(1);
const LOOKS: usize = 32;
/// Between two lists of a host's sockets, while one is missing.
const LIST: Span = Span::from_millis(10);
/// How long a program may take until it listens, in looks of [`PAUSE`].
const PATIENCE: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(5);

/// What runs.
pub enum RunningRelay {
    /// This proxy; its loops' threads are of this process.
    Longfat(Box<Proxy>),
    /// Another one.
    Program(Box<RunningProgram>),
}

/// A relay by its name in the scenario.
struct WatchedRelay {
    name: String,
    running: RunningRelay,
    /// Its end has been noted.
    is_dead: bool,
}

/// A connection's end at a relay.
struct RelayEnd {
    host: usize,
    leg: usize,
    /// Whether it is the end that opened the connection.
    opens: bool,
    /// Once it was found.
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
    /// Threads of proxies.
    threads: Arc<Mutex<Vec<i32>>>,
    notices: Arc<Mutex<Vec<String>>>,
    looked: usize,
}

/// The legs that end at each relay that flows pass.
fn stops(plan: &FlowPlan) -> BTreeMap<usize, Vec<usize>> {
    let mut stops: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, leg) in plan.legs.iter().enumerate() {
        if let Some(relay) = leg.relay {
            stops.entry(relay).or_default().push(i);
        }
    }
    stops
}

impl<'a> Relays<'a> {
    /// Starts them and waits until they listen; `None` where no flow passes one.
    ///
    /// # Errors
    /// One does not start, or does not listen.
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
            looked: 0,
        };
        for (relay, legs) in stops(plan) {
            let host = scenario.relays[relay].host;
            for &leg in &legs {
                for (leg, opens) in [(leg, false), (leg + 1, true)] {
                    this.ends.push(RelayEnd { host, leg, opens, sock: None, acked: 0 });
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
            schedule::be_punctual(None);
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

    /// nginx and HAProxy before 3.3 have no word for a congestion control: it is the routes'.
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
        let program = RunningProgram::reading(namespace, &hosts_file(self.scenario), identity, &argv, &text)?;
        let ports: Vec<u16> = legs.iter().map(|&i| plan.legs[i].port).collect();
        self.listening(relay.host, &relay.name, &ports, program).map(|p| RunningRelay::Program(Box::new(p)))
    }

    /// Waits until a program listens on all of these ports.
    fn listening(
        &mut self,
        host: usize,
        relay: &str,
        ports: &[u16],
        mut program: RunningProgram,
    ) -> Result<RunningProgram, LabError> {
        let failed = |what| LabError::Relay { relay: relay.into(), what };
        for _ in 0..PATIENCE {
            let mut socks = Vec::new();
            if let Some(diag) = self.hosts.get_mut(&host) {
                diag.dump(&mut socks).map_err(LabError::system("sock_diag"))?;
            }
            let is_there = |port: &u16| socks.iter().any(|s| s.listens() && s.local.port() == *port);
            if ports.iter().all(is_there) {
                return Ok(program);
            }
            if program.has_ended() {
                let what = format!("{} ended before it listened: {}", program.name(), program.last_words());
                return Err(failed(what));
            }
            thread::sleep(PAUSE);
        }
        Err(failed(format!("it does not listen after {:?}", PAUSE * PATIENCE)))
    }

    /// Counts until the scenario's end, or until told to stop.
    pub fn run(
        mut self,
        clock: WallClock,
        stop: &AtomicBool,
        crew: &Crew,
        deaths: &Deaths,
    ) -> Result<HostReport, LabError> {
        let end = Time::ZERO + self.scenario.duration;
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        threads.iter().for_each(|&thread| crew.admit(thread));
        schedule::be_punctual(None);
        thread::sleep(clock.until(Time::ZERO));
        let failed = LabError::system("sock_diag");
        let done = self.count(clock, end, stop, deaths);
        done.map_err(failed)?;
        let mut notices = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for end in &self.ends {
            self.account(end);
            notices.extend(self.unlike(end));
        }
        let wait = threads.iter().filter_map(|&thread| machine::mean_wait_of(thread)).max();
        Ok(HostReport::of_relays(
            self.running.into_iter().map(|relay| relay.running).collect(),
            notices,
            wait,
        ))
    }

    /// Notes relays that have ended.
    fn watch(&mut self, deaths: &Deaths) {
        for relay in self.running.iter_mut().filter(|relay| !relay.is_dead) {
            let ended = match &mut relay.running {
                RunningRelay::Longfat(proxy) => proxy.is_finished().then(|| "its threads ended".into()),
                RunningRelay::Program(program) => program.has_ended().then(|| program.last_words()),
            };
            if let Some(how) = ended {
                relay.is_dead = true;
                deaths.note(format!("relay {}", relay.name), how);
            }
        }
    }

    fn count(&mut self, clock: WallClock, end: Time, stop: &AtomicBool, deaths: &Deaths) -> io::Result<()> {
        let (mut look, mut list) = (Time::ZERO, Time::ZERO);
        loop {
            let now = clock.now().min(end);
            if now >= list {
                self.find(now)?;
                self.watch(deaths);
                list = now + LIST;
            }
            let n = self.ends.len();
            let most = if now >= end { n } else { n.min(LOOKS) };
            for k in 0..most {
                self.look((self.looked + k) % n, now)?;
            }
            self.looked = (self.looked + most) % n.max(1);
            if now >= end || stop.load(Relaxed) {
                return Ok(());
            }
            look = (look + LOOK).max(now);
            thread::sleep(clock.until(look.min(end)));
        }
    }

    /// Lists a host's sockets where one is not known that may be there.
    fn find(&mut self, now: Time) -> io::Result<()> {
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
                let mine = |s: &&Sock| {
                    let own = if end.opens { s.remote.port() } else { s.local.port() };
                    // Of a handshake that is not over no control is told.
                    own == port && !s.listens() && s.remote.port() != 0 && !s.cc.is_empty()
                };
                end.sock = socks.iter().find(mine).cloned();
            }
        }
        Ok(())
    }

    fn look(&mut self, i: usize, now: Time) -> io::Result<()> {
        let end = &mut self.ends[i];
        let (Some(sock), Some(diag)) = (&mut end.sock, self.hosts.get_mut(&end.host)) else { return Ok(()) };
        // Of one that is gone the last word stays.
        let Some(new) = diag.again(sock)?.map(|sock| sock.info) else { return Ok(()) };
        sock.info = new;
        let flow = &self.plan.flows[self.plan.legs[end.leg].flow];
        if end.opens != flow.answers() && new.bytes_acked != end.acked && new.rtt_us > 0 {
            end.acked = new.bytes_acked;
            flow.record(now, Span::from_micros(new.rtt_us.into()));
            flow.min_rtt.fetch_min(u64::from(new.min_rtt_us) * 1000, Relaxed);
        }
        Ok(())
    }

    /// Says when an end had another congestion control than it was to have.
    fn unlike(&self, end: &RelayEnd) -> Option<String> {
        let leg = &self.plan.legs[end.leg];
        let wanted = &leg.cc[usize::from(!end.opens)].name;
        let used = end.sock.as_ref().map(|s| &s.cc).filter(|used| *used != wanted)?;
        let (peer, flow) = (if end.opens { leg.to } else { leg.from }, &self.plan.flows[leg.flow].name);
        let [host, peer] = [end.host, peer].map(|h| &self.scenario.hosts[h].name);
        Some(format!("flow {flow}: towards {peer} the relay at {host} used {used}, not {wanted}"))
    }

    /// Books what an end sent.
    fn account(&self, end: &RelayEnd) {
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
