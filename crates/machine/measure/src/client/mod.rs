//! The client: `longfat measure`. A [`Client`] has a session with a server and runs one test at a time:
//! echoes, streams and trains. It reports what was seen and does not interpret it.

mod datagrams;
mod streams;

pub use datagrams::{EchoResult, Echoes, TrainPacket, TrainResult};
pub use streams::{StreamOptions, StreamResult};

use crate::datagram::DatagramKind;
use crate::endpoint::{ArrivalLog, Endpoint};
use crate::frame::MAX_REPLY;
use crate::message::{SessionId, SessionLimits};
use crate::wire::{Wire, WireError};
use crate::{Reply, Request, VERSION, token};
use linux::socket;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time to connect.
const CONNECT_TIME: Duration = Duration::from_secs(8);
/// Time for a reply that needs no test.
const REPLY_TIME: Duration = Duration::from_secs(15);
/// Number of attempts to open the datagrams' path, and the time between them.
const OPEN_ATTEMPTS: u32 = 15;
const OPEN_INTERVAL: Duration = Duration::from_millis(200);

/// Why a test could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0}: no such host: {1}")]
    Name(String, std::io::Error),
    #[error(
        "{0}: cannot connect: {1}; is `longfat serve` running there, and does a firewall let its port pass?"
    )]
    Connect(SocketAddr, std::io::Error),
    #[error("the server needs a token (--token-file)")]
    TokenNeeded,
    #[error("the server refuses: {0}")]
    Refused(String),
    #[error("the connection to the server failed: {0}")]
    Wire(#[from] WireError),
    #[error("the server answers something else than was requested; is it `longfat serve`?")]
    Unexpected,
    #[error("this host: {0}")]
    Io(#[from] std::io::Error),
}

/// Data that the receiving thread collects.
#[derive(Default)]
struct Inbox {
    log: ArrivalLog,
    /// Arrival of each echo's answer, ns since 1970.
    echoed: BTreeMap<u32, u64>,
    is_open: bool,
}

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    changed: Condvar,
    ended: AtomicBool,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session with a server.
pub struct Client {
    server: SocketAddr,
    local: SocketAddr,
    session: SessionId,
    limits: SessionLimits,
    control: Wire,
    endpoint: Arc<Endpoint>,
    shared: Arc<Shared>,
    receiver: Option<JoinHandle<()>>,
    next_echo: u32,
    next_train: u32,
}

impl Client {
    /// Opens a session with the server at `host`, which may be a name or an address.
    ///
    /// # Errors
    /// Fails when there is no such host or server, or it refuses.
    pub fn connect(host: &str, port: u16, token: Option<&[u8]>) -> Result<Client, ClientError> {
        let name = |e| ClientError::Name(host.to_string(), e);
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(name)?.collect();
        let mut failed = ClientError::Name(host.to_string(), std::io::ErrorKind::NotFound.into());
        for server in addresses {
            match connected(server, |_| Ok(())) {
                Ok(socket) => return Client::begin(server, socket, token),
                Err(e) => failed = ClientError::Connect(server, e),
            }
        }
        Err(failed)
    }

    fn begin(server: SocketAddr, socket: OwnedFd, token: Option<&[u8]>) -> Result<Client, ClientError> {
        let local = socket::local_address(socket.as_fd())?;
        let mut control = Wire::new(socket, Vec::new());
        control.send(&Request::Hello { version: VERSION }, REPLY_TIME)?;
        let challenge = match control.receive(MAX_REPLY, REPLY_TIME)? {
            Reply::Hello { challenge, .. } => challenge,
            other => return Err(unexpected(other)),
        };
        let proof = match (challenge, token) {
            (None, _) => String::new(),
            (Some(_), None) => return Err(ClientError::TokenNeeded),
            (Some(challenge), Some(token)) => {
                let challenge = crate::message::from_hex(&challenge).ok_or(ClientError::Unexpected)?;
                crate::message::to_hex(&token::proof(token, &challenge))
            }
        };
        control.send(&Request::Prove { proof }, REPLY_TIME)?;
        let (session, limits) = match control.receive(MAX_REPLY, REPLY_TIME)? {
            Reply::Session { session, limits } => (session, limits),
            other => return Err(unexpected(other)),
        };
        let mut any_port = local;
        any_port.set_port(0);
        let endpoint = Arc::new(Endpoint::open(any_port, server, session)?);
        let shared = Arc::new(Shared::default());
        let receiver = std::thread::spawn({
            let (endpoint, shared) = (endpoint.clone(), shared.clone());
            move || receive(&endpoint, &shared)
        });
        Ok(Client {
            server,
            local,
            session,
            limits,
            control,
            endpoint,
            shared,
            receiver: Some(receiver),
            next_echo: 0,
            next_train: 0,
        })
    }

    /// The server's address and port.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The address of this end.
    pub fn local(&self) -> IpAddr {
        self.local.ip()
    }

    /// Limits that the server sets.
    pub fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// Opens the path of datagrams. Returns whether they pass in both directions.
    pub fn open_datagrams(&mut self) -> bool {
        for number in 0..OPEN_ATTEMPTS {
            // An error is that of an earlier attempt (ICMP).
            let _ = self.endpoint.send(DatagramKind::Open, number, 0);
            let inbox = self.shared.inbox();
            let waited = self.shared.changed.wait_timeout_while(inbox, OPEN_INTERVAL, |inbox| !inbox.is_open);
            if waited.is_ok_and(|(inbox, _)| inbox.is_open) {
                return true;
            }
        }
        false
    }

    /// Has the server measure the path to another server, which may take `time`. Returns the measurement as
    /// JSON.
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached, or there is no measurement.
    pub fn onward(&mut self, host: &str, port: u16, time: Duration) -> Result<String, ClientError> {
        match self.request(&Request::Onward { host: host.into(), port }, time)? {
            Reply::Measured { measurement } => Ok(measurement),
            Reply::NotMeasured { why } => Err(ClientError::Refused(why)),
            other => Err(unexpected(other)),
        }
    }

    /// Sends a request and returns the reply.
    fn request(&mut self, request: &Request, time: Duration) -> Result<Reply, ClientError> {
        self.control.send(request, REPLY_TIME)?;
        self.reply(time)
    }

    fn reply(&mut self, time: Duration) -> Result<Reply, ClientError> {
        Ok(self.control.receive(MAX_REPLY, time)?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.ended.store(true, Relaxed);
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}

/// Collects datagrams until the client ends.
fn receive(endpoint: &Endpoint, shared: &Shared) {
    while !shared.ended.load(Relaxed) {
        endpoint.receive(Duration::from_millis(50), &mut |head, stamped| {
            let mut inbox = shared.inbox();
            match head.kind {
                DatagramKind::Opened => inbox.is_open = true,
                DatagramKind::Echoed => {
                    inbox.echoed.extend(stamped.at.map(|at| (head.number, at)));
                }
                DatagramKind::Train => inbox.log.push(head.number, stamped),
                DatagramKind::Open | DatagramKind::Echo => {}
            }
            shared.changed.notify_all();
        });
    }
}

/// Connects to an address; `prepare` sets options before.
fn connected(
    server: SocketAddr,
    prepare: impl FnOnce(&OwnedFd) -> std::io::Result<()>,
) -> std::io::Result<OwnedFd> {
    let socket = socket::tcp_socket(server.is_ipv6())?;
    prepare(&socket)?;
    socket::connect_to(socket.as_fd(), server)?;
    let queue = linux::epoll::EventQueue::new()?;
    let writes = linux::epoll::EventWatch::Level { read: false, write: true };
    queue.watch(socket.as_fd(), 0, writes)?;
    let (begin, mut ready) = (Instant::now(), Vec::new());
    while ready.is_empty() {
        if begin.elapsed() >= CONNECT_TIME {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        queue.wait(&mut ready, 100)?;
    }
    socket::take_error(socket.as_fd()).map_or(Ok(socket), Err)
}

fn unexpected(reply: Reply) -> ClientError {
    match reply {
        Reply::Refused { why } => ClientError::Refused(why),
        _ => ClientError::Unexpected,
    }
}
