//! What a flow's two ends do with their connection: the kernel's counterpart of
//! `transport::Application`, which does the same to simulated ends.
//!
//! Departure: what is once written to a kernel socket leaves; at the end of a burst (`duration`,
//! `on`) the simulator takes back what has not left yet.

use crate::plan::PlannedFlow;
use std::sync::atomic::Ordering::Relaxed;
use transport::App;
use units::{Span, Time};

/// More than any run sends.
const ENDLESS: u64 = 1 << 60;
/// An application with a rate writes this often.
pub const WRITE_INTERVAL: Span = Span::from_millis(5);

/// What one end has read and is still to write.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub read: u64,
    pub written: u64,
    pub to_write: u64,
}

/// The side that opens.
#[derive(Default)]
pub struct Client {
    /// When it must be woken.
    pub wake: Option<Time>,
    on: bool,
    phase_end: Time,
    asked: u64,
    completed: u64,
}

impl Client {
    /// The flow begins: `now` is when it should.
    pub fn start(&mut self, now: Time, flow: &PlannedFlow, io: &mut Counts) {
        match flow.app {
            App::Bulk { duration, bytes } => {
                io.to_write = bytes.map_or(ENDLESS, |b| b.get());
                if let Some(bytes) = bytes {
                    flow.total.store(bytes.get(), Relaxed);
                }
                self.wake = duration.map(|d| now + d);
            }
            App::Request { request, .. } => {
                self.asked = 1;
                io.to_write += request.get();
            }
            App::Onoff { .. } => {
                self.phase_end = now;
                self.handle_wake(now, flow, io);
            }
            App::Udp { .. } => {}
        }
    }

    /// Something was read.
    pub fn handle_progress(&mut self, now: Time, flow: &PlannedFlow, io: &mut Counts) {
        let App::Request { request, response, think, count } = flow.app else { return };
        if self.completed >= self.asked || io.read < self.asked * response.get().max(1) {
            return;
        }
        self.completed = self.asked;
        flow.completed.store(self.completed, Relaxed);
        if count.is_some_and(|c| self.completed >= c) {
            PlannedFlow::note(&flow.finished, now);
        } else if let Some(pause) = think.filter(|p| !p.is_zero()) {
            self.wake = Some(now + pause);
        } else {
            self.asked += 1;
            io.to_write += request.get();
        }
    }

    /// A timer of the application's own, due at `now`.
    pub fn handle_wake(&mut self, now: Time, flow: &PlannedFlow, io: &mut Counts) {
        self.wake = None;
        match flow.app {
            App::Bulk { .. } => {
                io.to_write = 0;
                flow.total.store(io.written, Relaxed);
            }
            App::Request { request, .. } => {
                self.asked += 1;
                io.to_write += request.get();
            }
            App::Onoff { on, off, rate } => {
                if now >= self.phase_end {
                    self.on = !self.on;
                    self.phase_end = now + if self.on { on } else { off };
                    io.to_write = if self.on && rate.is_none() { ENDLESS } else { 0 };
                }
                self.wake = Some(self.phase_end);
                if let (true, Some(rate)) = (self.on, rate) {
                    let until = (now + WRITE_INTERVAL).min(self.phase_end);
                    io.to_write += rate.bytes_in(until.since(now)).get();
                    self.wake = Some(until);
                }
            }
            App::Udp { .. } => {}
        }
    }
}

/// The side that answers: how many requests it has answered.
#[derive(Default)]
pub struct AnsweringApp {
    answered: u64,
}

impl AnsweringApp {
    /// Something was read.
    pub fn handle_progress(&mut self, flow: &PlannedFlow, io: &mut Counts) {
        let App::Request { request, response, .. } = flow.app else { return };
        while io.read >= (self.answered + 1) * request.get().max(1) {
            self.answered += 1;
            io.to_write += response.get();
        }
    }
}
