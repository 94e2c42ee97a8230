//! Points of a flow's time series, from longfat's own sockets or a program's.

use linux::tcp_info::TcpInfo;
use result::{FlowPoint, FlowSeries};
use units::{Span, Time};

/// State of a flow at one moment.
pub struct Point {
    pub delivered: u64,
    pub retransmitted: u64,
    /// The connection that represents the flow; `None` before one exists.
    pub info: Option<TcpInfo>,
    /// Whether `info` is of the end that opened the connection.
    pub opened: bool,
    pub paced: bool,
    pub udp: bool,
    /// Delay of the last datagram received.
    pub delay: Option<Span>,
    /// Initial congestion window, in segments.
    pub initial_window: u32,
}

/// Appends a point to a series.
pub fn push(s: &mut FlowSeries, t: Time, p: &Point) {
    let begun = p.info.is_some();
    let info = p.info.unwrap_or_default();
    let rtt_ms = (info.rtt_us > 0).then(|| info.rtt_us as f64 / 1e3);
    let idle = if p.udp { 0 } else { p.initial_window };
    s.push(FlowPoint {
        time_s: t.as_secs_f64(),
        delivered_bytes: p.delivered,
        cwnd: if begun { info.cwnd } else { idle }.into(),
        ssthresh: info.ssthresh.map(u64::from),
        inflight: info.inflight.into(),
        srtt_ms: rtt_ms,
        rtt_ms,
        pacing_mbps: info.pacing_rate.filter(|_| p.paced).map(mbps),
        retransmitted: p.retransmitted,
        sent_bytes: info.sent_once(),
        acked_bytes: info.payload_acked(p.opened),
        btl_bw_mbps: info.bbr.map(|b| mbps(b.bw)),
        rt_prop_ms: info.bbr.map(|b| b.min_rtt_us as f64 / 1e3),
        pacing_gain: info.bbr.map(|b| b.pacing_gain as f64 / 256.0),
        cwnd_gain: info.bbr.map(|b| b.cwnd_gain as f64 / 256.0),
        round: None, // not reported by the kernel
        delivery_rate_mbps: info.delivery_rate.map(mbps),
        state: if begun { info.state() } else { "" },
        delay_ms: p.delay.map(Span::as_millis_f64),
    });
}

/// Converts bytes per second to Mbit/s.
fn mbps(bytes_per_second: u64) -> f64 {
    bytes_per_second as f64 * 8e-6
}
