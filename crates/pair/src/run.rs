//! A pair's end as a whole: started, told to end, waited for.

use crate::event_loop::PairLoop;
use crate::keys::PrivateKey;
use proxy::{PairConfig, wake, wake_counter};
use serde_json::{Map, Value};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;

/// Where log entries go.
pub type PairLog = Box<dyn Fn(Map<String, Value>) + Send>;

/// Why a pair's end does not start.
#[derive(Debug)]
pub enum PairStartError {
    /// Its key file.
    Key {
        /// The file.
        path: String,
        /// What is wrong.
        error: io::Error,
    },
    /// An address that cannot be listened on.
    Listen {
        /// The address.
        at: String,
        /// What the system said.
        error: io::Error,
    },
    /// The TLS library or the system said no to something else.
    Other(String),
}

impl fmt::Display for PairStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PairStartError::Key { path, error } => write!(f, "pair.key: {path}: {error}"),
            PairStartError::Listen { at, error } => write!(f, "pair: cannot listen on {at}: {error}"),
            PairStartError::Other(why) => write!(f, "pair: {why}"),
        }
    }
}

impl std::error::Error for PairStartError {}

impl From<io::Error> for PairStartError {
    fn from(e: io::Error) -> PairStartError {
        PairStartError::Other(e.to_string())
    }
}

/// How far the end has come.
#[derive(Debug, Default)]
pub struct PairEnding(AtomicU8);

impl PairEnding {
    fn raise(&self, to: u8) {
        self.0.fetch_max(to, Ordering::SeqCst);
    }

    /// No new connections.
    pub fn drains(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// At once.
    pub fn stops(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 2
    }
}

/// One end of a pair, in a thread of its own.
pub struct Pair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    addresses: Vec<(String, SocketAddr)>,
}

/// One end that is bound and does nothing yet: no thread of it runs, so that the process may become another user.
pub struct BoundPair {
    ending: Arc<PairEnding>,
    waker: Arc<OwnedFd>,
    event_loop: PairLoop,
    addresses: Vec<(String, SocketAddr)>,
}

impl BoundPair {
    /// Begins.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn run(self) -> Result<Pair, PairStartError> {
        let BoundPair { ending, waker, mut event_loop, addresses } = self;
        let thread = std::thread::Builder::new().name("pair".into()).spawn(move || event_loop.run())?;
        Ok(Pair { ending, waker, thread: Some(thread), addresses })
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
        let event_loop = PairLoop::new(config.clone(), &key, log, waker.clone(), ending.clone())?;
        let addresses = event_loop.addresses()?;
        Ok(BoundPair { ending, waker, event_loop, addresses })
    }

    /// Where it listens: `quic` for peers, the listeners by their names.
    pub fn addresses(&self) -> &[(String, SocketAddr)] {
        &self.addresses
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
