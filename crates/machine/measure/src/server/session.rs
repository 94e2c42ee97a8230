//! A session of the server: does what the client requests, within the session's limits.

use super::MeasureOnward;
use crate::datagram::DatagramKind;
use crate::endpoint::{ArrivalLog, Endpoint, SentTrain};
use crate::frame::MAX_REQUEST;
use crate::message::{SessionId, SessionLimits, StreamsReport};
use crate::streams::{self, StreamBounds, StreamConnection};
use crate::wire::{Wire, WireError};
use crate::{MAX_STREAMS, MAX_TEST_MS, MAX_TRAIN_PACKETS, Reply, Request, TrainOrder};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Time in which a client must take a reply.
const REPLY_TIME: Duration = Duration::from_secs(10);
/// Time in which a client must attach the streams of a test.
const ATTACH_TIME: Duration = Duration::from_secs(10);
/// Maximum duration of a train.
const TRAIN_TIME: Duration = Duration::from_secs(5);
/// Maximum number of echoes that a session gets in a second.
const MAX_ECHOES: u32 = 1000;
/// Maximum size of an echo, bytes.
const MAX_ECHO: usize = 512;

/// State that the threads of a session share.
pub struct SessionState {
    limits: SessionLimits,
    begin: Instant,
    ended: AtomicBool,
    used: AtomicU64,
    endpoint: OnceLock<Endpoint>,
    log: Mutex<ArrivalLog>,
}

impl SessionState {
    /// Begins a session.
    pub fn new(limits: SessionLimits) -> SessionState {
        SessionState {
            limits,
            begin: Instant::now(),
            ended: AtomicBool::new(false),
            used: AtomicU64::new(0),
            endpoint: OnceLock::new(),
            log: Mutex::default(),
        }
    }

    /// Ends the session; its threads end soon.
    pub fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Returns the bytes transferred so far.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Sets the socket of the session's datagrams. Returns `false` if it has one: its address never changes.
    pub fn set_endpoint(&self, endpoint: Endpoint) -> bool {
        self.endpoint.set(endpoint).is_ok()
    }

    fn is_over(&self) -> bool {
        let is_late = self.begin.elapsed().as_secs() >= u64::from(self.limits.seconds);
        self.ended.load(Relaxed) || is_late || self.used() >= self.limits.bytes
    }

    fn left(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.used())
    }

    fn log(&self) -> MutexGuard<'_, ArrivalLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers echoes and records trains until the session ends.
    pub fn serve_datagrams(&self) {
        let Some(endpoint) = self.endpoint.get() else { return };
        let _ = endpoint.send(DatagramKind::Opened, 0, 0);
        let (mut second, mut echoes) = (Instant::now(), 0);
        while !self.is_over() {
            endpoint.receive(Duration::from_millis(100), &mut |head, stamped| {
                self.used.fetch_add(stamped.len as u64, Relaxed);
                match head.kind {
                    DatagramKind::Open => drop(endpoint.send(DatagramKind::Opened, head.number, 0)),
                    DatagramKind::Echo => {
                        if second.elapsed() >= Duration::from_secs(1) {
                            (second, echoes) = (Instant::now(), 0);
                        }
                        echoes += 1;
                        if echoes <= MAX_ECHOES {
                            let size = stamped.len.min(MAX_ECHO);
                            let _ = endpoint.send(DatagramKind::Echoed, head.number, size);
                        }
                    }
                    DatagramKind::Train => self.log().push(head.number, stamped),
                    DatagramKind::Opened | DatagramKind::Echoed => {}
                }
            });
        }
    }
}

/// The other servers that this one may measure the path to.
#[derive(Clone, Copy)]
pub struct Onward<'a> {
    pub hosts: &'a [(String, u16)],
    pub measure: MeasureOnward<'a>,
}

/// A session's control connection, and the streams that clients attach.
pub struct Session<'a> {
    pub control: Wire,
    pub id: SessionId,
    pub state: std::sync::Arc<SessionState>,
    pub attached: Receiver<StreamConnection>,
    pub onward: Onward<'a>,
}

impl Session<'_> {
    /// Serves requests until the client leaves, makes a mistake or meets a limit.
    pub fn run(mut self) {
        let opened = Reply::Session { session: self.id, limits: self.state.limits };
        if self.control.send(&opened, REPLY_TIME).is_err() {
            return;
        }
        while !self.state.is_over() {
            match self.control.receive::<Request>(MAX_REQUEST, Duration::from_millis(200)) {
                Ok(request) => {
                    let reply = self.handle(request);
                    let refused = matches!(reply, Reply::Refused { .. });
                    if self.control.send(&reply, REPLY_TIME).is_err() || refused {
                        return;
                    }
                }
                Err(WireError::Late) => {}
                Err(_) => return,
            }
        }
        let why = "the session has met its limit of time or bytes".into();
        let _ = self.control.send(&Reply::Refused { why }, REPLY_TIME);
    }

    fn handle(&mut self, request: Request) -> Reply {
        match request {
            Request::Download { streams, ms } => self.streams(streams, ms, true),
            Request::Upload { streams, ms } => self.streams(streams, ms, false),
            Request::Train { train } => self.train(&train),
            Request::Clear => {
                self.state.log().clear();
                Reply::Ready
            }
            Request::Collect => {
                let (arrivals, dropped) = self.state.log().get();
                Reply::Arrivals { arrivals, dropped }
            }
            Request::Onward { host, port } => self.onward(&host, port),
            Request::Hello { .. } | Request::Prove { .. } | Request::Attach { .. } => {
                refused("this request comes first or not at all")
            }
        }
    }

    /// Tests some streams, once the client has attached them.
    fn streams(&mut self, count: u32, ms: u32, sends: bool) -> Reply {
        if !(1..=MAX_STREAMS).contains(&count) || !(1..=MAX_TEST_MS).contains(&ms) {
            return refused("too many streams, or too long a test");
        }
        let begin = Instant::now();
        let mut streams = Vec::new();
        while streams.len() < count as usize {
            let left = ATTACH_TIME.saturating_sub(begin.elapsed());
            match self.attached.recv_timeout(left) {
                Ok(stream) => streams.push(stream),
                Err(_) => return refused("the streams of the test were not attached in time"),
            }
        }
        if self.control.send(&Reply::Ready, REPLY_TIME).is_err() {
            return refused("the client has left");
        }
        let bounds = StreamBounds { ms: ms.into(), bytes: self.state.left(), rate: self.state.limits.rate };
        let state = self.state.clone();
        let mut tick = || !state.ended.load(Relaxed);
        let done = match sends {
            true => streams::send(&streams, bounds, &mut tick),
            false => streams::receive(&streams, bounds, &mut tick),
        };
        let (report, bytes): (StreamsReport, u64) = match done {
            Ok(done) => done,
            Err(_) => return refused("this server has no resources left for the test"),
        };
        self.state.used.fetch_add(bytes, Relaxed);
        Reply::Done(report)
    }

    /// Measures the path to another server, while the client waits for it.
    fn onward(&mut self, host: &str, port: u16) -> Reply {
        if !self.onward.hosts.iter().any(|(name, at)| name == host && *at == port) {
            let why = format!("it may not measure the path to {host} port {port} (longfat serve --onward)");
            return Reply::NotMeasured { why };
        }
        let (state, control) = (&self.state, &mut self.control);
        let mut has_left = || {
            let waits =
                matches!(control.receive::<Request>(MAX_REQUEST, Duration::ZERO), Err(WireError::Late));
            !waits || state.is_over()
        };
        match (self.onward.measure)(host, port, &mut has_left) {
            Ok(measurement) => Reply::Measured { measurement },
            Err(why) => Reply::NotMeasured { why },
        }
    }

    /// Sends a train to the address that the client's datagrams came from.
    fn train(&mut self, order: &TrainOrder) -> Reply {
        let Some(endpoint) = self.state.endpoint.get() else {
            return refused("no datagram of the session has arrived");
        };
        let has_lists = (1..=256).contains(&order.sizes.len()) && (1..=256).contains(&order.tos.len());
        if !has_lists || !(1..=MAX_TRAIN_PACKETS).contains(&order.count) {
            return refused("a train of wrong size");
        }
        let SentTrain { sent_us, waited } = endpoint.send_train(order, self.state.limits.rate, TRAIN_TIME);
        let sizes = order.sizes.iter().cycle().take(sent_us.len());
        let bytes: u64 = sizes.map(|size| u64::from(*size)).sum();
        self.state.used.fetch_add(bytes, Relaxed);
        Reply::TrainSent { sent_us, waited }
    }
}

fn refused(why: &str) -> Reply {
    Reply::Refused { why: why.into() }
}
