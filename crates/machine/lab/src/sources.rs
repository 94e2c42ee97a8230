//! Datagrams of longfat's own: their sources, and what receives them or sends them back.
//!
//! Each begins with its number and the time at which it was due, so that whoever has it in the end knows its delay: all
//! hosts have one clock. Where there is no room for both, from 8 bytes on, the time alone.

use crate::LabError;
use crate::clock::WallClock;
use crate::options::{mark, receive_buffer};
use crate::plan::{Leg, PlannedFlow};
use crate::wire;
use chains::ArrivalMeter;
use linux::socket::KernelSocket;
use result::RealTime;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, PoisonError};
use transport::{DatagramPattern, Segment, UdpSource};
use units::{Span, Stream, Time};

/// Bytes of number and time.
const HEAD: usize = 16;
/// Datagrams taken before other sockets have their turn.
const TURN: usize = 256;

/// Sends a flow's datagrams, and takes in what comes back.
pub struct DatagramSource {
    pub socket: KernelSocket,
    pub flow: usize,
    source: UdpSource,
    due: Vec<Segment>,
}

impl DatagramSource {
    /// Of a flow that begins in the host whose namespace the thread is in. Losses of what is due in `faults` are counted
    /// apart.
    pub fn open(
        leg: &Leg,
        to: IpAddr,
        flow: &PlannedFlow,
        pattern: &DatagramPattern,
        seed: u64,
        faults: &[[Time; 2]],
    ) -> Result<DatagramSource, LabError> {
        let failed = || LabError::system(format!("flow {}: UDP", flow.name));
        let socket = KernelSocket::udp(to).map_err(failed())?;
        mark(&socket, flow).map_err(failed())?;
        if pattern.answered {
            // The same port at both ends, so that the other one knows where to.
            receive_buffer(socket.as_fd(), 1 << 20).map_err(failed())?;
            socket.bind(to, leg.port).map_err(failed())?;
        }
        socket.connect(SocketAddr::new(to, leg.port)).map_err(failed())?;
        let stream = Stream::new(seed, &format!("flow.{}", flow.name));
        let source = UdpSource::new(pattern, flow.start, stream);
        flow.meter().count_apart(chains::due(&source, faults));
        Ok(DatagramSource { socket, flow: leg.flow, source, due: Vec::new() })
    }

    /// Sends what is due; when the next is.
    pub fn send(&mut self, due: Time, flow: &PlannedFlow, buffer: &mut [u8]) -> Option<Time> {
        self.source.handle_wake(due, &mut self.due);
        for seg in self.due.drain(..) {
            let n = (seg.len as usize).min(buffer.len());
            let datagram = &mut buffer[..n];
            let (number, sent) = (seg.seq.to_ne_bytes(), seg.sent.as_nanos().to_ne_bytes());
            if n >= HEAD {
                datagram[..8].copy_from_slice(&sent);
                datagram[8..HEAD].copy_from_slice(&number);
            } else if n >= 8 {
                datagram[..8].copy_from_slice(&sent);
            }
            flow.sent.fetch_add(1, Relaxed);
            // What the socket's buffer cannot take is lost, as on any full interface.
            let _ = self.socket.send(datagram);
        }
        self.source.next_wake()
    }

    /// Notes what the other end sent back.
    pub fn handle_answers(&self, flow: &PlannedFlow, clock: WallClock) {
        let mut head = [0; HEAD];
        for _ in 0..TURN {
            let Ok(n) = self.socket.recv(&mut head) else { break };
            note(flow, &head[..n.min(HEAD)], clock.now());
        }
    }
}

/// Where a flow's datagrams arrive.
pub struct DatagramSink {
    pub socket: KernelSocket,
    pub flow: usize,
    answers: bool,
}

impl DatagramSink {
    /// Of a flow that ends in the host whose namespace the thread is in.
    pub fn open(
        leg: &Leg,
        from: IpAddr,
        flow: &PlannedFlow,
        pattern: &DatagramPattern,
    ) -> Result<DatagramSink, LabError> {
        let failed = || LabError::system(format!("flow {}: listening", flow.name));
        let socket = KernelSocket::udp(from).map_err(failed())?;
        receive_buffer(socket.as_fd(), 64 << 20).map_err(failed())?;
        socket.bind(from, leg.port).map_err(failed())?;
        if pattern.answered {
            mark(&socket, flow).map_err(failed())?;
            socket.connect(SocketAddr::new(from, leg.port)).map_err(failed())?;
        }
        Ok(DatagramSink { socket, flow: leg.flow, answers: pattern.answered })
    }

    /// Takes what is there: sends it back, or notes it.
    pub fn handle_arrivals(&self, flow: &PlannedFlow, clock: WallClock, buffer: &mut [u8]) {
        for _ in 0..TURN {
            let room = if self.answers { buffer.len() } else { HEAD };
            let Ok(n) = self.socket.recv(&mut buffer[..room]) else { break };
            flow.take(clock.now(), n as u64);
            if self.answers {
                let _ = self.socket.send(&buffer[..n.min(room)]);
            } else {
                note(flow, &buffer[..n.min(room)], clock.now());
            }
        }
    }
}

/// A datagram arrived, of which these are the first bytes.
fn note(flow: &PlannedFlow, head: &[u8], now: Time) {
    let Some(sent) = head.first_chunk() else { return };
    let delay = now.since(Time::from_nanos(u64::from_ne_bytes(*sent)));
    // One too short for a number is delivered, and nothing more is known of it.
    if let Some(number) = number(head) {
        flow.meter_of(number, |meter| meter.handle_arrival(number, delay));
    }
}

/// A datagram's number.
fn number(payload: &[u8]) -> Option<u64> {
    payload.get(8..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

impl PlannedFlow {
    fn meter(&self) -> MutexGuard<'_, ArrivalMeter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something of a datagram that was sent; other numbers are none of ours.
    fn meter_of(&self, number: u64, note: impl FnOnce(&mut ArrivalMeter)) {
        if number < self.sent.load(Relaxed) {
            note(&mut self.meter());
        }
    }

    /// The path dropped a packet of this flow, or its first fragment.
    pub fn note_drop(&self, ip: &[u8]) {
        self.lost.fetch_add(1, Relaxed);
        if self.is_numbered()
            && let Some(number) = wire::udp_payload(ip).and_then(number)
        {
            self.meter_of(number, |meter| meter.handle_drop(number));
        }
    }

    /// Delay of the datagram that arrived last.
    pub fn last_delay(&self) -> Option<Span> {
        if self.is_numbered() { self.meter().last_delay() } else { None }
    }

    /// What its datagrams met, and how many of those due in each fault's time did not arrive; nothing where they have no
    /// numbers.
    pub fn heard(&self) -> (Option<RealTime>, Vec<u64>) {
        if !self.is_numbered() {
            return (None, Vec::new());
        }
        let (meter, sent) = (self.meter(), self.sent.load(Relaxed));
        (meter.summary(sent), meter.lost_apart(sent))
    }

    fn is_numbered(&self) -> bool {
        self.tool.is_none() && self.datagrams().is_some_and(|p| p.payload() as usize >= HEAD)
    }
}
