//! What a flow's two ends do with their connections: the kernel's counterpart of
//! `transport::Application`, which does the same to simulated ends. Who asks and who answers is the same code.
//!
//! Departure: what is once written to a kernel socket leaves; at the end of a burst (`duration`,
//! `on`) the simulator takes back what has not left yet.

use crate::plan::PlannedFlow;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use transport::{App, Ask, Asker};
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
            App::Onoff { .. } => {
                self.phase_end = now;
                self.handle_wake(now, flow, io);
            }
            App::Request { .. } | App::Page { .. } => {}
            App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => {}
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
            App::Request { .. } | App::Page { .. } => {}
            App::Udp { .. } | App::Voice { .. } | App::Probe { .. } => {}
        }
    }
}

/// The asking side of a flow.
pub struct AskingApp {
    pub asker: Asker,
    /// Requests to be written.
    pub asks: VecDeque<Ask>,
    /// The flow's connections, once they are opened, as the host counts its own.
    pub connections: Vec<Option<usize>>,
}

impl AskingApp {
    /// Of this flow, if it asks.
    pub fn of(flow: &PlannedFlow) -> Option<AskingApp> {
        let asking = flow.asking()?;
        let connections = vec![None; asking.connections as usize];
        Some(AskingApp { asker: Asker::new(asking), asks: VecDeque::new(), connections })
    }
}
