//! Who asks and waits, and who answers: exchanges over one connection, pages of several objects over several. The
//! same for simulated ends and for the kernel's.
//!
//! Inputs of an [`Asker`]: [`start`](Asker::start), [`handle_up`](Asker::handle_up),
//! [`handle_read`](Asker::handle_read), [`handle_wake`](Asker::handle_wake); outputs, the [`Ask`]s that each of them
//! appends; the next wake-up, [`next_wake`](Asker::next_wake). Times come with the calls.
//!
//! | departure | from browsers |
//! |---|---|
//! | all connections open with the first page | they open as objects become known |
//! | one object at a time on each, in order | priorities; HTTP/2 and 3 have many at a time on one connection |

use crate::config::App;
use crate::exchanges::ExchangeLog;
use std::collections::VecDeque;
use units::{Awaited, Span, Time};

/// Connections of a page that says no number: what browsers open to one server (RFC 9112 section 9.4 sets no limit).
pub const PAGE_CONNECTIONS: u32 = 6;
/// Bytes of a page's request that says no size.
const PAGE_REQUEST: u64 = 400;

/// What an application asks for, again and again.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    request: u64,
    /// Size of what comes first and alone.
    html: Option<u64>,
    objects: u64,
    size: u64,
    think: Span,
    count: Option<u64>,
    is_page: bool,
    /// Connections.
    pub connections: u32,
}

impl App {
    /// What it asks for, if it does.
    pub fn asking(&self) -> Option<Asking> {
        match *self {
            App::Request { request, response, think, count } => Some(Asking {
                request: request.get(),
                html: None,
                objects: 1,
                size: response.get(),
                think: think.unwrap_or(Span::ZERO),
                count,
                is_page: false,
                connections: 1,
            }),
            App::Page { objects, size, connections, request, think, count, html } => Some(Asking {
                request: request.map_or(PAGE_REQUEST, |b| b.get()),
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

impl Asking {
    /// Bytes of all that is asked for once, and of its requests.
    pub fn sizes(&self) -> [u64; 2] {
        let answers = self.objects.saturating_mul(self.size).saturating_add(self.html.unwrap_or(0));
        [answers, (self.objects + u64::from(self.html.is_some())).saturating_mul(self.request)]
    }
}

/// A request to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// On which of the flow's connections, from 0.
    pub connection: usize,
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the answer that it asks for.
    pub answer: u64,
}

/// One of its connections.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    up: bool,
    /// What is on its way, and since when it is waited for.
    waits: Option<(Awaited, Time)>,
    /// Bytes that have been read when all asked for has come.
    due: u64,
}

/// The asking side of a flow.
#[derive(Clone, Debug)]
pub struct Asker {
    what: Asking,
    lines: Vec<Line>,
    /// The page's first document is still to be asked for.
    html: bool,
    /// Objects that are known and not asked for yet.
    known: u64,
    since: Time,
    began: Option<Time>,
    wake: Option<Time>,
    /// Exchanges or pages completed.
    pub completed: u64,
    /// When the last of them was.
    pub finished: Option<Time>,
    /// How long each took.
    pub log: ExchangeLog,
}

impl Asker {
    /// Not started.
    pub fn new(what: Asking) -> Asker {
        Asker {
            what,
            lines: vec![Line::default(); what.connections as usize],
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

    /// How many connections it asks on.
    pub fn lines(&self) -> u32 {
        self.what.connections
    }

    /// Whether it loads pages; else it exchanges requests and answers.
    pub fn is_page(&self) -> bool {
        self.what.is_page
    }

    /// When it must be woken: it has thought.
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    /// The flow begins, and its connections are being opened.
    pub fn start(&mut self, now: Time, asks: &mut VecDeque<Ask>) {
        self.begin(now, asks);
    }

    /// A connection stands. What waited for it has waited since it was known.
    pub fn handle_up(&mut self, connection: usize, asks: &mut VecDeque<Ask>) {
        if !std::mem::replace(&mut self.lines[connection].up, true) {
            self.give(self.since, asks);
        }
    }

    /// So many bytes have been read on a connection in all.
    pub fn handle_read(&mut self, now: Time, connection: usize, read: u64, asks: &mut VecDeque<Ask>) {
        let line = &mut self.lines[connection];
        let Some((what, since)) = line.waits.filter(|_| read >= line.due) else { return };
        line.waits = None;
        self.log.push(what, since, now);
        if what == Awaited::Html {
            (self.known, self.since) = (self.what.objects, now);
        }
        self.give(now, asks);
        if self.lines.iter().any(|l| l.waits.is_some()) || self.known > 0 {
            return;
        }
        if let Some(began) = self.began.take().filter(|_| self.what.is_page) {
            self.log.push(Awaited::Page, began, now);
        }
        self.completed += 1;
        if self.what.count.is_some_and(|count| self.completed >= count) {
            self.finished = Some(now);
        } else if self.what.think.is_zero() {
            self.begin(now, asks);
        } else {
            self.wake = Some(now + self.what.think);
        }
    }

    /// It has thought.
    pub fn handle_wake(&mut self, now: Time, asks: &mut VecDeque<Ask>) {
        if self.wake.take().is_some() {
            self.begin(now, asks);
        }
    }

    /// What it is waiting for, each since when.
    pub fn waiting(&self) -> impl Iterator<Item = (Awaited, Time)> + '_ {
        let page = self.began.filter(|_| self.what.is_page).map(|began| (Awaited::Page, began));
        // An exchange whose connection does not stand yet is waited for too.
        let alone = self.began.filter(|_| !self.what.is_page && self.known > 0);
        let answers = self.lines.iter().filter_map(|l| l.waits);
        answers.chain(page).chain(alone.map(|began| (Awaited::Answer, began)))
    }

    fn begin(&mut self, now: Time, asks: &mut VecDeque<Ask>) {
        (self.began, self.since) = (Some(now), now);
        self.html = self.what.html.is_some();
        self.known = if self.html { 0 } else { self.what.objects };
        self.give(now, asks);
    }

    /// Has connections with nothing to do ask for what is known; it is waited for from `since` on.
    fn give(&mut self, since: Time, asks: &mut VecDeque<Ask>) {
        for (connection, line) in self.lines.iter_mut().enumerate() {
            if !line.up || line.waits.is_some() {
                continue;
            }
            let (what, answer) = match self.what.html.filter(|_| self.html) {
                Some(html) => {
                    self.html = false;
                    (Awaited::Html, html)
                }
                None if self.known > 0 => {
                    self.known -= 1;
                    (if self.what.is_page { Awaited::Object } else { Awaited::Answer }, self.what.size)
                }
                None => return,
            };
            line.waits = Some((what, since));
            line.due += answer;
            asks.push_back(Ask { connection, request: self.what.request, answer });
        }
    }
}

/// The answering side of a flow: what is to be written when a whole request has come.
#[derive(Clone, Debug)]
pub struct Answerer {
    request: u64,
    /// Of each connection, requests answered and the sizes of answers still to be given.
    lines: Vec<(u64, VecDeque<u64>)>,
}

impl Answerer {
    /// Of a flow that asks so.
    pub fn new(what: Asking) -> Answerer {
        Answerer {
            request: what.request.max(1),
            lines: vec![(0, VecDeque::new()); what.connections as usize],
        }
    }

    /// A request is on its way.
    pub fn expect(&mut self, ask: Ask) {
        self.lines[ask.connection].1.push_back(ask.answer);
    }

    /// So many bytes have been read on a connection in all: the size of the next answer, if a request for it has come.
    pub fn next(&mut self, connection: usize, read: u64) -> Option<u64> {
        let (answered, asked) = &mut self.lines[connection];
        if read < (*answered + 1) * self.request {
            return None;
        }
        let answer = asked.pop_front()?;
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

    fn page(connections: u32, html: Option<u64>, count: Option<u64>) -> Asking {
        let (size, think) = (Bytes::new(1000), Some(Span::from_millis(100)));
        let html = html.map(Bytes::new);
        let app =
            App::Page { objects: 3, size, connections: Some(connections), request: None, think, count, html };
        assert!(app.answers() && app.has_end() == count.is_some());
        app.asking().unwrap()
    }

    fn asked(asks: &mut VecDeque<Ask>) -> Vec<(usize, u64)> {
        asks.drain(..).map(|a| (a.connection, a.answer)).collect()
    }

    #[test]
    fn a_page_is_loaded_object_by_object_over_its_connections() {
        let mut asker = Asker::new(page(2, Some(500), Some(2)));
        let mut asks = VecDeque::new();
        asker.start(ms(0), &mut asks);
        assert_eq!(asked(&mut asks), [], "no connection stands");
        asker.handle_up(1, &mut asks);
        assert_eq!(asked(&mut asks), [(1, 500)], "the document, where it can be asked for first");
        asker.handle_up(0, &mut asks);
        asker.handle_read(ms(30), 1, 499, &mut asks);
        assert_eq!(asked(&mut asks), [], "not all of it");
        asker.handle_read(ms(40), 1, 500, &mut asks);
        assert_eq!(asked(&mut asks), [(0, 1000), (1, 1000)]);
        asker.handle_read(ms(60), 1, 1500, &mut asks);
        assert_eq!(asked(&mut asks), [(1, 1000)], "the third, where one is through");
        asker.handle_read(ms(90), 0, 1000, &mut asks);
        assert_eq!((asker.completed, asker.next_wake()), (0, None));
        assert_eq!(asker.waiting().collect::<Vec<_>>(), [(Awaited::Object, ms(60)), (Awaited::Page, ms(0))]);
        asker.handle_read(ms(95), 1, 2500, &mut asks);
        assert_eq!((asker.completed, asker.next_wake(), asked(&mut asks)), (1, Some(ms(195)), vec![]));
        let log: Vec<_> = asker.log.list().iter().map(|e| (e.what, e.took.as_millis_f64())).collect();
        let object = Awaited::Object;
        let wanted =
            [(Awaited::Html, 40.0), (object, 20.0), (object, 50.0), (object, 35.0), (Awaited::Page, 95.0)];
        assert_eq!(log, wanted);
        // The next page, on the same connections.
        asker.handle_wake(ms(195), &mut asks);
        assert_eq!(asked(&mut asks), [(0, 500)]);
        asker.handle_read(ms(210), 0, 1500, &mut asks);
        for (t, connection, read) in [(220, 0, 2500), (220, 1, 3500), (230, 0, 3500)] {
            asker.handle_read(ms(t), connection, read, &mut asks);
        }
        assert_eq!((asker.finished, asker.waiting().count()), (Some(ms(230)), 0));
    }

    #[test]
    fn what_waits_for_a_connection_waits_from_the_begin() {
        let mut asker = Asker::new(page(3, None, None));
        let mut asks = VecDeque::new();
        asker.start(ms(5), &mut asks);
        for connection in 0..3 {
            asker.handle_up(connection, &mut asks);
        }
        assert_eq!(asks.len(), 3);
        assert!(asker.waiting().all(|(_, since)| since == ms(5)));
    }

    #[test]
    fn each_whole_request_has_its_answer() {
        let mut answerer = Answerer::new(page(1, None, None));
        for answer in [7, 9] {
            answerer.expect(Ask { connection: 0, request: 400, answer });
        }
        let read = |a: &mut Answerer, n| a.next(0, n);
        assert_eq!(read(&mut answerer, 399), None);
        assert_eq!([400, 400, 800, 9000].map(|n| read(&mut answerer, n)), [Some(7), None, Some(9), None]);
    }
}
