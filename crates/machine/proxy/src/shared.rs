//! State shared by the event loops and the threads that control them.

use crate::client_slots::ClientSlots;
use crate::config::ListenerConfig;
use crate::first_bytes::NameRoutes;
use crate::pair_status::{PairStatus, StatusPage};
use crate::side::SideOptions;
use crate::stats::{LoopStats, PathTable};
use crate::upstream::UpstreamState;
use linux::epoll::{wake, wake_counter};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use units::Time;

/// Receives one log entry: keys and values, including `event`. It must not block.
pub type LogSink = Box<dyn Fn(Map<String, Value>) + Send + Sync>;

/// A running listener.
pub struct ListenerState {
    pub name: String,
    pub config: ListenerConfig,
    /// Upstream for names that match no pattern.
    pub upstream: Option<Arc<UpstreamState>>,
    /// Upstreams by patterns of server names.
    pub routes: NameRoutes<Arc<UpstreamState>>,
    /// Options of sockets to destinations of transparent connections.
    pub options: SideOptions,
}

/// A bound address: one socket per loop, or a single one opened by systemd for all loops.
#[derive(Clone)]
pub struct BoundAddress {
    /// As configured, which identifies it at a reload.
    pub wanted: crate::address::ListenAt,
    pub address: SocketAddr,
    pub transparent: bool,
    /// Sockets by loop.
    pub sockets: Vec<Arc<OwnedFd>>,
}

/// A running configuration.
#[derive(Default)]
pub struct RunningConfig {
    /// Every bound address and its listener.
    pub bound: Vec<(BoundAddress, Arc<ListenerState>)>,
    pub upstreams: BTreeMap<String, Arc<UpstreamState>>,
    /// Limit of concurrent connections of all clients.
    pub max_connections: usize,
    /// Whether to log each connection when it ends.
    pub log_connections: bool,
}

/// Progress of shutting down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stopping {
    No,
    /// No new connections; existing ones may end by themselves.
    Drain,
    /// Existing connections are reset.
    Now,
}

/// The loops' shared state.
pub struct ProxyShared {
    /// The running configuration; `epoch` counts its changes.
    running: Mutex<Arc<RunningConfig>>,
    epoch: AtomicU64,
    stopping: AtomicU8,
    pub connections: AtomicUsize,
    /// Connections per client address, for listeners with a limit.
    pub clients: Arc<ClientSlots>,
    log: LogSink,
    pair_status: Mutex<Option<PairStatus>>,
    page: OnceLock<StatusPage>,
    started: Instant,
    /// Wake-up descriptors by loop.
    pub wakes: Vec<OwnedFd>,
    /// Counters by loop.
    pub loops: Vec<LoopStats>,
    /// Statistics of client networks and upstreams.
    pub paths: PathTable,
}

impl ProxyShared {
    /// Creates the state of this many loops.
    pub fn new(loops: usize, log: LogSink) -> std::io::Result<ProxyShared> {
        Ok(ProxyShared {
            running: Mutex::default(),
            epoch: AtomicU64::new(0),
            stopping: AtomicU8::new(Stopping::No as u8),
            connections: AtomicUsize::new(0),
            clients: Arc::default(),
            log,
            pair_status: Mutex::default(),
            page: OnceLock::new(),
            started: Instant::now(),
            wakes: (0..loops).map(|_| wake_counter()).collect::<Result<_, _>>()?,
            loops: (0..loops).map(|_| LoopStats::default()).collect(),
            paths: PathTable::default(),
        })
    }

    /// Returns the status of the pair's links, if there is a pair.
    pub fn pair_status(&self) -> Option<PairStatus> {
        self.pair_status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the source of the pair's status.
    pub fn show(&self, pair_status: PairStatus) {
        *self.pair_status.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair_status);
    }

    /// Returns the renderer of the status page; `None` until it is set.
    pub fn page(&self) -> Option<StatusPage> {
        self.page.get().copied()
    }

    /// Sets the renderer of the status page, once.
    pub fn show_page(&self, page: StatusPage) {
        let _ = self.page.set(page);
    }

    /// Time since the proxy started.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Returns the running configuration.
    pub fn running(&self) -> Arc<RunningConfig> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the running configuration.
    pub fn run(&self, next: RunningConfig) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.epoch.fetch_add(1, Ordering::Release);
        self.wake_all();
    }

    /// Returns the number of configuration changes.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns the progress of shutting down.
    pub fn stopping(&self) -> Stopping {
        match self.stopping.load(Ordering::Acquire) {
            0 => Stopping::No,
            1 => Stopping::Drain,
            _ => Stopping::Now,
        }
    }

    /// Starts shutting down, or shuts down faster than before.
    pub fn stop(&self, how: Stopping) {
        self.stopping.fetch_max(how as u8, Ordering::AcqRel);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.wakes.iter().for_each(|fd| wake(fd.as_fd()));
    }

    /// Writes a log entry.
    pub fn log_event(&self, event: &str, details: Value) {
        let mut entry = Map::new();
        entry.insert("event".into(), event.into());
        if let Value::Object(details) = details {
            entry.extend(details);
        }
        (self.log)(entry);
    }
}
