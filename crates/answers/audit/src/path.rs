//! The path on which findings are priced.

use print::three_digits;
use result::{Diagnosis, FlowDiagnosis, diagnosis::LimiterKind};
use serde::Serialize;
use units::{Bytes, Rate, Span};

/// A path between this host and another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedPath {
    /// Rate of IP packets, in Mbit/s.
    pub rate_mbps: f64,
    /// Round-trip time without queues, in ms.
    pub rtt_ms: f64,
    /// Burst size of a policer, in bytes; absent where packets queue instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// Size of the queue at the rate limit, in bytes; absent for one bandwidth-delay product, and with a
    /// policer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<u64>,
    /// Random loss, 0 to 1.
    pub loss: f64,
    /// Source of the values: `given`, or the capture.
    pub source: String,
}

/// Why a path was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// A value is out of range; names the option and the allowed range.
    #[error("{0}: must be {1}")]
    Range(&'static str, &'static str),
    /// A policer has no queue.
    #[error("--queue and --burst: a policer (--burst) has no queue; use only one of them")]
    QueueAndPolicer,
    /// The capture does not show the rate or the round-trip time.
    #[error("--capture: it shows no {0}; use --rate and --rtt")]
    NotInCapture(&'static str),
}

impl CheckedPath {
    /// Creates a path from values.
    ///
    /// # Errors
    /// Fails for a rate outside 64 kbit/s to 100 Gbit/s, a round-trip time outside 10 µs to 10 s, a burst or
    /// queue outside 1500 B to 1 GB, a loss outside 0 to 0.5, and for a policer with a queue.
    pub fn new(
        rate: Rate,
        rtt: Span,
        burst: Option<Bytes>,
        queue: Option<Bytes>,
        loss: f64,
    ) -> Result<CheckedPath, PathProblem> {
        if !(64_000..=100_000_000_000).contains(&rate.as_bps()) {
            return Err(PathProblem::Range("--rate", "64kbit/s to 100Gbit/s"));
        }
        if !(10_000..=10_000_000_000).contains(&rtt.as_nanos()) {
            return Err(PathProblem::Range("--rtt", "10us to 10s"));
        }
        let fits = |b: Option<Bytes>| b.is_none_or(|b| (1500..=1_000_000_000).contains(&b.get()));
        if !fits(burst) {
            return Err(PathProblem::Range("--burst", "1500B to 1GB"));
        }
        if !fits(queue) {
            return Err(PathProblem::Range("--queue", "1500B to 1GB"));
        }
        if !(0.0..=0.5).contains(&loss) {
            return Err(PathProblem::Range("--loss", "0 to 0.5"));
        }
        if burst.is_some() && queue.is_some() {
            return Err(PathProblem::QueueAndPolicer);
        }
        Ok(CheckedPath {
            rate_mbps: rate.as_mbps(),
            rtt_ms: rtt.as_millis_f64(),
            burst_bytes: burst.map(Bytes::get),
            queue_bytes: queue.map(Bytes::get),
            loss,
            source: "given".into(),
        })
    }

    /// Takes the path of a capture's largest flow: rate, burst and queue of its limiter, or without a limiter
    /// the highest delivery rate; and the minimum round-trip time.
    ///
    /// # Errors
    /// Fails when the capture shows no rate or no round-trip time, or one that is out of range.
    pub fn of_diagnosis(d: &Diagnosis) -> Result<CheckedPath, PathProblem> {
        let flow = d.flows.first().ok_or(PathProblem::NotInCapture("TCP flow with data"))?;
        let rtt = Some(flow.measures.rtt_ms.min).filter(|ms| *ms > 0.0).or(flow.measures.handshake_rtt_ms);
        let rtt =
            rtt.filter(|ms| ms.is_finite() && *ms > 0.0).ok_or(PathProblem::NotInCapture("round trip"))?;
        let (rate, burst, queue) = limits(d, flow);
        let bytes = |b: Option<f64>| b.filter(|b| b.is_finite()).map(|b| Bytes::new(b.max(1500.0) as u64));
        if !rate.is_finite() || rate <= 0.0 {
            return Err(PathProblem::NotInCapture("rate"));
        }
        let (rate, rtt) = (Rate::from_bps((rate * 1e6) as u64), Span::from_nanos((rtt * 1e6) as u64));
        let path = CheckedPath::new(rate, rtt, bytes(burst), bytes(queue), 0.0)?;
        Ok(CheckedPath { source: format!("{}: {} -> {}", d.capture.file, flow.from, flow.to), ..path })
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bps((self.rate_mbps * 1e6).round() as u64)
    }

    /// Returns the round-trip time without queues.
    pub fn rtt(&self) -> Span {
        Span::from_nanos((self.rtt_ms * 1e6).round() as u64)
    }

    /// Returns the bandwidth-delay product, in bytes.
    pub fn bdp(&self) -> u64 {
        self.rate().bytes_in(self.rtt()).get()
    }

    /// Describes the path, such as `33.2 Mbit/s policed (bucket 9.6 kB), 137 ms`.
    pub fn words(&self) -> String {
        let rate = number(self.rate_mbps);
        let limiter = match (self.burst_bytes, self.queue_bytes) {
            (Some(b), _) => format!(" policed (bucket {})", size(b)),
            (None, Some(q)) => format!(" with a queue of {}", size(q)),
            (None, None) => String::new(),
        };
        let loss = if self.loss > 0.0 {
            format!(", {} % random loss", number(100.0 * self.loss))
        } else {
            String::new()
        };
        format!("{rate} Mbit/s{limiter}, {} ms{loss}", number(self.rtt_ms))
    }
}

/// Returns the rate, a policer's burst and the queue of what limits a flow.
fn limits(d: &Diagnosis, flow: &FlowDiagnosis) -> (f64, Option<f64>, Option<f64>) {
    match flow.limiter.and_then(|i| d.limiters.get(i)) {
        // A policer of unknown burst size is assumed to have a bucket of 250 ms of its rate.
        Some(l) if l.kind == LimiterKind::Policer => {
            (l.rate_mbps, l.burst_bytes.or(Some(l.rate_mbps * 1e6 / 32.0)), None)
        }
        Some(l) => (l.rate_mbps, None, l.queue_bytes),
        None => (flow.measures.max_delivery_mbps, None, None),
    }
}

/// Formats bytes in a suitable unit, such as `9.6 kB` or `4.19 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} kB", number(b / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", number(b / 1e6)),
        _ => format!("{} GB", number(b / 1e9)),
    }
}

/// Formats three significant digits without trailing zeros.
pub(crate) fn number(x: f64) -> String {
    let text = three_digits(x);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::RttSummary;
    use result::diagnosis::{Limiter, Measures};

    fn given(burst: Option<u64>, queue: Option<u64>) -> Result<CheckedPath, PathProblem> {
        CheckedPath::new(
            Rate::from_bps(33_200_000),
            Span::from_millis(137),
            burst.map(Bytes::new),
            queue.map(Bytes::new),
            0.0,
        )
    }

    #[test]
    fn a_path_is_checked_and_described() {
        let path = given(Some(9600), None).unwrap();
        assert_eq!(path.words(), "33.2 Mbit/s policed (bucket 9.6 kB), 137 ms");
        assert_eq!(path.bdp(), 568_550);
        assert_eq!(given(Some(9600), Some(9600)), Err(PathProblem::QueueAndPolicer));
        assert_eq!(given(Some(100), None), Err(PathProblem::Range("--burst", "1500B to 1GB")));
        let slow = CheckedPath::new(Rate::from_bps(1), Span::from_millis(1), None, None, 0.0);
        assert_eq!(slow.unwrap_err().to_string(), "--rate: must be 64kbit/s to 100Gbit/s");
        assert!(CheckedPath::new(Rate::from_bps(1_000_000), Span::ZERO, None, None, 0.0).is_err());
    }

    #[test]
    fn a_captures_path_has_the_limiter_of_its_largest_flow() {
        let limiter = Limiter {
            kind: LimiterKind::Policer,
            rate_mbps: 19.8,
            burst_bytes: Some(9050.0),
            ..Limiter::default()
        };
        let measures =
            Measures { rtt_ms: RttSummary { min: 30.2, ..RttSummary::default() }, ..Measures::default() };
        let flow = FlowDiagnosis {
            from: "a".into(),
            to: "b".into(),
            limiter: Some(0),
            measures,
            ..FlowDiagnosis::default()
        };
        let mut d = Diagnosis { limiters: vec![limiter], flows: vec![flow], ..Diagnosis::default() };
        d.capture.file = "c.pcap".into();
        let path = CheckedPath::of_diagnosis(&d).unwrap();
        assert_eq!((path.rate_mbps, path.burst_bytes, path.rtt_ms), (19.8, Some(9050), 30.2));
        assert_eq!(path.source, "c.pcap: a -> b");
        d.flows[0].limiter = None;
        assert_eq!(CheckedPath::of_diagnosis(&d), Err(PathProblem::NotInCapture("rate")));
        d.flows.clear();
        assert!(CheckedPath::of_diagnosis(&d).is_err());
    }
}
