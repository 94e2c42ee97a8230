//! What a flow's two ends do with their connection: bulk, request/response, on-off.
//!
//! `from` is the client. After every input to either end the caller lets the application look
//! ([`Application::handle_progress`]); it also has timers of its own.

use crate::config::App;
use crate::segment::Segment;
use crate::tcp::Tcp;
use units::{Span, Time};

/// More than any run sends.
const ENDLESS: u64 = 1 << 60;
/// An application with a rate writes this often.
const WRITE_INTERVAL: Span = Span::from_millis(5);

/// Which end of the flow.
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
    asked: u64,
    answered: u64,
    /// Bytes the stream has in all, once nothing more will be written; or written in this burst.
    total: Option<u64>,
    /// Exchanges completed.
    pub completed: u64,
    /// When it had nothing more to do: the last byte was delivered, the last answer was in.
    pub finished: Option<Time>,
}

impl Application {
    /// Not started.
    pub fn new(app: App) -> Application {
        Application {
            app,
            wake: None,
            on: false,
            phase_end: Time::ZERO,
            asked: 0,
            answered: 0,
            total: None,
            completed: 0,
            finished: None,
        }
    }

    /// When it must be woken.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    /// Whether exchanges are what it counts.
    pub fn counts_exchanges(&self) -> bool {
        matches!(self.app, App::Request { .. })
    }

    /// The flow begins: the client acts.
    pub fn start(&mut self, now: Time, client: &mut Tcp, out: &mut Vec<Segment>) {
        match self.app {
            App::Bulk { duration, bytes } => {
                client.write(now, bytes.map_or(ENDLESS, |b| b.get()), bytes.is_some(), out);
                self.total = bytes.map(|b| b.get());
                self.wake = duration.map(|d| now + d);
            }
            App::Request { request, .. } => {
                self.asked = 1;
                client.write(now, request.get(), true, out);
            }
            App::Onoff { .. } => {
                self.phase_end = now;
                self.handle_wake(now, client, out);
            }
            App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => {}
        }
    }

    /// Something arrived at `side`.
    #[inline]
    pub fn handle_progress(&mut self, now: Time, side: Side, end: &mut Tcp, out: &mut Vec<Segment>) {
        match self.app {
            App::Bulk { .. }
                if side == Side::Server
                    && self.finished.is_none()
                    && self.total.is_some_and(|n| end.rx.copied >= n) =>
            {
                self.finished = Some(now);
                self.wake = None;
            }
            App::Request { request, response, think, count } => match side {
                Side::Server => {
                    while end.rx.rcv_nxt >= (self.answered + 1) * request.get().max(1)
                        && self.answered < self.asked
                    {
                        self.answered += 1;
                        end.write(now, response.get(), true, out);
                    }
                }
                Side::Client => {
                    if self.completed < self.asked && end.rx.rcv_nxt >= self.asked * response.get().max(1) {
                        self.completed = self.asked;
                        if count.is_some_and(|c| self.completed >= c) {
                            self.finished = Some(now);
                        } else {
                            match think {
                                Some(pause) if !pause.is_zero() => self.wake = Some(now + pause),
                                _ => {
                                    self.asked += 1;
                                    end.write(now, request.get(), true, out);
                                }
                            }
                        }
                    }
                }
            },
            _ => {}
        }
    }

    /// A timer of the application's own.
    pub fn handle_wake(&mut self, now: Time, client: &mut Tcp, out: &mut Vec<Segment>) {
        self.wake = None;
        match self.app {
            // It ends when what was sent has arrived: the caller lets the server's side look.
            App::Bulk { .. } => {
                client.truncate();
                self.total = Some(client.tx.s.snd_nxt);
            }
            App::Request { request, .. } => {
                self.asked += 1;
                client.write(now, request.get(), true, out);
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
                    // By the burst's begin, so that fractions of a byte add up.
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
