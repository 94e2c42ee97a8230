//! What a congestion control written in Python sees: the transport's [`Socket`] and [`Window`], and an ACK. The objects
//! are the same from call to call; what is kept of them for later has to be copied.

use congestion::{CaState, Socket, Window};
use pyo3::prelude::*;
use units::Span;

/// Payload bits of a byte, in units of 10^6.
const MBIT: f64 = 8e-6;

/// What the transport knows at the moment of the call.
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
    /// Smoothed round-trip time, ms; None before the first.
    #[getter]
    fn srtt_ms(&self) -> Option<f64> {
        self.0.srtt.map(Span::as_millis_f64)
    }
    /// The least round-trip time of late, ms; None before the first.
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
    /// `open`, `disorder`, `cwr`, `recovery` or `loss`.
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
    /// Whether the window was what kept the flow from sending more in the last round trip.
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }
}

/// What the control may change; in force when the call returns.
#[pyclass(name = "Window", module = "longfat")]
pub struct WindowView(pub Window);

impl WindowView {
    /// Puts what may be changed where the transport reads it.
    pub fn write_to(&self, w: &mut Window) {
        w.cwnd = self.0.cwnd.clamp(1, w.cwnd_clamp);
        w.ssthresh = self.0.ssthresh;
        w.pacing = self.0.pacing;
        w.pacing_rate = self.0.pacing_rate;
    }
}

/// Packets as the transport counts them.
fn packets(cwnd: f64) -> u32 {
    cwnd.clamp(1.0, f64::from(u32::MAX)) as u32
}

#[pymethods]
impl WindowView {
    /// Congestion window, packets; what is set is rounded down, at least 1.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.0.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.cwnd = packets(cwnd);
    }
    /// Slow-start threshold, packets; None: none.
    #[getter]
    fn ssthresh(&self) -> Option<u32> {
        (self.0.ssthresh != u32::MAX).then_some(self.0.ssthresh)
    }
    #[setter]
    fn set_ssthresh(&mut self, ssthresh: Option<f64>) {
        self.0.ssthresh = ssthresh.map_or(u32::MAX, packets);
    }
    /// Pacing rate, Mbit/s; None: packets leave as the window lets them. Who sets it has them paced.
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
    /// Whether the window is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }
}

/// An ACK.
#[pyclass(name = "Ack", module = "longfat")]
#[derive(Clone, Copy, Default)]
pub struct AckView {
    pub acked: u32,
    pub rtt: Option<Span>,
    pub lost: u32,
    /// Packets, and in what time.
    pub delivery: Option<(u32, Span)>,
    pub ece: bool,
}

#[pymethods]
impl AckView {
    /// Packets that it newly acknowledged.
    #[getter]
    fn acked(&self) -> u32 {
        self.acked
    }
    /// The round-trip time that it measured, ms; None where it measured none.
    #[getter]
    fn rtt_ms(&self) -> Option<f64> {
        self.rtt.map(Span::as_millis_f64)
    }
    /// Packets that it showed to be lost; with `owns_window`.
    #[getter]
    fn lost(&self) -> u32 {
        self.lost
    }
    /// Packets a second that the path delivered of late; with `owns_window`, None where it measured none.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.delivery.map(|(packets, span)| f64::from(packets) / span.as_secs_f64())
    }
    /// It echoes a mark (ECN); with `owns_window`.
    #[getter]
    fn ece(&self) -> bool {
        self.ece
    }
}
