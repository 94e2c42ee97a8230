//! The arguments of a congestion control written in Python: the transport's [`Socket`] and [`Window`], and an
//! ACK. The objects are the same in every call; values must be copied to be kept.

use congestion::{CaState, Socket, Window};
use pyo3::prelude::*;
use units::Span;

/// Payload bits of a byte, in units of 10^6.
const MBIT: f64 = 8e-6;

/// The transport's state at the moment of the call.
#[pyclass(name = "Socket", module = "longfat")]
pub struct SocketView(pub Socket);

#[pymethods]
impl SocketView {
    /// Seconds since the run began.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    /// Payload bytes of a full packet.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }
    /// Smoothed round-trip time, ms; `None` before the first sample.
    #[getter]
    fn srtt_ms(&self) -> Option<f64> {
        self.0.srtt.map(Span::as_millis_f64)
    }
    /// Recent minimum of the round-trip time, ms; `None` before the first sample.
    #[getter]
    fn min_rtt_ms(&self) -> Option<f64> {
        self.0.min_rtt.map(Span::as_millis_f64)
    }
    /// Packets in flight.
    #[getter]
    fn inflight(&self) -> u32 {
        self.0.inflight
    }
    /// Packets delivered so far.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Packets marked lost so far.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// Congestion state: `open`, `disorder`, `cwr`, `recovery` or `loss`.
    #[getter]
    fn state(&self) -> &'static str {
        match self.0.state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
    /// Whether the congestion window limited the flow in the last round trip.
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }
}

/// Values that the control may change; they take effect when the call returns.
#[pyclass(name = "Window", module = "longfat")]
pub struct WindowView(pub Window);

impl WindowView {
    /// Copies the changeable values to the transport's window.
    pub fn write_to(&self, w: &mut Window) {
        w.cwnd = self.0.cwnd.clamp(1, w.cwnd_clamp);
        w.ssthresh = self.0.ssthresh;
        w.pacing = self.0.pacing;
        w.pacing_rate = self.0.pacing_rate;
    }
}

/// Converts to the transport's packet count.
fn packets(cwnd: f64) -> u32 {
    cwnd.clamp(1.0, f64::from(u32::MAX)) as u32
}

#[pymethods]
impl WindowView {
    /// Congestion window, packets. Values are rounded down, to at least 1.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.0.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = packets(cwnd);
    }
    /// Slow-start threshold, packets; `None`: unlimited.
    #[getter]
    fn ssthresh(&self) -> Option<u32> {
        (self.0.ssthresh != u32::MAX).then_some(self.0.ssthresh)
    }
    #[setter]
    fn set_ssthresh(&mut self, ssthresh: Option<f64>) {
        self.0.ssthresh = ssthresh.map_or(u32::MAX, packets);
    }
    /// Pacing rate, Mbit/s; `None`: no pacing. Setting a rate switches pacing on.
    #[getter]
    fn pacing_mbps(&self) -> Option<f64> {
        self.0.pacing.then_some(self.0.pacing_rate as f64 * MBIT)
    }
    #[setter]
    fn set_pacing_mbps(&mut self, rate: Option<f64>) {
        self.0.pacing = rate.is_some();
        if let Some(rate) = rate {
            self.0.pacing_rate = (rate / MBIT).clamp(1.0, 1e12) as u64;
        }
    }
    /// Whether the window is below the slow-start threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }
}

/// An ACK, as a control sees it.
#[pyclass(name = "Ack", module = "longfat")]
#[derive(Clone, Copy, Default)]
pub struct AckView {
    pub acked: u32,
    pub rtt: Option<Span>,
    pub lost: u32,
    /// Number of packets delivered, and the time that it took.
    pub delivery: Option<(u32, Span)>,
    pub ece: bool,
}

#[pymethods]
impl AckView {
    /// Packets newly acknowledged.
    #[getter]
    fn acked(&self) -> u32 {
        self.acked
    }
    /// Round-trip time measured by this ACK, ms; `None` if it measured none.
    #[getter]
    fn rtt_ms(&self) -> Option<f64> {
        self.rtt.map(Span::as_millis_f64)
    }
    /// Packets that it showed to be lost; only with `owns_window`.
    #[getter]
    fn lost(&self) -> u32 {
        self.lost
    }
    /// Recent delivery rate of the path, packets per second; only with `owns_window`, `None` if it measured
    /// none.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.delivery.map(|(packets, span)| f64::from(packets) / span.as_secs_f64())
    }
    /// Whether it carries ECN-Echo; only with `owns_window`.
    #[getter]
    fn ece(&self) -> bool {
        self.ece
    }
}
