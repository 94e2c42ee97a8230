//! An even window, nothing lost, no queue: a window holds the flow.

use super::digest::SeriesDigest;
use super::{SummaryVerdict, VerdictKind, rate, size, time};
use crate::series::SummarySource;

/// Segments sent again that are as good as none, as a share.
const NONE: f64 = 5e-4;
/// Rate times RTT differs from a window that holds the flow by no more than this share.
const NEAR: f64 = 0.2;
/// Payload rates of full Ethernet lines, bit/s, with segments of 1460 and 1448 bytes in frames of 1538 with preamble and gap.
const ETHERNET: [f64; 4] = [1e7, 1e8, 1e9, 1e10];
const FRAME: [f64; 2] = [1448.0 / 1538.0, 1460.0 / 1538.0];
/// As near to one of them as its rate may be by chance.
const SAME_RATE: f64 = 0.005;
/// An RTT below which a full line of Ethernet is likelier than a window, seconds: hosts in one building.
const NEAR_HOST_S: f64 = 5e-3;

/// A window.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    if d.series.source == SummarySource::SsOnce
        || d.resent.is_some_and(|r| r > NONE)
        || d.queue() == Some(true)
        || !d.is_even()
    {
        return None;
    }
    let still = d.cwnd.map(|c| c.0).filter(|_| d.is_cwnd_even() && !d.is_model_based());
    let Some((inflight, rtt)) = d.inflight().zip(d.rtt_s) else { return still.map(without_rtt) };
    let near = |window: f64| (inflight / window - 1.0).abs() <= NEAR;
    let first = d.series.flows.first()?;
    let offered =
        first.intervals.iter().filter_map(|i| i.snd_wnd_bytes).reduce(f64::max).filter(|w| near(*w));
    // TCP lets its congestion window grow only while that is what holds the flow (RFC 7661 section 1): one that stands still above what is
    // in flight is not.
    let held =
        still.and_then(|cwnd| if near(cwnd) { Some(cwnd) } else { (cwnd > inflight).then_some(inflight) });
    offered.or(held)?;
    let line =
        ETHERNET.iter().find(|line| FRAME.iter().any(|f| (d.bps / (*line * f) - 1.0).abs() <= SAME_RATE));
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
        Some(_) if rtt < NEAR_HOST_S => "Cannot tell",
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
        "the window is even, nothing was lost and the RTT does not rise: no rate limiter can be told".into(),
    );
    Some(SummaryVerdict { kind, headline, facts, window_bytes: Some(bytes), ..SummaryVerdict::default() })
}

/// A congestion window that stands still, of which no RTT says whether it is what holds the flow.
fn without_rtt(cwnd: f64) -> SummaryVerdict {
    SummaryVerdict {
        kind: VerdictKind::Window,
        headline: format!(
            "Perhaps a window, not a rate limiter: the congestion window stands still at {} and nothing was lost; RTTs are missing to tell.",
            size(cwnd)
        ),
        window_bytes: Some(cwnd),
        ..SummaryVerdict::default()
    }
}
