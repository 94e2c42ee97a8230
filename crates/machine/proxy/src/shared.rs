//! What the event loops and whoever directs them have in common.

use crate::board::{PairBoard, StatusPage};
use crate::config::ListenerConfig;
use crate::first::NameRoutes;
use crate::places::ClientPlaces;
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

/// Takes one log entry: keys and values, `event` among them. It must not wait for anything.
pub type LogSink = Box<dyn Fn(Map<String, Value>) + Send + Sync>;

/// A listener as it runs.
pub struct ListenerState {
    /// Its name in the configuration.
    pub name: String,
    /// Its settings.
    pub config: ListenerConfig,
    /// Where what no pattern fits goes.
    pub upstream: Option<Arc<UpstreamState>>,
    /// By patterns of server names.
    pub routes: NameRoutes<Arc<UpstreamState>>,
    /// Options of sockets to destinations of transparent connections.
    pub options: SideOptions,
}

/// A bound address: one socket a loop, or one for all that the service manager opened.
#[derive(Clone)]
pub struct BoundAddress {
    /// As configured, which is what a reload knows it by.
    pub wanted: crate::address::ListenAt,
    /// As bound.
    pub address: SocketAddr,
    /// Whether IP_TRANSPARENT is set.
    pub transparent: bool,
    /// By loop.
    pub sockets: Vec<Arc<OwnedFd>>,
}

/// A configuration that runs.
#[derive(Default)]
pub struct RunningConfig {
    /// Every bound address and the listener that it belongs to.
    pub bound: Vec<(BoundAddress, Arc<ListenerState>)>,
    /// By name.
    pub upstreams: BTreeMap<String, Arc<UpstreamState>>,
    /// At once, of all clients.
    pub max_connections: usize,
    /// A log entry a connection.
    pub log_connections: bool,
}

/// How far the end is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stopping {
    /// Not at all.
    No,
    /// No new connections; those there are may end.
    Drain,
    /// Now.
    Now,
}

/// The loops' common state.
pub struct ProxyShared {
    /// What runs; `epoch` counts its changes.
    running: Mutex<Arc<RunningConfig>>,
    epoch: AtomicU64,
    stopping: AtomicU8,
    /// Connections of all loops.
    pub connections: AtomicUsize,
    /// Connections of each client address, where a listener limits them.
    pub clients: Arc<ClientPlaces>,
    log: LogSink,
    board: Mutex<Option<PairBoard>>,
    page: OnceLock<StatusPage>,
    started: Instant,
    /// One a loop.
    pub wakes: Vec<OwnedFd>,
    /// One a loop.
    pub loops: Vec<LoopStats>,
    /// Client networks and upstreams.
    pub paths: PathTable,
}

impl ProxyShared {
    /// Of so many loops.
    pub fn new(loops: usize, log: LogSink) -> std::io::Result<ProxyShared> {
        Ok(ProxyShared {
            running: Mutex::default(),
            epoch: AtomicU64::new(0),
            stopping: AtomicU8::new(Stopping::No as u8),
            connections: AtomicUsize::new(0),
            clients: Arc::default(),
            log,
            board: Mutex::default(),
            page: OnceLock::new(),
            started: Instant::now(),
            wakes: (0..loops).map(|_| wake_counter()).collect::<Result<_, _>>()?,
            loops: (0..loops).map(|_| LoopStats::default()).collect(),
            paths: PathTable::default(),
        })
    }

    /// What a pair's end tells of its links, where there is one.
    pub fn board(&self) -> Option<PairBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows what a pair's end tells.
    pub fn show(&self, board: PairBoard) {
        *self.board.lock().unwrap_or_else(PoisonError::into_inner) = Some(board);
    }

    /// What makes the status page; `None` until it is set.
    pub fn page(&self) -> Option<StatusPage> {
        self.page.get().copied()
    }

    /// Sets what makes the status page; it stays.
    pub fn show_page(&self, page: StatusPage) {
        let _ = self.page.set(page);
    }

    /// Time since the proxy began.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// The configuration that runs.
    pub fn running(&self) -> Arc<RunningConfig> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another one from now on.
    pub fn run(&self, next: RunningConfig) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.epoch.fetch_add(1, Ordering::Release);
        self.wake_all();
    }

    /// Counts the configurations that ran.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// How far the end is.
    pub fn stopping(&self) -> Stopping {
        match self.stopping.load(Ordering::Acquire) {
            0 => Stopping::No,
            1 => Stopping::Drain,
            _ => Stopping::Now,
        }
    }

    /// Begins to end, or ends sooner than was said.
    pub fn stop(&self, how: Stopping) {
        self.stopping.fetch_max(how as u8, Ordering::AcqRel);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.wakes.iter().for_each(|fd| wake(fd.as_fd()));
    }

    /// Tells something to whoever reads the log.
    pub fn tell(&self, event: &str, details: Value) {
        let mut entry = Map::new();
        entry.insert("event".into(), event.into());
        if let Value::Object(details) = details {
            entry.extend(details);
        }
        (self.log)(entry);
    }
}
