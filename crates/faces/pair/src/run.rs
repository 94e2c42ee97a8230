//! Starts, changes and stops one end of a pair.

use crate::error::PairStartError;
use crate::event_loop::{PairEnding, PairLog, PairLoop};
use crate::keys::PrivateKey;
use crate::reload::{BoundEntrance, PairChange};
use linux::epoll::{wake, wake_counter};
use proxy::{PairConfig, PairStatus};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

/// A running end of a pair, in its own thread.
pub struct Pair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    end: PairEnd,
}

/// The state of an end outside its thread.
struct PairEnd {
    config: PairConfig,
    key: PrivateKey,
    quic: SocketAddr,
    bound: Vec<BoundEntrance>,
    changes: Sender<PairChange>,
    status: PairStatus,
}

/// An end that is bound but not started. None of its threads run, so the process can still switch users.
pub struct BoundPair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    event_loop: PairLoop,
    end: PairEnd,
}

impl BoundPair {
    /// Starts the end.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn run(self) -> Result<Pair, PairStartError> {
        let BoundPair { ending, waker, mut event_loop, end } = self;
        let thread = std::thread::Builder::new().name("pair".into()).spawn(move || event_loop.run())?;
        Ok(Pair { ending, waker, thread: Some(thread), end })
    }
}

impl Pair {
    /// Binds and starts an end, as [`Pair::bind`] and [`BoundPair::run`] do.
    ///
    /// # Errors
    /// Fails like [`Pair::bind`] and [`BoundPair::run`].
    pub fn start(config: &PairConfig, log: PairLog) -> Result<Pair, PairStartError> {
        Pair::bind(config, log)?.run()
    }

    /// Reads the key and binds all addresses.
    ///
    /// # Errors
    /// Fails if the key cannot be read or an address cannot be bound.
    pub fn bind(config: &PairConfig, log: PairLog) -> Result<BoundPair, PairStartError> {
        let key = PrivateKey::read(&config.key)
            .map_err(|error| PairStartError::Key { path: config.key.display().to_string(), error })?;
        let waker = Arc::new(wake_counter()?);
        let ending = Arc::new(PairEnding::default());
        let (changes, to_come) = mpsc::channel();
        let event_loop = PairLoop::new(config.clone(), &key, log, waker.clone(), ending.clone(), to_come)?;
        let (quic, bound) = (event_loop.quic_address()?, event_loop.bound()?);
        let status = event_loop.status.clone();
        let end = PairEnd { config: config.clone(), key, quic, bound, changes, status };
        Ok(BoundPair { ending, waker, event_loop, end })
    }

    /// The bound addresses: `quic` for peers, and listeners by name.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let listeners = self.end.bound.iter().map(|bound| (bound.name.clone(), bound.address));
        [("quic".to_string(), self.end.quic)].into_iter().chain(listeners).collect()
    }

    /// Returns the shared status of the links, which the end updates five times per second.
    pub fn status(&self) -> PairStatus {
        self.end.status.clone()
    }

    /// Prepares a change to another configuration. Nothing changes yet.
    ///
    /// # Errors
    /// Fails if an address cannot be bound, TLS cannot be set up, or the change needs a restart.
    pub fn prepare(&self, config: &PairConfig) -> Result<PairChange, PairStartError> {
        PairChange::prepare(config, &self.end.config, &self.end.bound, &self.end.key)
    }

    /// Applies another configuration. Connections stay as they started; only a peer that was removed or has
    /// another key loses its link.
    ///
    /// # Errors
    /// Fails if the bound addresses cannot be read or the end has stopped.
    pub fn change(&mut self, change: PairChange) -> Result<(), PairStartError> {
        self.end.bound = change.bound_after(&self.end.bound)?;
        self.end.config = change.config.clone();
        let gone = |_| PairStartError::Other("the end has gone".into());
        self.end.changes.send(change).map_err(gone)?;
        wake(self.waker.as_fd());
        Ok(())
    }

    /// Stops accepting connections; ends with the last open one.
    pub fn drain(&self) {
        self.ending.raise(1);
        wake(self.waker.as_fd());
    }

    /// Stops at once.
    pub fn stop(&self) {
        self.ending.raise(2);
        wake(self.waker.as_fd());
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
