//! Accepts connections, reads their first messages, and opens sessions. Each connection that has not yet said
//! what it wants takes a few kB and at most [`MAX_SILENCE`]; there are at most [`MAX_WAITING`] of them, of
//! which the oldest is closed for a new one, so that neither silent nor slow clients keep others out.

use super::session::{Onward, Session, SessionState};
use super::{MeasureOnward, ServeOptions, ServerEvent, canonical, client_of, new_id};
use crate::datagram::{DatagramHead, DatagramKind};
use crate::endpoint::Endpoint;
use crate::frame::{self, MAX_REQUEST};
use crate::message::{SessionId, from_hex, to_hex};
use crate::streams::StreamConnection;
use crate::wire::Wire;
use crate::{Reply, Request, VERSION, token};
use linux::epoll::{EventQueue, EventWatch};
use linux::socket::{self, SocketOption};
use linux::{datagram, random};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Maximum number of connections that have not said what they want, in all and of one client.
const MAX_WAITING: usize = 256;
const MAX_WAITING_OF_ONE: usize = 32;
/// Time that such a connection has.
const MAX_SILENCE: Duration = Duration::from_secs(5);
/// Datagrams and connections handled before other sources are served.
const MAX_BATCH: usize = 64;

const ACCEPT: u64 = 0;
const DATAGRAMS: u64 = 1;
const FIRST_TOKEN: u64 = 2;

/// A connection that has not said yet what it wants.
struct Waiting {
    socket: OwnedFd,
    client: SocketAddr,
    since: Instant,
    buffer: Vec<u8>,
    /// The challenge, once the client has said hello; empty where no token is needed.
    challenge: Option<Vec<u8>>,
}

/// A session as the door knows it.
struct Entry {
    client: IpAddr,
    /// This end of the control connection.
    local: SocketAddr,
    state: Arc<SessionState>,
    streams: SyncSender<StreamConnection>,
}

type Entries = Arc<Mutex<BTreeMap<SessionId, Entry>>>;

/// Listens for connections and first datagrams.
pub struct Door<'a> {
    options: &'a ServeOptions,
    onward: MeasureOnward<'a>,
    log: &'a (dyn Fn(ServerEvent) + Sync),
    queue: EventQueue,
    listener: OwnedFd,
    datagrams: OwnedFd,
    waiting: BTreeMap<u64, Waiting>,
    next_token: u64,
    entries: Entries,
}

/// The next step for a connection after its bytes were read.
enum Fate {
    /// Wait for more bytes.
    Waits,
    Closes,
    /// The control connection of a new session, and the bytes that followed the proof.
    Opens(Vec<u8>),
    /// A stream of a session.
    Attaches(SessionId),
}

impl<'a> Door<'a> {
    /// Listens at the address of the options.
    pub fn open(
        options: &'a ServeOptions,
        onward: MeasureOnward<'a>,
        log: &'a (dyn Fn(ServerEvent) + Sync),
    ) -> io::Result<Door<'a>> {
        let is_v6 = options.listen.is_ipv6();
        let listener = socket::tcp_socket(is_v6)?;
        socket::set_option(listener.as_fd(), SocketOption::SO_REUSEADDR, 1)?;
        socket::bind_to(listener.as_fd(), options.listen)?;
        socket::listen(listener.as_fd())?;
        let local = socket::local_address(listener.as_fd())?;
        let datagrams = socket::udp_socket(is_v6)?;
        socket::set_option(datagrams.as_fd(), SocketOption::SO_REUSEPORT, 1)?;
        socket::bind_to(datagrams.as_fd(), local)?;
        let queue = EventQueue::new()?;
        queue.watch(listener.as_fd(), ACCEPT, EventWatch::Read)?;
        queue.watch(datagrams.as_fd(), DATAGRAMS, EventWatch::Read)?;
        log(ServerEvent::Listening(local));
        Ok(Door {
            options,
            onward,
            log,
            queue,
            listener,
            datagrams,
            waiting: BTreeMap::new(),
            next_token: FIRST_TOKEN,
            entries: Entries::default(),
        })
    }

    /// Serves until the time is over or `ended` returns true; sessions that run then are ended.
    pub fn run<'scope>(
        mut self,
        scope: &'scope Scope<'scope, '_>,
        ended: &mut dyn FnMut() -> bool,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let begin = Instant::now();
        let mut ready = Vec::new();
        while !ended() && self.options.time.is_none_or(|time| begin.elapsed() < time) {
            self.queue.wait(&mut ready, 200)?;
            for event in &ready {
                match event.token {
                    ACCEPT => self.accept(),
                    DATAGRAMS => self.first_datagrams(scope),
                    token => self.read(token, scope),
                }
            }
            self.waiting.retain(|_, w| w.since.elapsed() < MAX_SILENCE);
        }
        self.lock().values().for_each(|entry| entry.state.end());
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<SessionId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&mut self) {
        for _ in 0..MAX_BATCH {
            let (socket, client) = match socket::accept(self.listener.as_fd()) {
                Ok(accepted) => accepted,
                Err(e) if socket::is_connection_error(&e) => continue,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // No descriptors are left: the oldest of those that wait makes room.
                    self.waiting.pop_first();
                    return;
                }
            };
            let of = client_of(client.ip());
            let of_one = self.waiting.values().filter(|w| client_of(w.client.ip()) == of).count();
            if of_one >= MAX_WAITING_OF_ONE {
                // Its oldest is closed for its newest.
                let oldest = self.waiting.iter().find(|(_, w)| client_of(w.client.ip()) == of);
                let oldest = oldest.map(|(token, _)| *token);
                oldest.and_then(|token| self.waiting.remove(&token));
            } else if self.waiting.len() >= MAX_WAITING {
                self.waiting.pop_first();
            }
            let token = self.next_token;
            self.next_token += 1;
            if self.queue.watch(socket.as_fd(), token, EventWatch::Read).is_ok() {
                let since = Instant::now();
                let waiting = Waiting { socket, client, since, buffer: Vec::new(), challenge: None };
                self.waiting.insert(token, waiting);
            }
        }
    }

    /// Reads what a connection sends, and does what it wants.
    fn read<'scope>(&mut self, token: u64, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        let Some(waiting) = self.waiting.get_mut(&token) else { return };
        let fate = waiting.read(self.options.token.as_deref());
        if matches!(fate, Fate::Waits) {
            return;
        }
        let Some(waiting) = self.waiting.remove(&token) else { return };
        self.queue.forget(waiting.socket.as_fd());
        match fate {
            Fate::Waits | Fate::Closes => {}
            Fate::Opens(rest) => self.begin(waiting.socket, waiting.client, rest, scope),
            Fate::Attaches(id) => {
                let stream = StreamConnection { socket: waiting.socket, client: canonical(waiting.client) };
                let entries = self.lock();
                let entry = entries.get(&id).filter(|e| e.client == stream.client.ip());
                if let Some(entry) = entry
                    && say(&stream.socket, &Reply::Ready)
                {
                    // A stream that no test waits for is closed.
                    drop(entry.streams.try_send(stream));
                }
            }
        }
    }

    /// Begins a session on a control connection.
    fn begin<'scope>(
        &mut self,
        socket: OwnedFd,
        client: SocketAddr,
        rest: Vec<u8>,
        scope: &'scope Scope<'scope, '_>,
    ) where
        'a: 'scope,
    {
        let of = client_of(client.ip());
        let client = canonical(client);
        let (all, of_one) = {
            let entries = self.lock();
            (entries.len(), entries.values().filter(|e| client_of(e.client) == of).count())
        };
        let why = match () {
            () if all >= self.options.max_clients as usize => {
                Some("this server has as many clients as it may")
            }
            () if of_one >= self.options.max_per_address as usize => {
                Some("this address has as many tests running as it may")
            }
            () => None,
        };
        if let Some(why) = why {
            say(&socket, &Reply::Refused { why: why.into() });
            return (self.log)(ServerEvent::Refused { client, why });
        }
        let (Ok(id), Ok(local)) = (new_id(), socket::local_address(socket.as_fd())) else { return };
        let state = Arc::new(SessionState::new(self.options.limits));
        let (streams, attached) = sync_channel(crate::MAX_STREAMS as usize);
        let entry = Entry { client: client.ip(), local: canonical(local), state: state.clone(), streams };
        self.lock().insert(id, entry);
        let (entries, log) = (self.entries.clone(), self.log);
        let onward = Onward { hosts: &self.options.onward, measure: self.onward };
        log(ServerEvent::Begun { client });
        scope.spawn(move || {
            Session { control: Wire::new(socket, rest), id, state: state.clone(), attached, onward }.run();
            state.end();
            entries.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            log(ServerEvent::Ended { client, bytes: state.used() });
        });
    }

    /// Reads datagrams that belong to no session's socket yet. A datagram that opens a session's path gives
    /// the session a socket; anything else gets no answer.
    fn first_datagrams<'scope>(&mut self, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        let mut buffer = [0; 64];
        for _ in 0..MAX_BATCH {
            let received = datagram::receive_stamped(self.datagrams.as_fd(), &mut buffer);
            let Ok(stamped) = received else { return };
            let head = DatagramHead::decode(&buffer[..stamped.len.min(buffer.len())]);
            let Some(head) = head.filter(|head| head.kind == DatagramKind::Open) else { continue };
            let from = canonical(stamped.from);
            let (state, local) = match self.lock().get(&head.session) {
                Some(entry) if entry.client == from.ip() => (entry.state.clone(), entry.local),
                _ => continue,
            };
            if let Ok(endpoint) = Endpoint::open(local, from, head.session)
                && state.set_endpoint(endpoint)
            {
                scope.spawn(move || state.serve_datagrams());
            }
        }
    }
}

impl Waiting {
    fn read(&mut self, token: Option<&[u8]>) -> Fate {
        let mut chunk = [0; MAX_REQUEST];
        match socket::receive(self.socket.as_fd(), &mut chunk, false) {
            Ok(0) => return Fate::Closes,
            Ok(n) => self.buffer.extend(&chunk[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Fate::Waits,
            Err(_) => return Fate::Closes,
        }
        loop {
            let (request, length) = match frame::decode::<Request>(&self.buffer, MAX_REQUEST) {
                Ok(Some(read)) => read,
                // A request is complete long before this: more is garbage.
                Ok(None) if self.buffer.len() > 2 * MAX_REQUEST => return Fate::Closes,
                Ok(None) => return Fate::Waits,
                Err(_) => return Fate::Closes,
            };
            self.buffer.drain(..length);
            match (request, &self.challenge) {
                (Request::Hello { version }, None) if version != VERSION => {
                    let why = format!("this server speaks version {VERSION} of the protocol, not {version}");
                    say(&self.socket, &Reply::Refused { why });
                    return Fate::Closes;
                }
                (Request::Hello { .. }, None) => {
                    let mut challenge = vec![0; if token.is_some() { token::CHALLENGE } else { 0 }];
                    if random::fill(&mut challenge).is_err() {
                        return Fate::Closes;
                    }
                    let shown = token.map(|_| to_hex(&challenge));
                    self.challenge = Some(challenge);
                    if !say(&self.socket, &Reply::Hello { version: VERSION, challenge: shown }) {
                        return Fate::Closes;
                    }
                }
                (Request::Prove { proof }, Some(challenge)) => {
                    let is_right = token.is_none_or(|token| {
                        from_hex(&proof).is_some_and(|proof| token::is_proof(token, challenge, &proof))
                    });
                    if is_right {
                        return Fate::Opens(std::mem::take(&mut self.buffer));
                    }
                    say(&self.socket, &Reply::Refused { why: "the token is not this server's".into() });
                    return Fate::Closes;
                }
                (Request::Attach { session }, None) => return Fate::Attaches(session),
                _ => return Fate::Closes,
            }
        }
    }
}

/// Sends a short reply. A new connection has room for it; one that does not take it is not served.
fn say(socket: &OwnedFd, reply: &Reply) -> bool {
    let bytes = frame::encode(reply);
    socket::send(socket.as_fd(), &bytes).is_ok_and(|n| n == bytes.len())
}
