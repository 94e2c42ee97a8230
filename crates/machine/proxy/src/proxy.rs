//! A running proxy: its event loops, and threads for slow work: name resolution, health checks, the status
//! page.

use crate::assemble::Assembly;
use crate::config::{ProxyConfig, SideConfig};
use crate::error::ProxyError;
use crate::pair_status::{PairStatus, StatusPage};
use crate::shared::{LogSink, ProxyShared, RunningConfig, Stopping};
use crate::side::{ProxyControls, SideOptions};
use crate::stats::{PathStats, ProxyCounter};
use crate::worker::ProxyLoop;
use crate::{background, status};
use linux::{process, schedule, user};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Descriptors to request: two per connection, and some spare.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;
const SPARE_DESCRIPTORS: u64 = 4096;

/// A running proxy. Dropping it resets its connections.
pub struct Proxy {
    shared: Arc<ProxyShared>,
    assembly: Assembly,
    loops: Vec<JoinHandle<()>>,
    background: Vec<JoinHandle<()>>,
    status: Option<SocketAddr>,
}

impl Proxy {
    /// Binds, switches to the configured user, and runs. `activated` are sockets that systemd has opened, by
    /// name. If the configuration names a user, call this while the process has one thread.
    ///
    /// # Errors
    /// Fails if this machine does not support the configuration.
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

    /// Starts a proxy whose loops the caller places: each loop's thread calls `settle` with its number before
    /// it runs. The loops use the calling thread's network namespace.
    ///
    /// # Errors
    /// Fails as [`Proxy::start`] does.
    pub fn start_in(
        config: &ProxyConfig,
        activated: BTreeMap<String, Vec<OwnedFd>>,
        log: LogSink,
        settle: Arc<dyn Fn(usize) + Send + Sync>,
    ) -> Result<Proxy, ProxyError> {
        let loops = config.workers.unwrap_or_else(|| schedule::cores().len());
        let wanted = config.max_connections as u64 * DESCRIPTORS_PER_CONNECTION + SPARE_DESCRIPTORS;
        let descriptors = process::raise_descriptors(wanted);
        let shared = Arc::new(ProxyShared::new(loops, log)?);
        if descriptors < wanted {
            let details = json!({ "descriptors": descriptors, "wanted": wanted });
            shared.log_event("few-descriptors", details);
        }
        let shared_out = activated.into_iter().map(|(k, list)| (k, list.into_iter().map(Arc::new).collect()));
        let mut assembly =
            Assembly { loops, activated: shared_out.collect(), controls: ProxyControls::default() };
        let running = assembly.assemble(config, &RunningConfig::default(), &mut log_unresolved(&shared))?;
        let page = config.status.map(status::listen).transpose()?;
        switch_to_configured_user(config)?;
        check_accepted(config, &mut assembly.controls)?;
        shared.run(running);
        let mut this = Proxy {
            status: page.as_ref().and_then(|p| p.local_addr().ok()),
            loops: Vec::new(),
            background: background::start(&shared, page)?,
            assembly,
            shared,
        };
        for i in 0..loops {
            let work = ProxyLoop::new(i, this.shared.clone())?;
            let (settle, shared) = (settle.clone(), this.shared.clone());
            let run = move || {
                settle(i);
                if let Err(e) = work.run() {
                    shared.log_event("loop-failed", json!({ "why": e.to_string() }));
                    shared.stop(Stopping::Now);
                }
            };
            this.loops.push(std::thread::Builder::new().name(format!("proxy-{i}")).spawn(run)?);
        }
        let listens: Vec<String> = this.addresses().iter().map(SocketAddr::to_string).collect();
        this.shared.log_event("started", json!({ "loops": loops, "listens": listens }));
        Ok(this)
    }

    /// Returns the proxy's addresses, ordered by the listeners' names.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.running().bound.iter().map(|(bound, _)| bound.address).collect()
    }

    /// Includes a pair's links in metrics and status page.
    pub fn show(&self, pair_status: PairStatus) {
        self.shared.show(pair_status);
    }

    /// Serves the page that `page` renders at `/`; without it only `/metrics` and `/status.json` exist.
    pub fn show_page(&self, page: StatusPage) {
        self.shared.show_page(page);
    }

    /// Returns the address of metrics and status page.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status
    }

    /// Replaces the configuration. Existing connections continue; sockets that remain configured keep the
    /// connections in their queues.
    ///
    /// # Errors
    /// Fails if this machine does not support the configuration; the running one stays.
    pub fn reload(&mut self, config: &ProxyConfig) -> Result<(), ProxyError> {
        let before = self.shared.running();
        check_accepted(config, &mut self.assembly.controls)?;
        let next = self.assembly.assemble(config, &before, &mut log_unresolved(&self.shared))?;
        self.shared.run(next);
        let listens: Vec<String> = self.addresses().iter().map(SocketAddr::to_string).collect();
        self.shared.log_event("reloaded", json!({ "listens": listens }));
        Ok(())
    }

    /// Stops accepting connections; existing ones may end by themselves.
    pub fn drain(&self) {
        self.shared.log_event("draining", json!({ "connections": self.connections() }));
        self.shared.stop(Stopping::Drain);
        // Drop the last references to the listening sockets, so that the kernel refuses further connections.
        let now = self.shared.running();
        self.shared.run(RunningConfig {
            bound: Vec::new(),
            upstreams: now.upstreams.clone(),
            max_connections: now.max_connections,
            log_connections: now.log_connections,
        });
    }

    /// Ends at once and resets existing connections.
    pub fn stop(&self) {
        self.shared.stop(Stopping::Now);
    }

    /// Whether all loops have ended.
    pub fn is_finished(&self) -> bool {
        self.loops.iter().all(JoinHandle::is_finished)
    }

    /// Waits up to `timeout` for the end. Returns whether it came.
    pub fn wait(&self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        while !self.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.is_finished()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns a counter's sum over all loops.
    pub fn counted(&self, counter: ProxyCounter) -> u64 {
        self.shared.loops.iter().map(|stats| stats.get(counter)).sum()
    }

    /// Returns the statistics of client networks (as text) and upstreams.
    pub fn paths(&self) -> Vec<(String, String, PathStats)> {
        let all = self.shared.paths.snapshot();
        all.into_iter().map(|((network, upstream), path)| (network.to_string(), upstream, path)).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
        for thread in self.loops.drain(..).chain(self.background.drain(..)) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn log_unresolved(shared: &ProxyShared) -> impl FnMut(&str, &std::io::Error) + '_ {
    |name, e| shared.log_event("unresolved", json!({ "name": name, "why": e.to_string() }))
}

/// Returns all side settings with their keys.
fn sides(config: &ProxyConfig) -> impl Iterator<Item = (String, &SideConfig)> {
    let listeners = config.listeners.iter().flat_map(|(name, l)| {
        [(format!("listeners.{name}.client"), &l.client), (format!("listeners.{name}.server"), &l.server)]
    });
    let upstreams = config.upstreams.iter().map(|(name, u)| (format!("upstreams.{name}.server"), &u.server));
    listeners.chain(upstreams)
}

/// Switches to the configured user, if root started the process. Call it after binding, while the process has
/// one thread.
///
/// # Errors
/// Fails if the user does not exist or the system refuses.
pub fn switch_to_configured_user(config: &ProxyConfig) -> Result<(), ProxyError> {
    let Some(user) = config.user.as_deref().filter(|_| user::is_root()) else { return Ok(()) };
    let (uid, gid) =
        user::user(user).map_err(|e| ProxyError::Setting { key: "user".into(), why: e.to_string() })?;
    Ok(user::switch_user(uid, gid, needs_net_admin(config))?)
}

/// Checks that the kernel accepts all options from this user.
fn check_accepted(config: &ProxyConfig, controls: &mut ProxyControls) -> Result<(), ProxyError> {
    for (key, side) in sides(config) {
        SideOptions::of(side, &key, controls)?.check_accepted(&key)?;
    }
    Ok(())
}

/// Whether CAP_NET_ADMIN is needed after binding: for IP_TRANSPARENT, and for restricted congestion controls.
fn needs_net_admin(config: &ProxyConfig) -> bool {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let allowed = allowed.unwrap_or_default();
    let is_free = |cc: &String| allowed.split_whitespace().any(|name| name == cc);
    config.listeners.values().any(|l| !l.transparent.is_empty())
        || sides(config).any(|(_, side)| side.cc.as_ref().is_some_and(|cc| !is_free(cc)))
}
