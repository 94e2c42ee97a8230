//! Applications at the two ends of a flow over kernel sockets: the counterpart of `transport::Application`,
//! which drives simulated ends. The request and response logic is the same code.
//!
//! Departure: data that was written to a kernel socket is sent; at the end of a burst (`duration`, `on`) the
//! simulator discards data that has not been sent yet.

use crate::plan::PlannedFlow;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use transport::{App, Ask, Requester};
use units::{Span, Time};

/// Bytes of an unlimited transfer: more than any run sends.
const UNLIMITED: u64 = 1 << 60;
/// Interval between the writes of an application with a rate.
pub const WRITE_INTERVAL: Span = Span::from_millis(5);

/// Bytes that one end has read, written, and still has to write.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub read: u64,
    pub written: u64,
    pub to_write: u64,
}

/// The application of the end that opens the connection.
#[derive(Default)]
pub struct Client {
    /// Time of the next timer.
    pub wake: Option<Time>,
    on: bool,
    phase_end: Time,
}

impl Client {
    /// Starts the flow; `now` is its scheduled start.
    pub fn start(&mut self, now: Time, flow: &PlannedFlow, io: &mut Counts) {
        match flow.app {
            App::Bulk { duration, bytes } => {
                io.to_write = bytes.map_or(UNLIMITED, |b| b.get());
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

    /// Handles the application's timer, due at `now`.
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
                    io.to_write = if self.on && rate.is_none() { UNLIMITED } else { 0 };
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

/// The end of a flow that sends requests.
pub struct RequestingApp {
    pub requester: Requester,
    /// Requests that have not been written yet.
    pub requests: VecDeque<Ask>,
    /// The flow's connections, once opened, as indices into the host's list.
    pub connections: Vec<Option<usize>>,
}

impl RequestingApp {
    /// Returns the requesting end of a flow, or `None` if the flow has no requests.
    pub fn for_flow(flow: &PlannedFlow) -> Option<RequestingApp> {
        let asking = flow.asking()?;
        let connections = vec![None; asking.connections as usize];
        Some(RequestingApp { requester: Requester::new(asking), requests: VecDeque::new(), connections })
    }
}
