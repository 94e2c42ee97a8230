//! One point of a flow's time series, whoever's its sockets are.

use crate::info::Info;
use result::FlowSeries;
use units::Time;

/// A flow at one moment.
pub struct Point {
    pub delivered: u64,
    pub retransmitted: u64,
    /// The connection that stands for the flow; `None` before there is one.
    pub info: Option<Info>,
    pub paced: bool,
    pub udp: bool,
    /// Segments of the initial window.
    pub initial_window: u32,
}

/// Adds a point.
pub fn push(s: &mut FlowSeries, t: Time, p: &Point) {
    let begun = p.info.is_some();
    let info = p.info.unwrap_or_default();
    s.time_s.push(t.as_secs_f64());
    s.delivered_bytes.push(p.delivered);
    let rtt = if info.rtt_us > 0 { info.rtt_us as f64 / 1e3 } else { f64::NAN };
    let idle = if p.udp { 0 } else { p.initial_window };
    s.cwnd.push(if begun { info.cwnd } else { idle });
    s.ssthresh.push(if begun { info.ssthresh } else { u32::MAX });
    s.inflight.push(info.inflight);
    s.srtt_ms.push(rtt);
    s.rtt_ms.push(rtt);
    let rate = (p.paced && info.pacing_rate != u64::MAX).then_some(info.pacing_rate as f64 * 8e-6);
    s.pacing_mbps.push(rate.unwrap_or(f64::NAN));
    s.retransmitted.push(p.retransmitted);
    let state = match (p.udp, begun) {
        (true, _) => "",
        (_, true) => info.state(),
        _ => "slow start",
    };
    let at = s.states.iter().position(|known| known == state).unwrap_or_else(|| {
        s.states.push(state.into());
        s.states.len() - 1
    });
    s.state.push(at as u8);
}
