//! Real daemons of hosts: strongSwan, BIRD and vsftpd, brought up before a run and gone with it.
//!
//! Each host with services has a shell of longfat's own in its network namespace, with a process-id namespace and a `/run`
//! of its own (in memory). It starts the daemons and takes commands by its standard input, so that what asks them finds
//! their sockets. When it ends, or longfat does, however that happens, all of it is gone (`sys/init.rs`).
//!
//! | service | on the kernel |
//! |---|---|
//! | `ipsec` | one charon for each end of a tunnel, with a device of its own (`kernel-libipsec`: ESP in UDP, in user space). What routes lead into the device is encrypted, whatever its addresses: two customers may have the same |
//! | `bgp` | one BIRD, with a routing table for each customer |
//! | `ftp` | vsftpd, files in memory |
//!
//! The order: devices and addresses, tunnels, sessions, routes. Packets pass meanwhile as they do in the run.

mod config;
mod console;
mod show;

use crate::LabError;
use crate::clock::WallClock;
use crate::controls::Controls;
use crate::crew::Crew;
use crate::deaths::{Deaths, how, joined};
use crate::engine::{ENGINE, Engine};
use crate::netlink::Netlink;
use crate::network::LabNetwork;
use crate::packages::Part;
use crate::plan::FlowPlan;
use crate::program::found;
use crate::routing::{install, routes_through};
pub use config::esp_port;
use console::DaemonConsole;
use linux::namespace;
use scenario::{FaultKind, Scenario, Service};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use units::{Span, Time};

/// How long all tunnels, sessions and routes may take to come up. BIRD begins 1 s after it started and tries again each
/// second; IKE repeats itself after 4 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks whether they stand.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two looks whether daemons run.
const LOOK: Duration = Duration::from_millis(20);
/// How long one command of a console may take.
const ANSWER: Duration = Duration::from_secs(12);

/// The device of a host's tunnel over a link: strongSwan counts them in the order in which they come up.
pub fn tunnel_device(scenario: &Scenario, host: usize, link: usize) -> String {
    format!("ipsec{}", config::tunnels(scenario, host).take_while(|&l| l < link).count())
}

/// The daemons of all hosts.
pub struct Daemons<'a> {
    scenario: &'a Scenario,
    network: &'a LabNetwork,
    /// What both ends of each tunnel know.
    secret: String,
    consoles: BTreeMap<usize, HostDaemons>,
    /// From the first daemon's start until tunnels, sessions and routes stood.
    pub took: Duration,
}

/// The daemons of a host.
struct HostDaemons {
    console: DaemonConsole,
    /// Those that run, by their process id inside.
    running: BTreeMap<i32, String>,
    /// Its console has died.
    is_dead: bool,
}

/// What a service needs of this machine.
pub fn parts(service: &Service) -> Vec<Part> {
    let is_file = |path: &str| Path::new(path).is_file();
    let mut parts = match service {
        Service::Ipsec { .. } => vec![
            ("charon (strongSwan)", is_file(config::CHARON), "strongswan-charon"),
            ("swanctl (strongSwan)", found("swanctl"), "strongswan-swanctl"),
            (
                "kernel-libipsec (a plugin of strongSwan)",
                is_file(config::LIBIPSEC),
                "libcharon-extra-plugins",
            ),
            ("openssl (a plugin of strongSwan)", is_file(config::OPENSSL), "libstrongswan-standard-plugins"),
        ],
        Service::Bgp { .. } => vec![("bird", is_file(config::BIRD), "bird2")],
        Service::Ftp {} => {
            vec![("vsftpd", is_file(config::VSFTPD), "vsftpd"), ("ss", found("ss"), "iproute2")]
        }
    };
    parts.push(("ip", found("ip"), "iproute2"));
    parts
}

impl<'a> Daemons<'a> {
    /// Brings all up; `None` where no host has a service.
    ///
    /// # Errors
    /// What did not come up, by host, link and what it says.
    pub fn bring_up(
        scenario: &'a Scenario,
        network: &'a LabNetwork,
        seed: u64,
        halt: &AtomicBool,
    ) -> Result<Option<Daemons<'a>>, LabError> {
        if scenario.hosts.iter().all(|h| h.services.is_empty()) {
            return Ok(None);
        }
        let begun = Instant::now();
        let secret = config::secret().map_err(LabError::system("a key for tunnels (/dev/urandom)"))?;
        let consoles = BTreeMap::new();
        let mut this = Daemons { scenario, network, secret, consoles, took: Duration::ZERO };
        for (host, _) in scenario.hosts.iter().enumerate().filter(|(_, h)| !h.services.is_empty()) {
            let mut console = DaemonConsole::start(scenario, network, host)?;
            console
                .send(&config::start(scenario, host, &this.secret))
                .map_err(this.failed(host, "its daemons"))?;
            this.consoles.insert(host, HostDaemons { console, running: BTreeMap::new(), is_dead: false });
        }
        for (&host, daemons) in &mut this.consoles {
            let answer = daemons.console.answer(ANSWER);
            let (code, said) = answer.map_err(failed(scenario, host, "its daemons"))?;
            if code != 0 {
                return Err(did_not(scenario, host, "its daemons did not start", &said));
            }
            daemons.running = config::daemons(scenario, &said).into_iter().collect();
            lead_into_tunnels(scenario, network, host)?;
        }
        this.with_packets(seed, |this| this.connect(begun + PATIENCE, halt))?;
        this.took = begun.elapsed();
        Ok(Some(this))
    }

    /// Starts the daemons of a host that was lost, and makes its tunnels anew.
    fn restart(&mut self, host: usize) -> Result<(), LabError> {
        let start = config::start(self.scenario, host, &self.secret);
        let (code, said) = self.ask(host, &start)?;
        if code != 0 {
            return Err(did_not(self.scenario, host, "its daemons did not start again", &said));
        }
        if let Some(daemons) = self.consoles.get_mut(&host) {
            daemons.running = config::daemons(self.scenario, &said).into_iter().collect();
        }
        lead_into_tunnels(self.scenario, self.network, host)?;
        // Where one does not stand at once charon goes on trying.
        let tunnels: Vec<usize> = config::tunnels(self.scenario, host).collect();
        for link in tunnels {
            self.ask(host, &config::make(link))?;
        }
        Ok(())
    }

    fn failed(&self, host: usize, what: &str) -> impl FnOnce(std::io::Error) -> LabError {
        failed(self.scenario, host, what)
    }

    /// Does something while packets pass the links.
    fn with_packets<T>(
        &mut self,
        seed: u64,
        work: impl FnOnce(&mut Self) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let (mut scenario, network) = (self.scenario.clone(), self.network);
        (scenario.sample, scenario.flows) = (Span::ZERO, Vec::new());
        let plan = FlowPlan::new(&scenario, None, &Controls::default())?;
        let (stop, crew) = (AtomicBool::new(false), Crew::new());
        thread::scope(|s| {
            let engine =
                Engine::new(&scenario, network, &plan, seed, WallClock::start_in(Duration::ZERO), None)
                    .without_end();
            let engine = s.spawn(|| engine.run(&stop, &crew).map_err(LabError::system("moving packets")));
            let done = work(self);
            stop.store(true, Relaxed);
            joined(engine, ENGINE)?;
            done
        })
    }

    /// Waits until tunnels, sessions and routes stand.
    fn connect(&mut self, until: Instant, halt: &AtomicBool) -> Result<(), LabError> {
        for step in [UpStep::Tunnels, UpStep::Sessions, UpStep::Routes] {
            let hosts: Vec<usize> = self.consoles.keys().copied().collect();
            let mut waits: Vec<(usize, String)> = Vec::new();
            for host in hosts {
                let todo = match step {
                    UpStep::Tunnels => config::initiate(self.scenario, host),
                    UpStep::Sessions => config::sessions_stand(self.scenario, host),
                    UpStep::Routes => routes_through(self.scenario, host),
                };
                waits.extend(todo.map(|command| (host, command)));
            }
            while let Some((host, command)) = waits.last() {
                if halt.load(Relaxed) {
                    return Err(LabError::Stopped);
                }
                let (code, said) = self.ask(*host, command)?;
                if code == 0 {
                    waits.pop();
                    continue;
                }
                if Instant::now() > until {
                    return Err(did_not(self.scenario, *host, step.failure(), &said));
                }
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Has a host's console run a command: its exit code, and what it said.
    pub fn ask(&mut self, host: usize, command: &str) -> Result<(i32, String), LabError> {
        let scenario = self.scenario;
        let console = &mut self.consoles.get_mut(&host).ok_or(LabError::Killed)?.console;
        let asked = console.send(command).and_then(|()| console.answer(ANSWER));
        asked.map_err(failed(scenario, host, "asking its daemons"))
    }

    /// Plays the scenario's faults of tunnels, sessions and hosts until `end`, and notes daemons that die of anything else;
    /// without an end it plays no faults and watches until `stop`. Faults of links are the engine's.
    pub fn play(
        &mut self,
        clock: WallClock,
        end: Option<Time>,
        stop: &AtomicBool,
        deaths: &Deaths,
    ) -> Result<(), LabError> {
        let mut acts = if end.is_some() { self.acts() } else { Vec::new() }.into_iter().peekable();
        while !stop.load(Relaxed) && end.is_none_or(|end| clock.now() < end) {
            self.watch(deaths);
            while let Some((_, host, act)) = acts.next_if(|(at, ..)| *at <= clock.now()) {
                if let Err(e) = self.act(host, act) {
                    // A console that cannot answer may have died of what is to be noted.
                    self.watch(deaths);
                    if !self.consoles.get(&host).is_some_and(|daemons| daemons.is_dead) {
                        return Err(e);
                    }
                }
            }
            let next = acts.peek().map(|(at, ..)| *at).into_iter().chain(end).min();
            thread::sleep(next.map_or(LOOK, |at| clock.until(at).min(LOOK)));
        }
        Ok(())
    }

    /// What the scenario's faults have hosts do, and when.
    fn acts(&self) -> Vec<(Time, usize, FaultAct)> {
        let mut acts = Vec::new();
        for fault in &self.scenario.faults {
            let begin = Time::ZERO + fault.at;
            for (at, up) in [(begin, false), (begin + fault.lasts, true)] {
                let commands = config::switch(self.scenario, fault, up).into_iter();
                let dies = fault.kind == FaultKind::Host && !up;
                acts.extend(commands.map(|(host, command)| (at, host, FaultAct::Ask { command, dies })));
                acts.extend(fault.host.filter(|_| up).map(|host| (at, host, FaultAct::Restart)));
            }
        }
        acts.sort_by_key(|(at, ..)| *at);
        acts
    }

    fn act(&mut self, host: usize, act: FaultAct) -> Result<(), LabError> {
        let Some(daemons) = self.consoles.get_mut(&host).filter(|daemons| !daemons.is_dead) else {
            return Ok(());
        };
        match act {
            FaultAct::Ask { command, dies } => {
                if dies {
                    daemons.running.clear();
                }
                // Flows see what came of it.
                self.ask(host, &command).map(drop)
            }
            FaultAct::Restart => self.restart(host),
        }
    }

    /// Notes the daemons that have died since it last looked.
    fn watch(&mut self, deaths: &Deaths) {
        for (&host, daemons) in &mut self.consoles {
            let name = &self.scenario.hosts[host].name;
            while let Some((pid, code)) = daemons.console.next_ended() {
                if let Some(what) = daemons.running.remove(&pid) {
                    deaths.note(format!("host {name}: {what}"), how(code));
                }
            }
            if !daemons.is_dead
                && let Some(code) = daemons.console.ended()
            {
                daemons.is_dead = true;
                let all: Vec<String> = std::mem::take(&mut daemons.running).into_values().collect();
                deaths.note(format!("host {name}: the process that holds {}", all.join(", ")), how(code));
            }
        }
    }
}

/// What begins or ends a fault at a host.
enum FaultAct {
    /// Its console runs this, which ends all of its daemons where `dies`.
    Ask { command: String, dies: bool },
    /// It starts anew.
    Restart,
}

/// Installs a host's routes into its tunnels, whose devices are there.
fn lead_into_tunnels(scenario: &Scenario, network: &LabNetwork, host: usize) -> Result<(), LabError> {
    let into = || Netlink::new().and_then(|netlink| install(scenario, host, &netlink, true));
    let done = namespace::within(network.namespaces[host].as_fd(), into).and_then(|done| done);
    done.map_err(failed(scenario, host, "routes into its tunnels"))
}

#[derive(Clone, Copy)]
enum UpStep {
    Tunnels,
    Sessions,
    Routes,
}

impl UpStep {
    fn failure(self) -> &'static str {
        match self {
            UpStep::Tunnels => "its IPsec tunnel was not established",
            UpStep::Sessions => "its BGP sessions were not established",
            UpStep::Routes => "it has not learned all routes",
        }
    }
}

fn failed(scenario: &Scenario, host: usize, what: &str) -> impl FnOnce(std::io::Error) -> LabError + use<> {
    LabError::system(format!("host {}: {what}", scenario.hosts[host].name))
}

/// An error that names the host, what is missing, and the last words.
fn did_not(scenario: &Scenario, host: usize, what: &str, said: &str) -> LabError {
    const LINES: usize = 6;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    let plain = print::without_unseen(&last);
    let what = format!("{what} within {} s: {plain}", PATIENCE.as_secs());
    LabError::Service { host: scenario.hosts[host].name.clone(), what }
}
