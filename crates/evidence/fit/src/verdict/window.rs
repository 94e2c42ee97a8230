//! A window that holds the flow: it is constant, nothing is lost, and no queue shows.

use super::digest::SeriesDigest;
use super::{SummaryVerdict, VerdictKind, rate, size, time};
use crate::series::SummarySource;

/// A smaller share of retransmitted segments counts as none.
const MAX_RESENT_SHARE: f64 = 5e-4;
/// Largest relative difference between rate times RTT and a window that holds the flow.
const MAX_WINDOW_ERROR: f64 = 0.2;
/// Payload rates of full Ethernet lines, bit/s, with segments of 1460 and 1448 bytes in frames of 1538 with
/// preamble and gap.
const ETHERNET_RATES: [f64; 4] = [1e7, 1e8, 1e9, 1e10];
const PAYLOAD_SHARES: [f64; 2] = [1448.0 / 1538.0, 1460.0 / 1538.0];
/// Largest relative difference from the rate of a full Ethernet line.
const RATE_TOLERANCE: f64 = 0.005;
/// Below this RTT, seconds, as in one building, a full Ethernet line is more probable than a window.
const MAX_LOCAL_RTT_S: f64 = 5e-3;

/// The verdict if a window holds the flow.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    if d.series.source == SummarySource::SsOnce
        || d.resent.is_some_and(|r| r > MAX_RESENT_SHARE)
        || d.queue() == Some(true)
        || !d.is_constant()
    {
        return None;
    }
    let still = d.cwnd.map(|c| c.0).filter(|_| d.is_cwnd_constant() && !d.is_model_based());
    let Some((inflight, rtt)) = d.inflight().zip(d.rtt_s) else { return still.map(without_rtt) };
    let near = |window: f64| (inflight / window - 1.0).abs() <= MAX_WINDOW_ERROR;
    let first = d.series.flows.first()?;
    let offered =
        first.intervals.iter().filter_map(|i| i.snd_wnd_bytes).reduce(f64::max).filter(|w| near(*w));
    // TCP grows its congestion window only while the window holds the flow (RFC 7661 section 1). A constant
    // window above the bytes in flight therefore does not hold it; the bytes in flight show the window
    // that does.
    let held =
        still.and_then(|cwnd| if near(cwnd) { Some(cwnd) } else { (cwnd > inflight).then_some(inflight) });
    offered.or(held)?;
    let line = ETHERNET_RATES
        .iter()
        .find(|line| PAYLOAD_SHARES.iter().any(|f| (d.bps / (*line * f) - 1.0).abs() <= RATE_TOLERANCE));
    let flows = d.series.flows.len();
    let each = if flows > 1 { format!(" in each of {flows} flows") } else { String::new() };
    let (kind, what, do_it, bytes) = match offered {
        Some(window) => (
            VerdictKind::ReceiveWindow,
            "the receiver's window",
            "raise net.ipv4.tcp_rmem (or SO_RCVBUF) at the receiver",
            window,
        ),
        None => (
            VerdictKind::Window,
            "a window",
            "raise net.ipv4.tcp_rmem at the receiver and net.ipv4.tcp_wmem at the sender (iperf3: -w)",
            held.unwrap_or(inflight),
        ),
    };
    let sure = match line {
        Some(_) if rtt < MAX_LOCAL_RTT_S => "Cannot tell",
        _ => "Probably",
    };
    let mut facts = Vec::new();
    if let Some(line) = line {
        facts.push(format!(
            "{} is also what Ethernet of {} carries: not ruled out",
            rate(d.bps),
            rate(*line)
        ));
    }
    let figures = format!("{} × 8 / {} = {}", size(bytes), time(rtt), rate(8.0 * bytes / rtt));
    let headline = match sure {
        "Cannot tell" => format!(
            "Cannot tell a full line from a window{each}: {} is what Ethernet carries, and {figures}.",
            rate(d.bps)
        ),
        _ => format!(
            "{sure} {what} of {}{each} holds the flow, not a rate limiter: {figures}. To go faster {do_it}.",
            size(bytes)
        ),
    };
    facts.push(
        "the window is constant, nothing was lost and the RTT does not rise: no rate limiter can be identified".into(),
    );
    Some(SummaryVerdict { kind, headline, facts, window_bytes: Some(bytes), ..SummaryVerdict::default() })
}

/// The verdict on a constant congestion window without RTTs, which would show whether it holds the flow.
fn without_rtt(cwnd: f64) -> SummaryVerdict {
    SummaryVerdict {
        kind: VerdictKind::Window,
        headline: format!(
            "Perhaps a window, not a rate limiter: the congestion window stays at {} and nothing was lost; RTTs, which would confirm it, are missing.",
            size(cwnd)
        ),
        window_bytes: Some(cwnd),
        ..SummaryVerdict::default()
    }
}
