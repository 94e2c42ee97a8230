//! The hosts' real daemons: strongSwan, BIRD and vsftpd. They start before a run and end with it.
//!
//! Each host with services has a shell of longfat's in its network namespace, with its own process-id
//! namespace and its own `/run` (in memory). The shell starts the daemons and reads commands from its
//! standard input, so that the commands find the daemons' sockets. When the shell or longfat ends, for
//! whatever reason, all daemons are killed (`launch/init.rs`).
//!
//! | service | on the kernel |
//! |---|---|
//! | `ipsec` | one charon per tunnel end, with its own device (`kernel-libipsec`: ESP in UDP, in user space). Packets routed into the device are encrypted whatever their addresses, so two customers may use the same ones |
//! | `bgp` | one BIRD, with one routing table per customer |
//! | `ftp` | vsftpd, files in memory |
//!
//! Order of start: devices and addresses, tunnels, sessions, routes. Meanwhile the engine forwards packets as
//! in the run.

mod config;
mod console;
mod show;

use crate::LabError;
use crate::affinity::TrafficThreads;
use crate::clock::WallClock;
use crate::controls::Controls;
use crate::engine::{ENGINE, Engine};
use crate::failures::{FailedComponents, describe_exit, join_thread};
use crate::netlink::Netlink;
use crate::network::LabNetwork;
use crate::packages::Part;
use crate::plan::FlowPlan;
use crate::program::is_installed;
use crate::routing::{check_learned_routes, install};
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

/// Limit until all tunnels, sessions and routes are up. BIRD connects 1 s after its start and retries every
/// second; IKE retransmits after 4 s.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between checks whether tunnels, sessions and routes are up.
const STARTUP_POLL: Duration = Duration::from_millis(100);
/// Interval between checks whether daemons still run.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Limit for one command of a console.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(12);

/// Returns the name of a host's tunnel device over a link. strongSwan numbers them in the order in which they
/// come up.
pub fn tunnel_device(scenario: &Scenario, host: usize, link: usize) -> String {
    format!("ipsec{}", config::tunnels(scenario, host).take_while(|&l| l < link).count())
}

/// The daemons of all hosts of a scenario.
pub struct Daemons<'a> {
    scenario: &'a Scenario,
    network: &'a LabNetwork,
    /// Pre-shared key of all tunnels.
    secret: String,
    consoles: BTreeMap<usize, HostDaemons>,
    /// Time from the first daemon's start until tunnels, sessions and routes were up.
    pub startup: Duration,
}

struct HostDaemons {
    console: DaemonConsole,
    /// Running daemons by their process id inside the namespace.
    running: BTreeMap<i32, String>,
    /// Whether the host's console has ended.
    is_dead: bool,
}

/// Programs and files that a service needs on this machine.
pub fn parts(service: &Service) -> Vec<Part> {
    let is_file = |path: &str| Path::new(path).is_file();
    let mut parts = match service {
        Service::Ipsec { .. } => vec![
            ("charon (strongSwan)", is_file(config::CHARON), "strongswan-charon"),
            ("swanctl (strongSwan)", is_installed("swanctl"), "strongswan-swanctl"),
            (
                "kernel-libipsec (a plugin of strongSwan)",
                is_file(config::LIBIPSEC),
                "libcharon-extra-plugins",
            ),
            ("openssl (a plugin of strongSwan)", is_file(config::OPENSSL), "libstrongswan-standard-plugins"),
        ],
        Service::Bgp { .. } => vec![("bird", is_file(config::BIRD), "bird2")],
        Service::Ftp {} => {
            vec![("vsftpd", is_file(config::VSFTPD), "vsftpd"), ("ss", is_installed("ss"), "iproute2")]
        }
    };
    parts.push(("ip", is_installed("ip"), "iproute2"));
    parts
}

impl<'a> Daemons<'a> {
    /// Starts all daemons and waits until they are up. Returns `None` if no host has a service.
    ///
    /// # Errors
    /// Fails if something does not come up; the error names host and link and quotes the daemon's last
    /// output.
    pub fn bring_up(
        scenario: &'a Scenario,
        network: &'a LabNetwork,
        seed: u64,
        cancel: &AtomicBool,
    ) -> Result<Option<Daemons<'a>>, LabError> {
        if scenario.hosts.iter().all(|h| h.services.is_empty()) {
            return Ok(None);
        }
        let begun = Instant::now();
        let secret = config::secret().map_err(LabError::system("a key for tunnels (/dev/urandom)"))?;
        let consoles = BTreeMap::new();
        let mut this = Daemons { scenario, network, secret, consoles, startup: Duration::ZERO };
        for (host, _) in scenario.hosts.iter().enumerate().filter(|(_, h)| !h.services.is_empty()) {
            let mut console = DaemonConsole::start(scenario, network, host)?;
            console
                .send(&config::start(scenario, host, &this.secret))
                .map_err(this.failed(host, "its daemons"))?;
            this.consoles.insert(host, HostDaemons { console, running: BTreeMap::new(), is_dead: false });
        }
        for (&host, daemons) in &mut this.consoles {
            let answer = daemons.console.answer(COMMAND_TIMEOUT);
            let (code, output) = answer.map_err(failed(scenario, host, "its daemons"))?;
            if code != 0 {
                return Err(not_up(scenario, host, "its daemons did not start", &output));
            }
            daemons.running = config::daemons(scenario, &output).into_iter().collect();
            install_tunnel_routes(scenario, network, host)?;
        }
        this.with_packets(seed, |this| this.connect(begun + STARTUP_TIMEOUT, cancel))?;
        this.startup = begun.elapsed();
        Ok(Some(this))
    }

    /// Restarts the daemons of a host after a fault and sets up its tunnels again.
    fn restart(&mut self, host: usize) -> Result<(), LabError> {
        let start = config::start(self.scenario, host, &self.secret);
        let (code, output) = self.command(host, &start)?;
        if code != 0 {
            return Err(not_up(self.scenario, host, "its daemons did not start again", &output));
        }
        if let Some(daemons) = self.consoles.get_mut(&host) {
            daemons.running = config::daemons(self.scenario, &output).into_iter().collect();
        }
        install_tunnel_routes(self.scenario, self.network, host)?;
        // If a tunnel is not up at once, charon keeps trying.
        let tunnels: Vec<usize> = config::tunnels(self.scenario, host).collect();
        for link in tunnels {
            self.command(host, &config::initiate_tunnel(link))?;
        }
        Ok(())
    }

    fn failed(&self, host: usize, what: &str) -> impl FnOnce(std::io::Error) -> LabError {
        failed(self.scenario, host, what)
    }

    /// Runs `work` while the engine forwards packets.
    fn with_packets<T>(
        &mut self,
        seed: u64,
        work: impl FnOnce(&mut Self) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let (mut scenario, network) = (self.scenario.clone(), self.network);
        (scenario.sample, scenario.flows) = (Span::ZERO, Vec::new());
        let plan = FlowPlan::new(&scenario, None, &Controls::default())?;
        let (stop, threads) = (AtomicBool::new(false), TrafficThreads::new());
        thread::scope(|s| {
            let engine =
                Engine::new(&scenario, network, &plan, seed, WallClock::start_in(Duration::ZERO), None)
                    .without_end();
            let engine =
                s.spawn(|| engine.run(&stop, Some(&threads)).map_err(LabError::system("moving packets")));
            let done = work(self);
            stop.store(true, Relaxed);
            join_thread(engine, ENGINE)?;
            done
        })
    }

    /// Waits until tunnels, sessions and routes are up.
    fn connect(&mut self, until: Instant, cancel: &AtomicBool) -> Result<(), LabError> {
        for step in [UpStep::Tunnels, UpStep::Sessions, UpStep::Routes] {
            let hosts: Vec<usize> = self.consoles.keys().copied().collect();
            let mut pending: Vec<(usize, String)> = Vec::new();
            for host in hosts {
                let commands = match step {
                    UpStep::Tunnels => config::initiate_tunnels(self.scenario, host),
                    UpStep::Sessions => config::sessions_established(self.scenario, host),
                    UpStep::Routes => check_learned_routes(self.scenario, host),
                };
                pending.extend(commands.map(|command| (host, command)));
            }
            while let Some((host, command)) = pending.last() {
                if cancel.load(Relaxed) {
                    return Err(LabError::Stopped);
                }
                let (code, output) = self.command(*host, command)?;
                if code == 0 {
                    pending.pop();
                    continue;
                }
                if Instant::now() > until {
                    return Err(not_up(self.scenario, *host, step.failure(), &output));
                }
                thread::sleep(STARTUP_POLL);
            }
        }
        Ok(())
    }

    /// Runs a command in a host's console. Returns its exit code and its output.
    pub fn command(&mut self, host: usize, command: &str) -> Result<(i32, String), LabError> {
        let scenario = self.scenario;
        let console = &mut self.consoles.get_mut(&host).ok_or(LabError::Killed)?.console;
        let answer = console.send(command).and_then(|()| console.answer(COMMAND_TIMEOUT));
        answer.map_err(failed(scenario, host, "querying its daemons"))
    }

    /// Applies the scenario's faults of tunnels, sessions and hosts until `end`, and records daemons that end
    /// for any other reason. Without an end it applies no faults and only watches until `stop`. The engine
    /// applies faults of links.
    pub fn apply_faults(
        &mut self,
        clock: WallClock,
        end: Option<Time>,
        stop: &AtomicBool,
        failures: &FailedComponents,
    ) -> Result<(), LabError> {
        let mut actions = if end.is_some() { self.actions() } else { Vec::new() }.into_iter().peekable();
        while !stop.load(Relaxed) && end.is_none_or(|end| clock.now() < end) {
            self.watch(failures);
            while let Some((_, host, apply)) = actions.next_if(|(at, ..)| *at <= clock.now()) {
                if let Err(e) = self.apply(host, apply) {
                    // If the console failed because its daemon shell died, that death is recorded and the
                    // error ignored.
                    self.watch(failures);
                    if !self.consoles.get(&host).is_some_and(|daemons| daemons.is_dead) {
                        return Err(e);
                    }
                }
            }
            let next = actions.peek().map(|(at, ..)| *at).into_iter().chain(end).min();
            thread::sleep(next.map_or(WATCH_INTERVAL, |at| clock.until(at).min(WATCH_INTERVAL)));
        }
        Ok(())
    }

    /// Commands that the scenario's faults run on hosts, ordered by time.
    fn actions(&self) -> Vec<(Time, usize, FaultAction)> {
        let mut actions = Vec::new();
        for fault in &self.scenario.faults {
            let begin = Time::ZERO + fault.at;
            for (at, up) in [(begin, false), (begin + fault.lasts, true)] {
                let commands = config::switch(self.scenario, fault, up).into_iter();
                let dies = fault.kind == FaultKind::Host && !up;
                actions.extend(
                    commands.map(|(host, command)| (at, host, FaultAction::Command { command, dies })),
                );
                actions.extend(fault.host.filter(|_| up).map(|host| (at, host, FaultAction::Restart)));
            }
        }
        actions.sort_by_key(|(at, ..)| *at);
        actions
    }

    fn apply(&mut self, host: usize, apply: FaultAction) -> Result<(), LabError> {
        let Some(daemons) = self.consoles.get_mut(&host).filter(|daemons| !daemons.is_dead) else {
            return Ok(());
        };
        match apply {
            FaultAction::Command { command, dies } => {
                if dies {
                    daemons.running.clear();
                }
                // The result does not matter here: the flows show the effect.
                self.command(host, &command).map(drop)
            }
            FaultAction::Restart => self.restart(host),
        }
    }

    /// Records the daemons that have died since the last call.
    fn watch(&mut self, failures: &FailedComponents) {
        for (&host, daemons) in &mut self.consoles {
            let name = &self.scenario.hosts[host].name;
            while let Some((pid, code)) = daemons.console.next_ended() {
                if let Some(what) = daemons.running.remove(&pid) {
                    failures.record(format!("host {name}: {what}"), describe_exit(code));
                }
            }
            if !daemons.is_dead
                && let Some(code) = daemons.console.ended()
            {
                daemons.is_dead = true;
                let all: Vec<String> = std::mem::take(&mut daemons.running).into_values().collect();
                failures.record(
                    format!("host {name}: the process that holds {}", all.join(", ")),
                    describe_exit(code),
                );
            }
        }
    }
}

/// An action at a host that begins or ends a fault.
enum FaultAction {
    /// Runs a command in the console. With `dies` the command kills all daemons of the host.
    Command { command: String, dies: bool },
    /// Restarts the host's daemons.
    Restart,
}

/// Installs a host's routes into its tunnels. The tunnels' devices must exist.
fn install_tunnel_routes(scenario: &Scenario, network: &LabNetwork, host: usize) -> Result<(), LabError> {
    let install_routes = || Netlink::new().and_then(|netlink| install(scenario, host, &netlink, true));
    let done = namespace::within(network.namespaces[host].as_fd(), install_routes).and_then(|done| done);
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

/// An error that names the host, what is missing, and the last lines of output.
fn not_up(scenario: &Scenario, host: usize, what: &str, output: &str) -> LabError {
    const LINES: usize = 6;
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    let plain = print::without_unseen(&last);
    let what = format!("{what} within {} s: {plain}", STARTUP_TIMEOUT.as_secs());
    LabError::Service { host: scenario.hosts[host].name.clone(), what }
}
