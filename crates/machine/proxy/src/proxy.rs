//! A proxy that runs: its loops, and the threads that do what may take time: names, checks, the status page.

use crate::assemble::Assembly;
use crate::board::{PairBoard, StatusPage};
use crate::config::{ProxyConfig, SideConfig};
use crate::error::ProxyError;
use crate::shared::{LogSink, ProxyShared, RunningConfig, Stopping};
use crate::side::{ProxyControls, SideOptions};
use crate::stats::{PathStats, ProxyCounter};
use crate::worker::ProxyLoop;
use crate::{chores, status};
use linux::{process, schedule, user};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Descriptors asked for: two a connection, and some to spare.
const DESCRIPTORS_EACH: u64 = 2;
const DESCRIPTORS_SPARE: u64 = 4096;

/// A proxy that runs. Dropped, it resets what connections it has.
pub struct Proxy {
    shared: Arc<ProxyShared>,
    assembly: Assembly,
    loops: Vec<JoinHandle<()>>,
    chores: Vec<JoinHandle<()>>,
    status: Option<SocketAddr>,
}

impl Proxy {
    /// Binds, becomes the user that the configuration names, and runs. `activated` are sockets that the service manager has
    /// opened, by name. To be called while the process has one thread, where it names a user.
    ///
    /// # Errors
    /// What this machine cannot fulfil.
    pub fn start(
        config: &ProxyConfig,
        activated: BTreeMap<String, Vec<OwnedFd>>,
        log: LogSink,
    ) -> Result<Proxy, ProxyError> {
        let cores = schedule::cores();
        let loops = config.workers.unwrap_or(cores.len());
        let pin = move |i: usize| {
            cores.get(i).filter(|_| loops <= cores.len()).copied().into_iter().for_each(schedule::pin)
        };
        Proxy::start_in(config, activated, log, Arc::new(pin))
    }

    /// The same, where the caller settles where loops run: `settle` is called with its number by each loop's thread before it
    /// begins. The loops have the calling thread's network namespace.
    ///
    /// # Errors
    /// As [`Proxy::start`].
    pub fn start_in(
        config: &ProxyConfig,
        activated: BTreeMap<String, Vec<OwnedFd>>,
        log: LogSink,
        settle: Arc<dyn Fn(usize) + Send + Sync>,
    ) -> Result<Proxy, ProxyError> {
        let loops = config.workers.unwrap_or_else(|| schedule::cores().len());
        let wanted = config.max_connections as u64 * DESCRIPTORS_EACH + DESCRIPTORS_SPARE;
        let descriptors = process::raise_descriptors(wanted);
        let shared = Arc::new(ProxyShared::new(loops, log)?);
        if descriptors < wanted {
            let details = json!({ "descriptors": descriptors, "wanted": wanted });
            shared.tell("few-descriptors", details);
        }
        let shared_out = activated.into_iter().map(|(k, list)| (k, list.into_iter().map(Arc::new).collect()));
        let mut assembly =
            Assembly { loops, activated: shared_out.collect(), controls: ProxyControls::default() };
        let running = assembly.assemble(config, &RunningConfig::default(), &mut tell_unresolved(&shared))?;
        let page = config.status.map(status::listen).transpose()?;
        become_configured(config)?;
        try_out(config, &mut assembly.controls)?;
        shared.run(running);
        let mut this = Proxy {
            status: page.as_ref().and_then(|p| p.local_addr().ok()),
            loops: Vec::new(),
            chores: chores::start(&shared, page)?,
            assembly,
            shared,
        };
        for i in 0..loops {
            let work = ProxyLoop::new(i, this.shared.clone())?;
            let (settle, shared) = (settle.clone(), this.shared.clone());
            let run = move || {
                settle(i);
                if let Err(e) = work.run() {
                    shared.tell("loop-failed", json!({ "why": e.to_string() }));
                    shared.stop(Stopping::Now);
                }
            };
            this.loops.push(std::thread::Builder::new().name(format!("proxy-{i}")).spawn(run)?);
        }
        let listens: Vec<String> = this.addresses().iter().map(SocketAddr::to_string).collect();
        this.shared.tell("started", json!({ "loops": loops, "listens": listens }));
        Ok(this)
    }

    /// Where it listens, in the order of listeners' names.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.running().bound.iter().map(|(bound, _)| bound.address).collect()
    }

    /// Metrics and status page tell of a pair's links too.
    pub fn show(&self, board: PairBoard) {
        self.shared.show(board);
    }

    /// Answers `/` with the page that `page` makes; without it there are `/metrics` and `/status.json` alone.
    pub fn show_page(&self, page: StatusPage) {
        self.shared.show_page(page);
    }

    /// Where metrics and status page are.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status
    }

    /// Runs another configuration from now on. Connections go on as they began; sockets that are wanted still keep what is in
    /// their queues.
    ///
    /// # Errors
    /// What this machine cannot fulfil; the configuration that runs stays.
    pub fn reload(&mut self, config: &ProxyConfig) -> Result<(), ProxyError> {
        let before = self.shared.running();
        try_out(config, &mut self.assembly.controls)?;
        let next = self.assembly.assemble(config, &before, &mut tell_unresolved(&self.shared))?;
        self.shared.run(next);
        let listens: Vec<String> = self.addresses().iter().map(SocketAddr::to_string).collect();
        self.shared.tell("reloaded", json!({ "listens": listens }));
        Ok(())
    }

    /// Takes no new connections; those there are may end.
    pub fn drain(&self) {
        self.shared.tell("draining", json!({ "connections": self.connections() }));
        self.shared.stop(Stopping::Drain);
        // The last of the sockets' owners: what is in no loop's queue any more is refused.
        let now = self.shared.running();
        self.shared.run(RunningConfig {
            bound: Vec::new(),
            upstreams: now.upstreams.clone(),
            max_connections: now.max_connections,
            log_connections: now.log_connections,
        });
    }

    /// Ends at once; what connections there are are reset.
    pub fn stop(&self) {
        self.shared.stop(Stopping::Now);
    }

    /// Whether all loops have ended.
    pub fn is_finished(&self) -> bool {
        self.loops.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the end, at most so long; whether it came.
    pub fn wait(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        while !self.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.is_finished()
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// What all loops together have counted.
    pub fn counted(&self, counter: ProxyCounter) -> u64 {
        self.shared.loops.iter().map(|stats| stats.get(counter)).sum()
    }

    /// What is known of client networks (as they are written) and upstreams.
    pub fn paths(&self) -> Vec<(String, String, PathStats)> {
        let all = self.shared.paths.all();
        all.into_iter().map(|((network, upstream), path)| (network.to_string(), upstream, path)).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
        for thread in self.loops.drain(..).chain(self.chores.drain(..)) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn tell_unresolved(shared: &ProxyShared) -> impl FnMut(&str, &std::io::Error) + '_ {
    |name, e| shared.tell("unresolved", json!({ "name": name, "why": e.to_string() }))
}

/// Every side, with its key.
fn sides(config: &ProxyConfig) -> impl Iterator<Item = (String, &SideConfig)> {
    let listeners = config.listeners.iter().flat_map(|(name, l)| {
        [(format!("listeners.{name}.client"), &l.client), (format!("listeners.{name}.server"), &l.server)]
    });
    let upstreams = config.upstreams.iter().map(|(name, u)| (format!("upstreams.{name}.server"), &u.server));
    listeners.chain(upstreams)
}

/// Becomes the user that the configuration names, where root has begun. To be called once everything is bound, while the
/// process has one thread.
///
/// # Errors
/// There is no such user, or the system says no.
pub fn become_configured(config: &ProxyConfig) -> Result<(), ProxyError> {
    let Some(user) = config.user.as_deref().filter(|_| user::is_root()) else { return Ok(()) };
    let (uid, gid) =
        user::user(user).map_err(|e| ProxyError::Setting { key: "user".into(), why: e.to_string() })?;
    Ok(user::become_user(uid, gid, needs_net_admin(config))?)
}

/// That the kernel takes all options of this user.
fn try_out(config: &ProxyConfig, controls: &mut ProxyControls) -> Result<(), ProxyError> {
    for (key, side) in sides(config) {
        SideOptions::of(side, &key, controls)?.try_out(&key)?;
    }
    Ok(())
}

/// Whether CAP_NET_ADMIN is needed once everything is bound: for IP_TRANSPARENT, and for controls that are not for all.
fn needs_net_admin(config: &ProxyConfig) -> bool {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let allowed = allowed.unwrap_or_default();
    let is_free = |cc: &String| allowed.split_whitespace().any(|name| name == cc);
    config.listeners.values().any(|l| !l.transparent.is_empty())
        || sides(config).any(|(_, side)| side.cc.as_ref().is_some_and(|cc| !is_free(cc)))
}
