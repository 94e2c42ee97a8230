//! Sources and sinks of longfat's own datagrams.
//!
//! Each datagram starts with its scheduled send time and its sequence number, so that the receiver knows its
//! delay: all hosts share one clock. Datagrams of 8 to 15 bytes carry the time only.

use crate::LabError;
use crate::clock::WallClock;
use crate::options::{receive_buffer, set_dscp};
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

/// Bytes of time and sequence number.
const HEADER_BYTES: usize = 16;
/// Datagrams read before other sockets are served.
const MAX_READS: usize = 256;

/// Sends a flow's datagrams, and reads the answers.
pub struct DatagramSource {
    pub socket: KernelSocket,
    pub flow: usize,
    source: UdpSource,
    due: Vec<Segment>,
}

impl DatagramSource {
    /// Opens the source of a flow; the thread must be in its host's namespace. Losses of datagrams scheduled
    /// during `faults` are also counted separately.
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
        set_dscp(&socket, flow).map_err(failed())?;
        if pattern.answered {
            // Both ends use the same port, so that the peer knows where to send answers.
            receive_buffer(socket.as_fd(), 1 << 20).map_err(failed())?;
            socket.bind(to, leg.port).map_err(failed())?;
        }
        socket.connect(SocketAddr::new(to, leg.port)).map_err(failed())?;
        let stream = Stream::new(seed, &format!("flow.{}", flow.name));
        let source = UdpSource::new(pattern, flow.start, stream);
        flow.meter().count_apart(chains::due(&source, faults));
        Ok(DatagramSource { socket, flow: leg.flow, source, due: Vec::new() })
    }

    /// Sends the datagrams that are due. Returns the time of the next.
    pub fn send(&mut self, due: Time, flow: &PlannedFlow, buffer: &mut [u8]) -> Option<Time> {
        self.source.handle_wake(due, &mut self.due);
        for seg in self.due.drain(..) {
            let n = (seg.len as usize).min(buffer.len());
            let datagram = &mut buffer[..n];
            let (sequence_number, sent) = (seg.seq.to_ne_bytes(), seg.sent.as_nanos().to_ne_bytes());
            if n >= HEADER_BYTES {
                datagram[..8].copy_from_slice(&sent);
                datagram[8..HEADER_BYTES].copy_from_slice(&sequence_number);
            } else if n >= 8 {
                datagram[..8].copy_from_slice(&sent);
            }
            flow.sent.fetch_add(1, Relaxed);
            // Datagrams that do not fit the socket's buffer are lost, as on any full interface.
            let _ = self.socket.send(datagram);
        }
        self.source.next_wake()
    }

    /// Records the answers.
    pub fn handle_answers(&self, flow: &PlannedFlow, clock: WallClock) {
        let mut head = [0; HEADER_BYTES];
        for _ in 0..MAX_READS {
            let Ok(n) = self.socket.recv(&mut head) else { break };
            record_arrival(flow, &head[..n.min(HEADER_BYTES)], clock.now());
        }
    }
}

/// Receives a flow's datagrams.
pub struct DatagramSink {
    pub socket: KernelSocket,
    pub flow: usize,
    answers: bool,
}

impl DatagramSink {
    /// Opens the sink of a flow; the thread must be in its host's namespace.
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
            set_dscp(&socket, flow).map_err(failed())?;
            socket.connect(SocketAddr::new(from, leg.port)).map_err(failed())?;
        }
        Ok(DatagramSink { socket, flow: leg.flow, answers: pattern.answered })
    }

    /// Reads all datagrams, and answers or records them.
    pub fn handle_arrivals(&self, flow: &PlannedFlow, clock: WallClock, buffer: &mut [u8]) {
        for _ in 0..MAX_READS {
            let room = if self.answers { buffer.len() } else { HEADER_BYTES };
            let Ok(n) = self.socket.recv(&mut buffer[..room]) else { break };
            flow.add_read(clock.now(), n as u64);
            if self.answers {
                let _ = self.socket.send(&buffer[..n.min(room)]);
            } else {
                record_arrival(flow, &buffer[..n.min(room)], clock.now());
            }
        }
    }
}

/// Records the arrival of a datagram that starts with `head`.
fn record_arrival(flow: &PlannedFlow, head: &[u8], now: Time) {
    let Some(sent) = head.first_chunk() else { return };
    let delay = now.since(Time::from_nanos(u64::from_ne_bytes(*sent)));
    // A datagram without a sequence number only counts as delivered.
    if let Some(sequence_number) = sequence_number(head) {
        flow.update_meter(sequence_number, |meter| meter.handle_arrival(sequence_number, delay));
    }
}

/// Returns a datagram's sequence number.
fn sequence_number(payload: &[u8]) -> Option<u64> {
    payload.get(8..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

impl PlannedFlow {
    fn meter(&self) -> MutexGuard<'_, ArrivalMeter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an event of a datagram that was sent; ignores numbers that were never sent.
    fn update_meter(&self, sequence_number: u64, update: impl FnOnce(&mut ArrivalMeter)) {
        if sequence_number < self.sent.load(Relaxed) {
            update(&mut self.meter());
        }
    }

    /// Records that the path dropped a packet of this flow, or its first fragment.
    pub fn note_drop(&self, ip: &[u8]) {
        self.lost.fetch_add(1, Relaxed);
        if self.has_sequence_numbers()
            && let Some(sequence_number) = wire::udp_payload(ip).and_then(sequence_number)
        {
            self.update_meter(sequence_number, |meter| meter.handle_drop(sequence_number));
        }
    }

    /// Returns the delay of the last datagram received.
    pub fn last_delay(&self) -> Option<Span> {
        if self.has_sequence_numbers() { self.meter().last_delay() } else { None }
    }

    /// Returns the summary of the datagrams' delays and losses, and the number lost per fault among those
    /// scheduled during it; empty for flows without sequence numbers.
    pub fn datagram_summary(&self) -> (Option<RealTime>, Vec<u64>) {
        if !self.has_sequence_numbers() {
            return (None, Vec::new());
        }
        let (meter, sent) = (self.meter(), self.sent.load(Relaxed));
        (meter.summary(sent), meter.lost_apart(sent))
    }

    fn has_sequence_numbers(&self) -> bool {
        self.tool.is_none() && self.datagrams().is_some_and(|p| p.payload() as usize >= HEADER_BYTES)
    }
}
