//! One point of a flow's time series, whoever's its sockets are.

use crate::info::{Bbr, Info};
use result::{FlowPoint, FlowSeries};
use units::Time;

/// A flow at one moment.
pub struct Point {
    pub delivered: u64,
    pub retransmitted: u64,
    /// The connection that stands for the flow; `None` before there is one.
    pub info: Option<Info>,
    /// Whether this is the end that opened it.
    pub opened: bool,
    pub paced: bool,
    pub udp: bool,
    /// Segments of the initial window.
    pub initial_window: u32,
}

/// Adds a point.
pub fn push(s: &mut FlowSeries, t: Time, p: &Point) {
    let begun = p.info.is_some();
    let info = p.info.unwrap_or_default();
    let rtt = if info.rtt_us > 0 { info.rtt_us as f64 / 1e3 } else { f64::NAN };
    let idle = if p.udp { 0 } else { p.initial_window };
    let rate = (p.paced && info.pacing_rate != u64::MAX).then_some(info.pacing_rate as f64 * 8e-6);
    let of_bbr = |get: fn(Bbr) -> f64| info.bbr.map_or(f64::NAN, get);
    s.push(FlowPoint {
        time_s: t.as_secs_f64(),
        delivered_bytes: p.delivered,
        cwnd: if begun { info.cwnd } else { idle },
        ssthresh: if begun { info.ssthresh } else { u32::MAX },
        inflight: info.inflight,
        srtt_ms: rtt,
        rtt_ms: rtt,
        pacing_mbps: rate.unwrap_or(f64::NAN),
        retransmitted: p.retransmitted,
        sent_bytes: info.sent_once(),
        acked_bytes: info.payload_acked(p.opened),
        btl_bw_mbps: of_bbr(|b| b.bw as f64 * 8e-6),
        rt_prop_ms: of_bbr(|b| b.min_rtt_us as f64 / 1e3),
        pacing_gain: of_bbr(|b| b.pacing_gain as f64 / 256.0),
        cwnd_gain: of_bbr(|b| b.cwnd_gain as f64 / 256.0),
        round: u64::MAX, // the kernel does not tell
        state: if begun { info.state() } else { "" },
    });
}
