//! A user's programs inside a scenario, for as long as one of them runs.
//!
//! The engine moves packets without an end and keeps no series; the scenario's own flows are
//! background traffic when wanted. Everything ends with the command in the foreground.

use crate::LabError;
use crate::apart::shell_apart;
use crate::clock::WallClock;
use crate::controls::{Controls, wishes};
use crate::crew::Crew;
use crate::daemon::Daemons;
use crate::deaths::{Deaths, joined};
use crate::engine::{ENGINE, Engine};
use crate::hosts::PlayingHosts;
use crate::identity::{Author, Identity, users_shell};
use crate::launch::{CommandNews, Launch, Output, Running};
use crate::network::{self, LabNetwork};
use crate::packages;
use crate::plan::FlowPlan;
use crate::relay::{self, Relays};
use crate::run::{LEAD, StopGuard};
use crate::serve::Servers;
use crate::tool::{self, Tools};
use congestion::Control;
use kernel_cc::Kernel;
use linux::privilege::may_build;
use linux::terminal::Foreground;
use linux::{namespace, signal};
use result::DeadComponent;
use scenario::{Host, Scenario};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use units::{Span, Time};

/// What a shell takes besides its scenario. Hosts are told by index.
#[derive(Default)]
pub struct ShellOptions<'a> {
    /// Seed of every random stream of path elements and datagram sources.
    pub seed: u64,
    /// Where the command runs.
    pub host: usize,
    /// The program and its arguments; empty for the user's shell.
    pub command: Vec<OsString>,
    /// Commands that run beside it and end with it.
    pub serve: Vec<Serve>,
    /// Also plays the scenario's flows, once, for the scenario's duration.
    pub flows: bool,
    /// Whom commands run as: a name or number of a user, perhaps `:` and a group's number; default: whoever called sudo,
    /// else `nobody` where root runs them.
    pub user: Option<String>,
    /// Folders that commands may write to besides the usual, where root runs them.
    pub writable: Vec<PathBuf>,
    /// Is told what a user may want to know: servers that failed, settings that had to give way.
    pub notice: Option<&'a mut dyn FnMut(&str)>,
}

/// A command in the background of a shell.
#[derive(Clone, Debug)]
pub struct Serve {
    /// Where it runs.
    pub host: usize,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// What a shell tells its caller while it runs.
pub(crate) enum Tell<'a> {
    /// For the user.
    Notice(&'a str),
    /// The command was stopped and this process is about to be, until it is continued.
    Suspend,
}

/// The exit code of a command that ended with 0 in a network of which a component died.
const DIED: i32 = 1;
/// How often servers and engine are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a command inside a scenario; its exit code, or 128 and the signal that ended it. Where a component of the network
/// died meanwhile, which goes to `notice` at once, a command that ended with 0 has the exit code [`DIED`].
///
/// While the command runs, this process ignores SIGINT, SIGQUIT and SIGTSTP: the terminal's keys are
/// for the command. Without privileges it tries a user namespace, in a process of its own.
///
/// # Errors
/// Missing permissions, failed system calls, [`LabError::Command`] when the command does not start;
/// with `flows` also what the kernel cannot do.
pub fn shell(scenario: &Scenario, options: ShellOptions) -> Result<i32, LabError> {
    let mut scenario = scenario.clone();
    scenario.sample = Span::ZERO;
    let ShellOptions { seed, host, command, serve, notice, flows, user, writable } = options;
    let notice: &mut dyn FnMut(&str) = match notice {
        Some(notice) => notice,
        None => &mut |_| (),
    };
    if user.is_some() {
        Identity::of(user.as_deref())?;
    }
    let nothing = Controls::default();
    // Held until the end. Where no flow is played the programs can do with another.
    let controls = match Controls::load(&wishes(&scenario, None)) {
        Err(e) if !flows => {
            notice(&format!("{e}; programs of such hosts begin with reno"));
            None
        }
        controls => Some(controls?),
    };
    let lacks = |name: &str| controls.is_none() && !Kernel::now().has(name);
    let controls = controls.as_ref().unwrap_or(&nothing);
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
    let unheeded: Vec<String> = scenario.hosts.iter().filter_map(unheeded).collect();
    if !unheeded.is_empty() {
        notice(&format!("programs set these themselves, or not at all: {}", unheeded.join(", ")));
    }
    if !may_build() {
        return shell_apart(|tell| job.run(tell), notice);
    }
    job.run(&mut |what| match what {
        Tell::Notice(text) => notice(text),
        Tell::Suspend => {}
    })
}

/// The congestion control a host's programs begin with: that of its own first flow, else of the
/// scenario's first, else Linux's default.
fn congestion(scenario: &Scenario, host: usize) -> Control {
    let tcp = || scenario.flows.iter().filter(|f| !f.app.is_datagrams());
    let flow = tcp().find(|f| f.from == host).or_else(|| tcp().next());
    flow.map_or(Control::default(), |f| f.cc)
}

/// What of a host's stack is set on sockets, and so holds for the scenario's own flows alone.
fn unheeded(host: &Host) -> Option<String> {
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
    /// For each host.
    defaults: &'a [String],
    seed: u64,
    host: usize,
    command: Vec<OsString>,
    serve: Vec<Serve>,
    user: Option<String>,
    writable: Vec<PathBuf>,
}

/// Reports what died meanwhile, and whether there is still a network.
type Look<'a> = dyn FnMut(&mut dyn FnMut(Tell)) -> bool + 'a;

impl ShellJob<'_> {
    fn run(&self, tell: &mut dyn FnMut(Tell)) -> Result<i32, LabError> {
        let network = LabNetwork::build(self.scenario)?;
        let mut daemons = Daemons::bring_up(self.scenario, &network, self.seed, &AtomicBool::new(false))?;
        self.set_defaults(&network, tell)?;
        let names = network::hosts_file(self.scenario);
        let identity = Identity::of(self.user.as_deref())?;
        let tools = Tools::prepare(self.scenario, self.plan, &network, identity.clone())?;
        let relays = Relays::prepare(self.scenario, self.plan, &network, &identity)?;
        let identity = self.own_identity(identity, tell)?;
        let (stop, crew) = (AtomicBool::new(false), Crew::new());
        let clock = WallClock::start_in(LEAD);
        let deaths = Deaths::new(clock);
        thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let (stop, crew, deaths) = (&stop, &crew, &deaths);
            let engine =
                Engine::new(self.scenario, &network, self.plan, self.seed, clock, None).without_end();
            let engine = s.spawn(move || engine.run(stop, crew).map_err(LabError::system("moving packets")));
            let (scenario, plan, seed) = (self.scenario, self.plan, self.seed);
            let hosts = PlayingHosts { scenario, plan, network: &network, seed, clock, stop, crew };
            let mut hosts = hosts.start(s);
            hosts.extend(tools.map(|tools| s.spawn(move || tools.run(clock, stop, deaths))));
            hosts.extend(relays.map(|relays| s.spawn(move || relays.run(clock, stop, crew, deaths))));
            let play = |daemons: &mut Daemons| daemons.play(clock, None, stop, deaths);
            let faults = daemons.as_mut().map(|daemons| s.spawn(move || play(daemons)));
            let mut servers = Servers::start(&self.serve, &network, &names, &identity, &self.writable)?;
            servers.await_listening(&network, tell, deaths);
            // Before the clock starts, what comes in waits.
            thread::sleep(clock.until(Time::ZERO));
            let mut known = 0;
            let mut look = |tell: &mut dyn FnMut(Tell)| {
                servers.look(tell, deaths);
                for dead in deaths.since(known) {
                    known += 1;
                    tell(Tell::Notice(&died(&dead)));
                }
                !engine.is_finished()
            };
            let done = self.foreground(&network, &names, &identity, tell, &mut look);
            look(tell);
            drop(servers);
            stop.store(true, Relaxed);
            for host in hosts {
                match joined(host, "a thread that plays hosts") {
                    Ok(report) => report.notices.iter().for_each(|text| tell(Tell::Notice(text))),
                    Err(e) => tell(Tell::Notice(&format!("the scenario's flows: {e}"))),
                }
            }
            faults.map_or(Ok(()), |faults| joined(faults, "the thread that watches daemons"))?;
            // What ended the engine matters more than the command that was killed for it.
            joined(engine, ENGINE)?;
            done.map(|code| if code == 0 && known > 0 { DIED } else { code })
        })
    }

    /// Whom what was typed runs as. It is to write into the current folder as ever: where that cannot be given to another
    /// user, it runs as root.
    fn own_identity(&self, identity: Identity, tell: &mut dyn FnMut(Tell)) -> Result<Identity, LabError> {
        let folder = std::env::current_dir().map_err(LabError::system("the current folder"))?;
        match identity.gifts(Author::User, &folder, &self.writable) {
            Err(e) if identity.unasked => {
                tell(Tell::Notice(&format!(
                    "programs run as root without capabilities, and read what root may: {} cannot be given to another user \
                     ({}); --user nobody runs them as nobody all the same, from a folder where nobody may write",
                    e.path.display(),
                    e.why
                )));
                Ok(identity.as_root())
            }
            _ => Ok(identity),
        }
    }

    fn set_defaults(&self, network: &LabNetwork, tell: &mut dyn FnMut(Tell)) -> Result<(), LabError> {
        for (namespace, cc) in network.namespaces.iter().zip(self.defaults) {
            let set = namespace::within(namespace.as_fd(), || network::default_congestion_control(cc));
            let Err(e) = set.map_err(LabError::system("entering a namespace"))? else { continue };
            let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
            tell(Tell::Notice(&format!(
                "programs begin with reno, not {cc} ({e}); to change that: sysctl -w \
                 net.ipv4.tcp_allowed_congestion_control=\"{} {cc}\"",
                allowed.unwrap_or_default().trim()
            )));
            break;
        }
        Ok(())
    }

    /// Runs the command; `look` reports what died meanwhile, and whether there is still a network.
    fn foreground(
        &self,
        network: &LabNetwork,
        names: &str,
        identity: &Identity,
        tell: &mut dyn FnMut(Tell),
        look: &mut Look<'_>,
    ) -> Result<i32, LabError> {
        let name = &self.scenario.hosts[self.host].name;
        let hint = |key: &str, value: String| (OsString::from(key), OsString::from(value));
        let mut env =
            vec![hint("LONGFAT_HOST", name.clone()), hint("LONGFAT_SCENARIO", self.scenario.name.clone())];
        let mut command = self.command.clone();
        if command.is_empty() {
            command.push(users_shell(identity));
            env.push(hint("PS1", format!("[longfat {name}] $ ")));
            // Debian's bashrc replaces the prompt, and shows this in it.
            env.push(hint("debian_chroot", format!("longfat {name}")));
        }
        let stdin = io::stdin();
        let _front = Foreground::of(stdin.as_fd());
        let launch = Launch {
            namespace: network.namespaces[self.host].as_fd(),
            hosts_file: names,
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
            match running.wait_change(LOOK).map_err(failed())? {
                Some(CommandNews::Ended(code)) => return Ok(code),
                // Only a terminal has somebody who could continue us.
                Some(CommandNews::Stopped) if stdin.is_terminal() => suspend(&running, tell),
                Some(CommandNews::Stopped) | None => {}
            }
            if !look(tell) {
                return Err(LabError::Died { component: ENGINE.into(), how: "it ended".into() });
            }
        }
    }
}

/// A component has died, for the user.
fn died(dead: &DeadComponent) -> String {
    let seconds = dead.at_ms / 1000.0;
    format!(
        "error: {} died after {seconds:.1} s ({}): the network is not the scenario's any more",
        dead.component, dead.how
    )
}

/// The command is stopped: so is this process, for whoever started it to see.
fn suspend(running: &Running, tell: &mut dyn FnMut(Tell)) {
    tell(Tell::Suspend);
    signal::suspend();
    running.resume();
}
