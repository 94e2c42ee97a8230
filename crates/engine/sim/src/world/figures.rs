//! The measurements of a step, from which observations and rewards are derived.

use super::tally::AckTally;
use transport::Tcp;
use units::{Span, Time};

const MBIT_PER_BYTE: f64 = 8e-6;

/// Totals of a flow's sender at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderTotals {
    at: Time,
    sent: u64,
    delivered: u64,
    lost: u64,
    timeouts: u64,
}

impl SenderTotals {
    pub fn of(now: Time, end: &Tcp) -> SenderTotals {
        let (s, stats) = (&end.tx.s, &end.tx.stats);
        SenderTotals {
            at: now,
            sent: stats.sent,
            delivered: s.delivered,
            lost: s.lost,
            timeouts: stats.timeouts,
        }
    }
}

/// The measurements of a step. Rates count full-sized packets' payload. Times without a sample are those of
/// the previous step, and 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepFigures {
    /// End of the step, s since the start of the run.
    pub time_s: f64,
    /// Length of the step, s.
    pub span_s: f64,
    /// Packets sent, including retransmissions.
    pub sent: f64,
    /// Packets delivered, as ACKs and SACK blocks report.
    pub delivered: f64,
    /// Packets marked lost.
    pub lost: f64,
    /// Retransmission timeouts.
    pub timeouts: f64,
    /// Sending rate, Mbit/s.
    pub sent_mbps: f64,
    /// Delivery rate, Mbit/s.
    pub delivered_mbps: f64,
    /// ACKs of new data.
    pub acks: f64,
    /// Mean RTT, ms.
    pub rtt_ms: f64,
    /// Minimum RTT, ms.
    pub rtt_min_ms: f64,
    /// Maximum RTT, ms.
    pub rtt_max_ms: f64,
    /// Slope of the RTT: its increase from the first to the last sample per time of the step, s/s.
    pub rtt_slope: f64,
    /// Smoothed RTT, ms.
    pub srtt_ms: f64,
    /// Minimum RTT of the connection, ms; 0 before the first sample.
    pub least_rtt_ms: f64,
    /// Highest delivery rate of any step so far, Mbit/s.
    pub most_mbps: f64,
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Packets in flight.
    pub inflight: f64,
    /// Pacing rate, Mbit/s; 0 without pacing.
    pub pacing_mbps: f64,
    /// Payload of a full-sized packet, bytes.
    pub mss: f64,
}

fn ms(span: Option<Span>, else_ms: f64) -> f64 {
    span.map_or(else_ms, Span::as_millis_f64)
}

impl StepFigures {
    /// Measures the step from `before` to `after`.
    pub(crate) fn of(
        before: &SenderTotals,
        after: &SenderTotals,
        tally: &AckTally,
        end: &Tcp,
        last: &StepFigures,
    ) -> StepFigures {
        let (s, w) = (&end.tx.s, &end.tx.w);
        let span_s = after.at.since(before.at).as_secs_f64();
        let rate = |packets: f64| packets * f64::from(s.mss) * MBIT_PER_BYTE / span_s.max(1e-9);
        let (sent, delivered) = (
            after.sent.saturating_sub(before.sent) as f64,
            after.delivered.saturating_sub(before.delivered) as f64,
        );
        let mean = tally.rtt_sum_ns as f64 / tally.samples.max(1) as f64 * 1e-6;
        let delivered_mbps = rate(delivered);
        let rise = ms(tally.rtt_last, 0.0) - ms(tally.rtt_first, 0.0);
        StepFigures {
            time_s: after.at.as_secs_f64(),
            span_s,
            sent,
            delivered,
            lost: after.lost.saturating_sub(before.lost) as f64,
            timeouts: after.timeouts.saturating_sub(before.timeouts) as f64,
            sent_mbps: rate(sent),
            delivered_mbps,
            acks: tally.acks as f64,
            rtt_ms: if tally.samples > 0 { mean } else { last.rtt_ms },
            rtt_min_ms: ms(tally.rtt_min, last.rtt_min_ms),
            rtt_max_ms: ms(tally.rtt_max, last.rtt_max_ms),
            rtt_slope: rise * 1e-3 / span_s.max(1e-9),
            srtt_ms: ms(s.srtt, 0.0),
            least_rtt_ms: ms(s.min_rtt, last.least_rtt_ms),
            most_mbps: last.most_mbps.max(delivered_mbps),
            cwnd: w.cwnd.into(),
            inflight: end.tx.in_flight().into(),
            pacing_mbps: if w.pacing { w.pacing_rate as f64 * MBIT_PER_BYTE } else { 0.0 },
            mss: s.mss.into(),
        }
    }

    /// All measurements by name, in the order of their declaration.
    pub fn named(&self) -> [(&'static str, f64); 20] {
        [
            ("time_s", self.time_s),
            ("span_s", self.span_s),
            ("sent", self.sent),
            ("delivered", self.delivered),
            ("lost", self.lost),
            ("timeouts", self.timeouts),
            ("sent_mbps", self.sent_mbps),
            ("delivered_mbps", self.delivered_mbps),
            ("acks", self.acks),
            ("rtt_ms", self.rtt_ms),
            ("rtt_min_ms", self.rtt_min_ms),
            ("rtt_max_ms", self.rtt_max_ms),
            ("rtt_slope", self.rtt_slope),
            ("srtt_ms", self.srtt_ms),
            ("least_rtt_ms", self.least_rtt_ms),
            ("most_mbps", self.most_mbps),
            ("cwnd", self.cwnd),
            ("inflight", self.inflight),
            ("pacing_mbps", self.pacing_mbps),
            ("mss", self.mss),
        ]
    }

    /// Share of lost packets among those of which the step showed whether they were lost, 0 to 1.
    pub fn loss_share(&self) -> f64 {
        self.lost / (self.lost + self.delivered).max(1.0)
    }
}
