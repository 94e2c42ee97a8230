//! Clients that send requests and wait, and servers that answer: exchanges over one connection, or pages of
//! several objects over several. Simulated and kernel ends share this code.
//!
//! Inputs of an [`Requester`]: [`start`](Requester::start),
//! [`handle_established`](Requester::handle_established), [`handle_read`](Requester::handle_read),
//! [`handle_wake`](Requester::handle_wake). Outputs: the [`Ask`]s that each of them appends. Next wake-up:
//! [`next_wake`](Requester::next_wake). Times are arguments.
//!
//! | here | browsers |
//! |---|---|
//! | all connections open with the first page | connections are opened as objects become known |
//! | one object at a time on each, in order | priorities; HTTP/2 and HTTP/3 load many objects at a time over one connection |

use crate::config::App;
use crate::exchanges::ExchangeLog;
use std::collections::VecDeque;
use units::{ExchangeKind, Span, Time};

/// Default number of connections of a page: what browsers open to one server (RFC 9112 section 9.4 sets no
/// limit).
pub const PAGE_CONNECTIONS: u32 = 6;
/// Default size of a page's requests, bytes.
const DEFAULT_PAGE_REQUEST: u64 = 400;

/// The requests of an application, which are repeated.
#[derive(Clone, Copy, Debug)]
pub struct RequestPattern {
    request: u64,
    /// Size of the document that is loaded before all objects, bytes.
    html: Option<u64>,
    objects: u64,
    size: u64,
    think: Span,
    count: Option<u64>,
    is_page: bool,
    /// Number of connections.
    pub connections: u32,
}

impl App {
    /// The requests of the application; `None` if it sends none.
    pub fn asking(&self) -> Option<RequestPattern> {
        match *self {
            App::Request { request, response, think, count } => Some(RequestPattern {
                request: request.get(),
                html: None,
                objects: 1,
                size: response.get(),
                think: think.unwrap_or(Span::ZERO),
                count,
                is_page: false,
                connections: 1,
            }),
            App::Page { objects, size, connections, request, think, count, html } => Some(RequestPattern {
                request: request.map_or(DEFAULT_PAGE_REQUEST, |b| b.get()),
                html: html.map(|b| b.get()),
                objects: objects.into(),
                size: size.get(),
                think: think.unwrap_or(Span::ZERO),
                count,
                is_page: true,
                connections: connections.unwrap_or(PAGE_CONNECTIONS),
            }),
            App::Bulk { .. }
            | App::Onoff { .. }
            | App::Udp { .. }
            | App::Voice { .. }
            | App::Probe { .. } => None,
        }
    }
}

impl RequestPattern {
    /// Bytes of all answers and of all requests in one repetition.
    pub fn sizes(&self) -> [u64; 2] {
        let answers = self.objects.saturating_mul(self.size).saturating_add(self.html.unwrap_or(0));
        [answers, (self.objects + u64::from(self.html.is_some())).saturating_mul(self.request)]
    }
}

/// A request to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Number of the connection in its flow, from 0.
    pub connection: usize,
    /// Size of the request, bytes.
    pub request: u64,
    /// Size of the answer, bytes.
    pub answer: u64,
}

/// A connection of the flow.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    up: bool,
    /// The awaited answer, and since when it is awaited.
    awaited: Option<(ExchangeKind, Time)>,
    /// Total bytes that will have been read when all requested answers have arrived.
    due: u64,
}

/// The client of a flow.
#[derive(Clone, Debug)]
pub struct Requester {
    pattern: RequestPattern,
    connections: Vec<Connection>,
    /// Whether the page's document is still to be requested.
    html: bool,
    /// Objects that are known but not yet requested.
    known: u64,
    since: Time,
    began: Option<Time>,
    wake: Option<Time>,
    /// Completed exchanges or pages.
    pub completed: u64,
    /// Time of the last completion, once all are done.
    pub finished: Option<Time>,
    /// Durations of all exchanges.
    pub log: ExchangeLog,
}

impl Requester {
    /// A client that has not started.
    pub fn new(pattern: RequestPattern) -> Requester {
        Requester {
            pattern,
            connections: vec![Connection::default(); pattern.connections as usize],
            html: false,
            known: 0,
            since: Time::ZERO,
            began: None,
            wake: None,
            completed: 0,
            finished: None,
            log: ExchangeLog::default(),
        }
    }

    /// Number of connections.
    pub fn connections(&self) -> u32 {
        self.pattern.connections
    }

    /// Whether the client loads pages; otherwise it exchanges requests and answers.
    pub fn is_page(&self) -> bool {
        self.pattern.is_page
    }

    /// Time of the next wake-up: the end of the think time.
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    /// The flow starts, and its connections are being opened.
    pub fn start(&mut self, now: Time, requests: &mut VecDeque<Ask>) {
        self.begin(now, requests);
    }

    /// A connection is established. Requests that waited for it count as awaited since they were known.
    pub fn handle_established(&mut self, connection: usize, requests: &mut VecDeque<Ask>) {
        if !std::mem::replace(&mut self.connections[connection].up, true) {
            self.send_requests(self.since, requests);
        }
    }

    /// `read` bytes in total have been read on a connection.
    pub fn handle_read(&mut self, now: Time, connection: usize, read: u64, requests: &mut VecDeque<Ask>) {
        let state = &mut self.connections[connection];
        let Some((what, since)) = state.awaited.filter(|_| read >= state.due) else { return };
        state.awaited = None;
        self.log.push(what, since, now);
        if what == ExchangeKind::Html {
            (self.known, self.since) = (self.pattern.objects, now);
        }
        self.send_requests(now, requests);
        if self.connections.iter().any(|c| c.awaited.is_some()) || self.known > 0 {
            return;
        }
        if let Some(began) = self.began.take().filter(|_| self.pattern.is_page) {
            self.log.push(ExchangeKind::Page, began, now);
        }
        self.completed += 1;
        if self.pattern.count.is_some_and(|count| self.completed >= count) {
            self.finished = Some(now);
        } else if self.pattern.think.is_zero() {
            self.begin(now, requests);
        } else {
            self.wake = Some(now + self.pattern.think);
        }
    }

    /// The think time has passed.
    pub fn handle_wake(&mut self, now: Time, requests: &mut VecDeque<Ask>) {
        if self.wake.take().is_some() {
            self.begin(now, requests);
        }
    }

    /// Everything that is awaited, and since when.
    pub fn waiting(&self) -> impl Iterator<Item = (ExchangeKind, Time)> + '_ {
        let page = self.began.filter(|_| self.pattern.is_page).map(|began| (ExchangeKind::Page, began));
        // An exchange also counts as awaited while its connection is not established.
        let alone = self.began.filter(|_| !self.pattern.is_page && self.known > 0);
        let answers = self.connections.iter().filter_map(|c| c.awaited);
        answers.chain(page).chain(alone.map(|began| (ExchangeKind::Answer, began)))
    }

    fn begin(&mut self, now: Time, requests: &mut VecDeque<Ask>) {
        (self.began, self.since) = (Some(now), now);
        self.html = self.pattern.html.is_some();
        self.known = if self.html { 0 } else { self.pattern.objects };
        self.send_requests(now, requests);
    }

    /// Sends requests for known objects on idle connections; they count as awaited since `since`.
    fn send_requests(&mut self, since: Time, requests: &mut VecDeque<Ask>) {
        for (connection, state) in self.connections.iter_mut().enumerate() {
            if !state.up || state.awaited.is_some() {
                continue;
            }
            let (what, answer) = match self.pattern.html.filter(|_| self.html) {
                Some(html) => {
                    self.html = false;
                    (ExchangeKind::Html, html)
                }
                None if self.known > 0 => {
                    self.known -= 1;
                    (
                        if self.pattern.is_page { ExchangeKind::Object } else { ExchangeKind::Answer },
                        self.pattern.size,
                    )
                }
                None => return,
            };
            state.awaited = Some((what, since));
            state.due += answer;
            requests.push_back(Ask { connection, request: self.pattern.request, answer });
        }
    }
}

/// The server of a flow, which writes an answer when a whole request has arrived.
#[derive(Clone, Debug)]
pub struct Responder {
    request: u64,
    /// For each connection, the number of answered requests and the sizes of answers still to be written.
    connections: Vec<(u64, VecDeque<u64>)>,
}

impl Responder {
    /// A server for a client with this pattern.
    pub fn new(pattern: RequestPattern) -> Responder {
        Responder {
            request: pattern.request.max(1),
            connections: vec![(0, VecDeque::new()); pattern.connections as usize],
        }
    }

    /// A request has been sent.
    pub fn expect(&mut self, ask: Ask) {
        self.connections[ask.connection].1.push_back(ask.answer);
    }

    /// `read` bytes in total have been read on a connection; returns the size of the next answer if its
    /// request has arrived.
    pub fn next(&mut self, connection: usize, read: u64) -> Option<u64> {
        let (answered, pending) = &mut self.connections[connection];
        if read < (*answered + 1) * self.request {
            return None;
        }
        let answer = pending.pop_front()?;
        *answered += 1;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn page(connections: u32, html: Option<u64>, count: Option<u64>) -> RequestPattern {
        let (size, think) = (Bytes::new(1000), Some(Span::from_millis(100)));
        let html = html.map(Bytes::new);
        let app =
            App::Page { objects: 3, size, connections: Some(connections), request: None, think, count, html };
        assert!(app.answers() && app.has_end() == count.is_some());
        app.asking().unwrap()
    }

    fn requested(requests: &mut VecDeque<Ask>) -> Vec<(usize, u64)> {
        requests.drain(..).map(|a| (a.connection, a.answer)).collect()
    }

    #[test]
    fn a_page_is_loaded_object_by_object_over_its_connections() {
        let mut requester = Requester::new(page(2, Some(500), Some(2)));
        let mut requests = VecDeque::new();
        requester.start(ms(0), &mut requests);
        assert_eq!(requested(&mut requests), [], "no connection is established");
        requester.handle_established(1, &mut requests);
        assert_eq!(requested(&mut requests), [(1, 500)], "the document, on the first connection");
        requester.handle_established(0, &mut requests);
        requester.handle_read(ms(30), 1, 499, &mut requests);
        assert_eq!(requested(&mut requests), [], "the document is incomplete");
        requester.handle_read(ms(40), 1, 500, &mut requests);
        assert_eq!(requested(&mut requests), [(0, 1000), (1, 1000)]);
        requester.handle_read(ms(60), 1, 1500, &mut requests);
        assert_eq!(requested(&mut requests), [(1, 1000)], "the third object, on the idle connection");
        requester.handle_read(ms(90), 0, 1000, &mut requests);
        assert_eq!((requester.completed, requester.next_wake()), (0, None));
        assert_eq!(
            requester.waiting().collect::<Vec<_>>(),
            [(ExchangeKind::Object, ms(60)), (ExchangeKind::Page, ms(0))]
        );
        requester.handle_read(ms(95), 1, 2500, &mut requests);
        assert_eq!(
            (requester.completed, requester.next_wake(), requested(&mut requests)),
            (1, Some(ms(195)), vec![])
        );
        let log: Vec<_> = requester.log.list().iter().map(|e| (e.what, e.took.as_millis_f64())).collect();
        let object = ExchangeKind::Object;
        let wanted = [
            (ExchangeKind::Html, 40.0),
            (object, 20.0),
            (object, 50.0),
            (object, 35.0),
            (ExchangeKind::Page, 95.0),
        ];
        assert_eq!(log, wanted);
        // The next page uses the same connections.
        requester.handle_wake(ms(195), &mut requests);
        assert_eq!(requested(&mut requests), [(0, 500)]);
        requester.handle_read(ms(210), 0, 1500, &mut requests);
        for (t, connection, read) in [(220, 0, 2500), (220, 1, 3500), (230, 0, 3500)] {
            requester.handle_read(ms(t), connection, read, &mut requests);
        }
        assert_eq!((requester.finished, requester.waiting().count()), (Some(ms(230)), 0));
    }

    #[test]
    fn requests_count_as_awaited_while_their_connection_is_opened() {
        let mut requester = Requester::new(page(3, None, None));
        let mut requests = VecDeque::new();
        requester.start(ms(5), &mut requests);
        for connection in 0..3 {
            requester.handle_established(connection, &mut requests);
        }
        assert_eq!(requests.len(), 3);
        assert!(requester.waiting().all(|(_, since)| since == ms(5)));
    }

    #[test]
    fn each_complete_request_is_answered() {
        let mut responder = Responder::new(page(1, None, None));
        for answer in [7, 9] {
            responder.expect(Ask { connection: 0, request: 400, answer });
        }
        let read = |a: &mut Responder, n| a.next(0, n);
        assert_eq!(read(&mut responder, 399), None);
        assert_eq!([400, 400, 800, 9000].map(|n| read(&mut responder, n)), [Some(7), None, Some(9), None]);
    }
}
