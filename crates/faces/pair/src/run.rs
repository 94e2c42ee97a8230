//! A pair's end as a whole: started, told to end, waited for.

use crate::error::PairStartError;
use crate::event_loop::{PairEnding, PairLog, PairLoop};
use crate::keys::PrivateKey;
use crate::reload::{BoundEntrance, PairChange};
use linux::epoll::{wake, wake_counter};
use proxy::{PairBoard, PairConfig};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

/// One end of a pair, in a thread of its own.
pub struct Pair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    end: PairEnd,
}

/// What whoever directs an end knows of it.
struct PairEnd {
    config: PairConfig,
    key: PrivateKey,
    quic: SocketAddr,
    bound: Vec<BoundEntrance>,
    changes: Sender<PairChange>,
    board: PairBoard,
}

/// One end that is bound and does nothing yet: no thread of it runs, so that the process may become another user.
pub struct BoundPair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    event_loop: PairLoop,
    end: PairEnd,
}

impl BoundPair {
    /// Begins.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn run(self) -> Result<Pair, PairStartError> {
        let BoundPair { ending, waker, mut event_loop, end } = self;
        let thread = std::thread::Builder::new().name("pair".into()).spawn(move || event_loop.run())?;
        Ok(Pair { ending, waker, thread: Some(thread), end })
    }
}

impl Pair {
    /// Binds everything and begins; as [`Pair::bind`] and [`BoundPair::run`].
    ///
    /// # Errors
    /// As theirs.
    pub fn start(config: &PairConfig, log: PairLog) -> Result<Pair, PairStartError> {
        Pair::bind(config, log)?.run()
    }

    /// Reads the key and binds everything.
    ///
    /// # Errors
    /// A key that cannot be read, an address that cannot be had.
    pub fn bind(config: &PairConfig, log: PairLog) -> Result<BoundPair, PairStartError> {
        let key = PrivateKey::read(&config.key)
            .map_err(|error| PairStartError::Key { path: config.key.display().to_string(), error })?;
        let waker = Arc::new(wake_counter()?);
        let ending = Arc::new(PairEnding::default());
        let (changes, to_come) = mpsc::channel();
        let event_loop = PairLoop::new(config.clone(), &key, log, waker.clone(), ending.clone(), to_come)?;
        let (quic, bound) = (event_loop.quic_address()?, event_loop.bound()?);
        let board = event_loop.board.clone();
        let end = PairEnd { config: config.clone(), key, quic, bound, changes, board };
        Ok(BoundPair { ending, waker, event_loop, end })
    }

    /// Where it listens: `quic` for peers, the listeners by their names.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let listeners = self.end.bound.iter().map(|bound| (bound.name.clone(), bound.address));
        [("quic".to_string(), self.end.quic)].into_iter().chain(listeners).collect()
    }

    /// Where it writes what its links are, five times a second.
    pub fn board(&self) -> PairBoard {
        self.end.board.clone()
    }

    /// Makes ready what another configuration needs; nothing changes yet.
    ///
    /// # Errors
    /// Something of it cannot be had, or does not change without a restart.
    pub fn prepare(&self, config: &PairConfig) -> Result<PairChange, PairStartError> {
        PairChange::prepare(config, &self.end.config, &self.end.bound, &self.end.key)
    }

    /// Goes on by another configuration. Connections go on as they began; only a peer that is taken out, or has another key,
    /// loses its link.
    ///
    /// # Errors
    /// The system does not tell what was bound; the end has gone.
    pub fn change(&mut self, change: PairChange) -> Result<(), PairStartError> {
        self.end.bound = change.bound_after(&self.end.bound)?;
        self.end.config = change.config.clone();
        let gone = |_| PairStartError::Other("the end has gone".into());
        self.end.changes.send(change).map_err(gone)?;
        wake(self.waker.as_fd());
        Ok(())
    }

    /// Takes no new connections; it ends with the last of those there are.
    pub fn drain(&self) {
        self.ending.raise(1);
        wake(self.waker.as_fd());
    }

    /// Ends at once.
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
