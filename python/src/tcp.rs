//! A TCP endpoint, driven step by step, without clock and socket. Times are whole nanoseconds, so that the
//! result of `next_wake` can be passed back exactly.

use crate::control::{ControlFault, PyControl};
use crate::errors::raise;
use crate::load::LoadedScenario;
use congestion::Control;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use transport::{Flags, Segment, SynOptions, Tcp};
use units::{Span, Time};

/// A segment.
#[pyclass(name = "Segment", module = "longfat", frozen)]
pub struct TcpSegment(Segment);

#[pymethods]
impl TcpSegment {
    /// Stream offset of the first payload byte.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }
    /// Next byte expected from the peer.
    #[getter]
    fn ack(&self) -> u64 {
        self.0.ack
    }
    /// Payload bytes.
    #[getter]
    fn len(&self) -> u32 {
        self.0.len
    }
    /// Receive window, bytes.
    #[getter]
    fn window(&self) -> u32 {
        self.0.window
    }
    /// Size as an IPv4 packet, bytes.
    #[getter]
    fn ip_bytes(&self) -> u32 {
        self.0.ip_bytes()
    }
    /// When it was sent, nanoseconds.
    #[getter]
    fn sent_ns(&self) -> u64 {
        self.0.sent.as_nanos()
    }
    /// Flags as letters: S, A, F, R, P, E, C.
    #[getter]
    fn flags(&self) -> String {
        let all = [
            ('S', Flags::SYN),
            ('A', Flags::ACK),
            ('F', Flags::FIN),
            ('R', Flags::RST),
            ('P', Flags::PSH),
            ('E', Flags::ECE),
            ('C', Flags::CWR),
        ];
        all.iter().filter(|(_, flag)| self.0.flags.has(*flag)).map(|(letter, _)| *letter).collect()
    }
    /// SACK blocks: first byte and one past the last.
    #[getter]
    fn sack(&self) -> Vec<(u64, u64)> {
        let at = |offset: i32| self.0.ack.wrapping_add_signed(offset.into());
        self.0.sack[..usize::from(self.0.sacks)].iter().map(|&(a, b)| (at(a), at(b))).collect()
    }
    /// Whether it was sent as ECN-capable.
    #[getter]
    fn ect(&self) -> bool {
        self.0.ect
    }
    /// The MSS and window scale that a SYN offers.
    #[getter]
    fn syn_options(&self) -> Option<(Option<u16>, Option<u8>)> {
        let SynOptions { mss, scale } = self.0.flags.has(Flags::SYN).then(|| self.0.syn_options())?;
        Some((mss, scale))
    }
    /// A copy marked "congestion experienced" by the path.
    fn marked(&self) -> TcpSegment {
        TcpSegment(Segment { ce: true, ..self.0.clone() })
    }

    fn __repr__(&self) -> String {
        let (s, end) = (&self.0, self.0.seq + u64::from(self.0.len));
        format!("<Segment {} seq {}..{end} ack {} window {}>", self.flags(), s.seq, s.ack, s.window)
    }
}

/// One end of a connection.
#[pyclass(module = "longfat._native")]
pub struct TcpEnd {
    end: Mutex<Tcp>,
    out: Vec<Segment>,
    fault: ControlFault,
}

impl TcpEnd {
    fn tcp(&self) -> MutexGuard<'_, Tcp> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies an input to the end. Returns the segments to send, or what the control raised.
    fn drive(&mut self, act: impl FnOnce(&mut Tcp, &mut Vec<Segment>)) -> PyResult<Vec<TcpSegment>> {
        act(self.end.get_mut().unwrap_or_else(PoisonError::into_inner), &mut self.out);
        match self.fault.take() {
            Some(e) => Err(e),
            None => Ok(self.out.drain(..).map(TcpSegment).collect()),
        }
    }
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

#[pymethods]
impl TcpEnd {
    /// Creates a closed end with the stack of the scenario's first host and the congestion control `cc`, or
    /// `control`'s.
    #[new]
    #[pyo3(signature = (loaded, mtu, seed, cc, control))]
    fn new(
        py: Python<'_>,
        loaded: &LoadedScenario,
        mtu: u32,
        seed: u64,
        cc: &str,
        control: Option<Py<PyAny>>,
    ) -> PyResult<TcpEnd> {
        let fault = ControlFault::default();
        let host = loaded.read.experiment.variants.first().and_then(|v| v.scenario.hosts.first());
        let refused = |text: &str| raise(py, "UsageError", text);
        let host = host.ok_or_else(|| refused("the scenario has no hosts"))?;
        let limits = host.stack.own_limits(mtu, None);
        let controller: Box<dyn congestion::Controller> = match control {
            Some(factory) => Box::new(PyControl::make(py, &factory, &fault)?),
            None => {
                let known =
                    || format!("no control is called `{cc}`; there are: {}", congestion::NAMES.join(", "));
                Control::named(cc).ok_or_else(|| refused(&known()))?.make(seed, "tcp")
            }
        };
        Ok(TcpEnd { end: Mutex::new(Tcp::new(limits, controller)), out: Vec::new(), fault })
    }

    /// Begins the handshake; the segments that leave.
    fn connect(&mut self, now_ns: u64) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.connect(at(now_ns), out))
    }

    /// A segment arrives; the segments that leave.
    fn handle_segment(&mut self, now_ns: u64, segment: &TcpSegment) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.handle_segment(at(now_ns), &segment.0, out))
    }

    /// Processes due timers. Early calls are harmless.
    fn handle_wake(&mut self, now_ns: u64) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.handle_wake(at(now_ns), out))
    }

    /// When `handle_wake` is due, nanoseconds; `None` if no timer runs.
    fn next_wake(&self) -> Option<u64> {
        self.tcp().next_wake().map(Time::as_nanos)
    }

    /// The application writes `count` bytes; `last`: the final ones.
    #[pyo3(signature = (now_ns, count, last=false))]
    fn write(&mut self, now_ns: u64, count: u64, last: bool) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.write(at(now_ns), count, last, out))
    }

    /// The application reads `count` bytes.
    fn read(&mut self, now_ns: u64, count: u64) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.read(at(now_ns), count, out))
    }

    /// Closes the application's sending side.
    fn close(&mut self, now_ns: u64) -> PyResult<Vec<TcpSegment>> {
        self.drive(|end, out| end.close(at(now_ns), out))
    }

    /// Whether arriving bytes are read immediately; true by default.
    #[getter]
    fn auto_read(&self) -> bool {
        self.tcp().rx.auto_read
    }
    #[setter]
    fn set_auto_read(&mut self, yes: bool) {
        self.tcp().rx.auto_read = yes;
    }

    /// Whether the handshake is complete.
    #[getter]
    fn is_established(&self) -> bool {
        self.tcp().is_established()
    }
    /// Whether both ends have closed and everything that either sent has arrived.
    #[getter]
    fn is_closed(&self) -> bool {
        self.tcp().is_closed()
    }
    /// Bytes received that the application has not read yet.
    #[getter]
    fn readable(&self) -> u64 {
        self.tcp().rx.readable()
    }
    /// Bytes that the application has read.
    #[getter]
    fn received(&self) -> u64 {
        self.tcp().rx.copied
    }
    /// Stream offset of the first byte that the peer has not acknowledged.
    #[getter]
    fn acknowledged(&self) -> u64 {
        self.tcp().tx.s.snd_una
    }
    /// Congestion window, packets.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.tcp().tx.w.cwnd
    }
    /// Packets in flight.
    #[getter]
    fn inflight(&self) -> u32 {
        self.tcp().tx.in_flight()
    }
    /// Smoothed round-trip time, ms; `None` before the first sample.
    #[getter]
    fn srtt_ms(&self) -> Option<f64> {
        self.tcp().tx.s.srtt.map(Span::as_millis_f64)
    }
    /// Payload of a full segment, bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.tcp().tx.s.mss
    }
    /// Number of data packets sent, and of retransmissions among them.
    #[getter]
    fn sent_packets(&self) -> (u64, u64) {
        let stats = self.tcp().tx.stats;
        (stats.sent, stats.retransmitted)
    }
}
