//! Runs a user's programs inside a scenario until the foreground command ends.
//!
//! The engine runs without a fixed end and records no time series. The scenario's own flows run as background
//! traffic if requested. When the foreground command ends, everything ends.

use crate::LabError;
use crate::affinity::TrafficThreads;
use crate::clock::WallClock;
use crate::controls::{Controls, requests};
use crate::daemon::Daemons;
use crate::engine::{ENGINE, Engine};
use crate::failures::{FailedComponents, join_thread};
use crate::hosts::HostThreads;
use crate::identity::{Author, Identity, login_shell};
use crate::launch::{CommandChange, Launch, Output, Running};
use crate::network::{self, LabNetwork};
use crate::packages;
use crate::plan::FlowPlan;
use crate::relay::{self, Relays};
use crate::run::{START_DELAY, StopGuard};
use crate::serve::Servers;
use crate::tool::{self, Tools};
use crate::user_namespace::shell_in_user_namespace;
use congestion::Control;
use kernel_cc::Kernel;
use linux::privilege::can_create_namespaces;
use linux::terminal::Foreground;
use linux::{namespace, signal};
use result::DeadComponent;
use scenario::{Host, Scenario};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use units::{Span, Time};

/// Options of [`shell`]. Hosts are given by index.
#[derive(Default)]
pub struct ShellOptions<'a> {
    /// Seed of every random stream of path elements and datagram sources.
    pub seed: u64,
    /// The host on which the command runs.
    pub host: usize,
    /// The program and its arguments; empty for the user's shell.
    pub command: Vec<OsString>,
    /// Background commands that are killed when the foreground command ends.
    pub serve: Vec<Serve>,
    /// Whether to also run the scenario's flows, once, for the scenario's duration.
    pub flows: bool,
    /// The user that commands run as: a name or number, optionally followed by `:` and a group number.
    /// Default: the user who called sudo, otherwise `nobody` if root runs longfat.
    pub user: Option<String>,
    /// Folders that commands may write to in addition to the default ones, when root runs them.
    pub writable: Vec<PathBuf>,
    /// Receives messages for the user: failed servers, settings that could not be applied.
    pub notice: Option<&'a mut dyn FnMut(&str)>,
}

/// A command in the background of a shell.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The host on which the command runs.
    pub host: usize,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Events that a running shell reports to its caller.
pub(crate) enum ShellEvent<'a> {
    /// A message for the user.
    Notice(&'a str),
    /// The command was stopped (SIGTSTP); this process will stop as well until it is continued.
    Suspend,
}

/// Exit code of a command that itself ended with 0 although a component of the network failed.
const EXIT_COMPONENT_DIED: i32 = 1;
/// How often servers and the engine are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a command inside a scenario. Returns its exit code, or 128 plus the number of the signal that ended
/// it. If a component of the network fails, `notice` is called at once, and a command that ends with 0 gets
/// the exit code [`EXIT_COMPONENT_DIED`].
///
/// While the command runs, this process ignores SIGINT, SIGQUIT and SIGTSTP: the terminal's keys are for the
/// command. Without privileges the network is built in a user namespace of a child process.
///
/// # Errors
/// Fails on missing permissions and failed system calls, with [`LabError::Command`] when the command does not
/// start, and with `flows` also when the kernel cannot run one of the flows.
pub fn shell(scenario: &Scenario, options: ShellOptions) -> Result<i32, LabError> {
    let mut scenario = scenario.clone();
    scenario.sample = Span::ZERO;
    let ShellOptions { seed, host, command, serve, notice, flows, user, writable } = options;
    let notice: &mut dyn FnMut(&str) = match notice {
        Some(notice) => notice,
        None => &mut |_| (),
    };
    if user.is_some() {
        Identity::resolve(user.as_deref())?;
    }
    let no_controls = Controls::default();
    // Keep the loaded programs until the end. If no flow is run, commands can use another congestion control.
    let controls = match Controls::load(&requests(&scenario, None)) {
        Err(e) if !flows => {
            notice(&format!(
                "{e}; programs on such hosts start with reno, and the results are those of reno"
            ));
            None
        }
        controls => Some(controls?),
    };
    let lacks = |name: &str| controls.is_none() && !Kernel::now().has(name);
    let controls = controls.as_ref().unwrap_or(&no_controls);
    let default = |h| {
        let name = controls.find(congestion(&scenario, h)).name;
        if lacks(&name) { "reno".into() } else { name }
    };
    let defaults: Vec<String> = (0..scenario.hosts.len()).map(default).collect();
    if !flows {
        scenario.flows.clear();
    }
    packages::check(&scenario, None)?;
    let plan = FlowPlan::new(&scenario, None, controls)?;
    tool::check(&scenario, &plan)?;
    relay::check(&scenario, &plan)?;
    let job = ShellJob {
        scenario: &scenario,
        plan: &plan,
        defaults: &defaults,
        seed,
        host,
        command,
        serve,
        user,
        writable,
    };
    let socket_settings: Vec<String> = scenario.hosts.iter().filter_map(socket_settings).collect();
    if !socket_settings.is_empty() {
        notice(&format!(
            "these settings do not apply to programs, which must set them themselves: {}",
            socket_settings.join(", ")
        ));
    }
    if !can_create_namespaces() {
        return shell_in_user_namespace(|report| job.run(report), notice);
    }
    job.run(&mut |what| match what {
        ShellEvent::Notice(text) => notice(text),
        ShellEvent::Suspend => {}
    })
}

/// Returns the congestion control that a host's programs start with: that of the host's first flow, otherwise
/// of the scenario's first flow, otherwise Linux's default.
fn congestion(scenario: &Scenario, host: usize) -> Control {
    let tcp = || scenario.flows.iter().filter(|f| !f.app.is_datagrams());
    let flow = tcp().find(|f| f.from == host).or_else(|| tcp().next());
    flow.map_or(Control::default(), |f| f.cc)
}

/// Returns the congestion controls that unprivileged programs may choose, separated by blanks.
fn allowed_controls() -> String {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    list.unwrap_or_default().trim().into()
}

/// Lists the stack settings of a host that are applied per socket and therefore only to the scenario's own
/// flows.
fn socket_settings(host: &Host) -> Option<String> {
    let s = &host.stack;
    let keys = [
        ("mss", s.mss.is_some()),
        ("receive_window", s.receive_window.is_some()),
        ("delayed_ack", s.delayed_ack.is_some()),
        ("pacing", s.pacing == Some(true)),
    ];
    let set: Vec<&str> = keys.iter().filter(|(_, set)| *set).map(|(key, _)| *key).collect();
    (!set.is_empty()).then(|| format!("hosts.{}.stack {}", host.name, set.join(" ")))
}

struct ShellJob<'a> {
    scenario: &'a Scenario,
    plan: &'a FlowPlan,
    /// Default congestion control of each host.
    defaults: &'a [String],
    seed: u64,
    host: usize,
    command: Vec<OsString>,
    serve: Vec<Serve>,
    user: Option<String>,
    writable: Vec<PathBuf>,
}

/// Reports failed components. Returns whether the engine still runs.
type CheckNetwork<'a> = dyn FnMut(&mut dyn FnMut(ShellEvent)) -> bool + 'a;

impl ShellJob<'_> {
    fn run(&self, report: &mut dyn FnMut(ShellEvent)) -> Result<i32, LabError> {
        let network = LabNetwork::build(self.scenario)?;
        let mut daemons = Daemons::bring_up(self.scenario, &network, self.seed, &AtomicBool::new(false))?;
        self.set_defaults(&network, daemons.is_none(), report)?;
        let hosts_file = network::hosts_file(self.scenario);
        let identity = Identity::resolve(self.user.as_deref())?;
        let tools = Tools::prepare(self.scenario, self.plan, &network, identity.clone())?;
        let relays = Relays::prepare(self.scenario, self.plan, &network, &identity)?;
        let identity = self.own_identity(identity, report)?;
        let (stop, threads) = (AtomicBool::new(false), TrafficThreads::new());
        let clock = WallClock::start_in(START_DELAY);
        let failures = FailedComponents::new(clock);
        thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let (stop, threads, failures) = (&stop, &threads, &failures);
            let engine =
                Engine::new(self.scenario, &network, self.plan, self.seed, clock, None).without_end();
            let engine =
                s.spawn(move || engine.run(stop, Some(threads)).map_err(LabError::system("moving packets")));
            let (scenario, plan, seed) = (self.scenario, self.plan, self.seed);
            let hosts = HostThreads { scenario, plan, network: &network, seed, clock, stop, threads };
            let mut hosts = hosts.start(s);
            hosts.extend(tools.map(|tools| s.spawn(move || tools.run(clock, stop, failures))));
            hosts.extend(relays.map(|relays| s.spawn(move || relays.run(clock, stop, threads, failures))));
            let watch = |daemons: &mut Daemons| daemons.apply_faults(clock, None, stop, failures);
            let watcher = daemons.as_mut().map(|daemons| s.spawn(move || watch(daemons)));
            let mut servers = Servers::start(&self.serve, &network, &hosts_file, &identity, &self.writable)?;
            servers.await_listening(&network, report, failures);
            // Packets that arrive before the clock starts wait in the devices.
            thread::sleep(clock.until(Time::ZERO));
            let mut known = 0;
            let mut check = |report: &mut dyn FnMut(ShellEvent)| {
                servers.check(report, failures);
                for dead in failures.since(known) {
                    known += 1;
                    report(ShellEvent::Notice(&died_message(&dead)));
                }
                !engine.is_finished()
            };
            let done = self.foreground(&network, &hosts_file, &identity, report, &mut check);
            check(report);
            drop(servers);
            stop.store(true, Relaxed);
            for host in hosts {
                match join_thread(host, "a thread that runs the traffic of a host") {
                    Ok(done) => done.notices.iter().for_each(|text| report(ShellEvent::Notice(text))),
                    Err(e) => report(ShellEvent::Notice(&format!("the scenario's flows: {e}"))),
                }
            }
            watcher.map_or(Ok(()), |watcher| join_thread(watcher, "the thread that watches daemons"))?;
            // An error of the engine takes precedence over the command, which was killed because of it.
            join_thread(engine, ENGINE)?;
            done.map(|code| if code == 0 && known > 0 { EXIT_COMPONENT_DIED } else { code })
        })
    }

    /// Returns the user that the typed command runs as. The command should be able to write to the current
    /// folder as usual: if that folder cannot be given to another user, the command runs as root.
    fn own_identity(
        &self,
        identity: Identity,
        report: &mut dyn FnMut(ShellEvent),
    ) -> Result<Identity, LabError> {
        let folder = std::env::current_dir().map_err(LabError::system("the current folder"))?;
        match identity.grants(Author::User, &folder, &self.writable) {
            Err(e) if identity.is_default => {
                report(ShellEvent::Notice(&format!(
                    "programs run as root without capabilities and can read root's files, because {} cannot be given to another user \
                     ({}); to run them as nobody, use --user nobody in a folder where nobody may write",
                    e.path.display(),
                    e.why
                )));
                Ok(identity.as_root())
            }
            _ => Ok(identity),
        }
    }

    /// Sets the congestion control that each host's programs use. A restricted one cannot be a namespace's
    /// default, but the control of its routes, unless a daemon changes these (`has_fixed_routes`).
    fn set_defaults(
        &self,
        network: &LabNetwork,
        has_fixed_routes: bool,
        report: &mut dyn FnMut(ShellEvent),
    ) -> Result<(), LabError> {
        let mut notices = BTreeSet::new();
        for (host, (namespace, cc)) in network.namespaces.iter().zip(self.defaults).enumerate() {
            let scenario = self.scenario;
            let set = || {
                let Err(refused) = network::default_congestion_control(cc) else { return Ok(false) };
                if !has_fixed_routes {
                    return Err(refused);
                }
                let mut others = (0..scenario.hosts.len()).filter(|&to| to != host);
                others.try_for_each(|to| network::route_control(scenario, host, to, cc)).map(|()| true)
            };
            let set = namespace::within(namespace.as_fd(), set);
            notices.insert(match set.map_err(LabError::system("entering a namespace"))? {
                Ok(false) => continue,
                Ok(true) => format!(
                    "all connections use {cc}, by their routes, because only privileged programs may choose it; \
                     a control that a program chooses before it connects has no effect"
                ),
                Err(e) => format!(
                    "programs start with reno, not {cc} ({e}): the results are those of reno. To change that for \
                     all of this machine: sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} {cc}\"",
                    allowed_controls()
                ),
            });
        }
        notices.iter().for_each(|text| report(ShellEvent::Notice(text)));
        Ok(())
    }

    /// Runs the foreground command. `check` reports failed components and whether the engine still runs.
    fn foreground(
        &self,
        network: &LabNetwork,
        hosts_file: &str,
        identity: &Identity,
        report: &mut dyn FnMut(ShellEvent),
        check: &mut CheckNetwork<'_>,
    ) -> Result<i32, LabError> {
        let name = &self.scenario.hosts[self.host].name;
        let variable = |key: &str, value: String| (OsString::from(key), OsString::from(value));
        let mut env = vec![
            variable("LONGFAT_HOST", name.clone()),
            variable("LONGFAT_SCENARIO", self.scenario.name.clone()),
        ];
        let mut command = self.command.clone();
        if command.is_empty() {
            command.push(login_shell(identity));
            env.push(variable("PS1", format!("[longfat {name}] $ ")));
            // Debian's bashrc replaces the prompt and shows this variable in it.
            env.push(variable("debian_chroot", format!("longfat {name}")));
        }
        let stdin = io::stdin();
        let _front = Foreground::of(stdin.as_fd());
        let launch = Launch {
            namespace: network.namespaces[self.host].as_fd(),
            hosts_file,
            argv: &command,
            env: &env,
            identity,
            author: Author::User,
            writable: &self.writable,
            output: Output::Inherit,
        };
        let mut running = launch.start()?;
        let _keys = signal::Ignored::terminal_keys();
        let failed = || LabError::system("waiting for the command");
        loop {
            match running.wait_change(CHECK_INTERVAL).map_err(failed())? {
                Some(CommandChange::Ended(code)) => return Ok(code),
                // Without a terminal there is no user who could continue this process.
                Some(CommandChange::Stopped) if stdin.is_terminal() => suspend(&running, report),
                Some(CommandChange::Stopped) | None => {}
            }
            if !check(report) {
                return Err(LabError::Died { component: ENGINE.into(), how: "it ended".into() });
            }
        }
    }
}

/// The message for the user about a failed component.
fn died_message(dead: &DeadComponent) -> String {
    let seconds = dead.at_ms / 1000.0;
    format!(
        "error: {} died after {seconds:.1} s ({}): the network no longer matches the scenario",
        dead.component, dead.how
    )
}

/// Stops this process together with the command, so that its parent shell sees a stopped job.
fn suspend(running: &Running, report: &mut dyn FnMut(ShellEvent)) {
    report(ShellEvent::Suspend);
    signal::suspend();
    running.resume();
}
