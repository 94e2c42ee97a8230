//! Applications at the two ends of a flow's connections: bulk, request/response, pages, on-off.
//!
//! The client is the flow's `from`. After every input to an end the caller must call
//! [`Application::handle_progress`]; the application also has timers. After each of these calls the caller
//! writes the requests that [`Application::take_request`] returns.

use crate::config::App;
use crate::requester::{Ask, Requester, Responder};
use crate::segment::Segment;
use crate::tcp::Tcp;
use std::collections::VecDeque;
use units::{Span, Time};

/// More bytes than any run sends.
const ENDLESS: u64 = 1 << 60;
/// Interval at which an application with a rate writes.
const WRITE_INTERVAL: Span = Span::from_millis(5);

/// An end of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The flow's `from`.
    Client,
    /// The flow's `to`.
    Server,
}

/// A running application.
#[derive(Clone, Debug)]
pub struct Application {
    app: App,
    wake: Option<Time>,
    on: bool,
    phase_end: Time,
    /// The client of exchanges, if the application has any.
    pub requester: Option<Box<Requester>>,
    responder: Option<Box<Responder>>,
    /// Requests to be written.
    requests: VecDeque<Ask>,
    /// Length of the stream, once nothing more will be written; for on-off, bytes written in this burst.
    total: Option<u64>,
    /// Time at which the application had nothing left to do: the last byte was delivered, or the last answer
    /// received.
    pub finished: Option<Time>,
}

impl Application {
    /// An application that has not started.
    pub fn new(app: App) -> Application {
        let asking = app.asking();
        Application {
            app,
            wake: None,
            on: false,
            phase_end: Time::ZERO,
            requester: asking.map(|asking| Box::new(Requester::new(asking))),
            responder: asking.map(|asking| Box::new(Responder::new(asking))),
            requests: VecDeque::new(),
            total: None,
            finished: None,
        }
    }

    /// Time of the next wake-up.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    /// Number of connections.
    pub fn connections(&self) -> u32 {
        self.requester.as_ref().map_or(1, |a| a.connections())
    }

    /// The flow starts, and the client acts. [`Application::take_request`] returns the requests to be
    /// written.
    pub fn start(&mut self, now: Time, client: &mut Tcp, out: &mut Vec<Segment>) {
        match self.app {
            App::Bulk { duration, bytes } => {
                client.write(now, bytes.map_or(ENDLESS, |b| b.get()), bytes.is_some(), out);
                self.total = bytes.map(|b| b.get());
                self.wake = duration.map(|d| now + d);
            }
            App::Onoff { .. } => {
                self.phase_end = now;
                self.handle_wake(now, client, out);
            }
            App::Request { .. } | App::Page { .. } => {
                if let Some(requester) = &mut self.requester {
                    requester.start(now, &mut self.requests);
                }
            }
            App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => {}
        }
    }

    /// Whether [`Application::handle_progress`] has anything to do: not while a stream has no end.
    #[inline]
    pub fn awaits_progress(&self) -> bool {
        self.total.is_some() || self.requester.is_some()
    }

    /// Something arrived at `side` of one of the connections.
    pub fn handle_progress(
        &mut self,
        now: Time,
        side: Side,
        connection: usize,
        end: &mut Tcp,
        out: &mut Vec<Segment>,
    ) {
        match self.app {
            App::Bulk { .. }
                if side == Side::Server
                    && self.finished.is_none()
                    && self.total.is_some_and(|n| end.rx.copied >= n) =>
            {
                self.finished = Some(now);
                self.wake = None;
            }
            App::Request { .. } | App::Page { .. } => self.exchange(now, side, connection, end, out),
            _ => {}
        }
    }

    #[inline(never)]
    fn exchange(&mut self, now: Time, side: Side, connection: usize, end: &mut Tcp, out: &mut Vec<Segment>) {
        let (Some(requester), Some(responder)) = (&mut self.requester, &mut self.responder) else { return };
        let read = end.rx.rcv_nxt;
        if side == Side::Server {
            while let Some(answer) = responder.next(connection, read) {
                end.write(now, answer, true, out);
            }
        } else if end.is_established() {
            requester.handle_established(connection, &mut self.requests);
            requester.handle_read(now, connection, read, &mut self.requests);
            (self.wake, self.finished) = (requester.next_wake(), requester.finished);
        }
    }

    /// Whether a request is to be written.
    #[inline]
    pub fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The next request to be written on one of the client's connections.
    pub fn take_request(&mut self) -> Option<Ask> {
        let ask = self.requests.pop_front()?;
        if let Some(responder) = &mut self.responder {
            responder.expect(ask);
        }
        Some(ask)
    }

    /// A timer of the application is due.
    pub fn handle_wake(&mut self, now: Time, client: &mut Tcp, out: &mut Vec<Segment>) {
        self.wake = None;
        match self.app {
            // The flow ends when everything sent has arrived: the caller calls `handle_progress` for the
            // server.
            App::Bulk { .. } => {
                client.truncate();
                self.total = Some(client.tx.s.snd_nxt);
            }
            App::Request { .. } | App::Page { .. } => {
                if let Some(requester) = &mut self.requester {
                    requester.handle_wake(now, &mut self.requests);
                }
            }
            App::Onoff { on, off, rate } => {
                if now >= self.phase_end {
                    self.on = !self.on;
                    self.phase_end = now + if self.on { on } else { off };
                    self.total = Some(0);
                    if !self.on {
                        client.truncate();
                    } else if rate.is_none() {
                        client.write(now, ENDLESS, false, out);
                    }
                }
                self.wake = Some(self.phase_end);
                if let (true, Some(rate)) = (self.on, rate) {
                    let until = (now + WRITE_INTERVAL).min(self.phase_end);
                    // Counted from the start of the burst, so that fractions of a byte add up.
                    let due = rate.bytes_in((until + on).since(self.phase_end)).get();
                    client.write(now, due - self.total.unwrap_or(0), true, out);
                    self.total = Some(due);
                    self.wake = Some(until);
                }
            }
            App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => {}
        }
    }
}
