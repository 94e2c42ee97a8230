//! The sender's smoothed round-trip time and retransmission timeout (RFC 6298).

use units::Span;

/// Longer RTT samples are cut to this.
pub const MAX_RTT: Span = Span::from_secs(3600);
/// Minimum distance of the retransmission timeout from the RTT: Linux's `TCP_RTO_MIN` (RFC 6298 recommends a
/// minimum timeout of 1 s).
pub const RTO_MIN: Span = Span::from_millis(200);
/// The timeout before the first RTT sample (RFC 6298 section 2.1).
pub const RTO_INITIAL: Span = Span::from_secs(1);

/// Smoothed RTT and its deviation (RFC 6298 section 2).
#[derive(Debug, Default)]
pub struct RttEstimate {
    smoothed: Option<Span>,
    deviation: Span,
}

impl RttEstimate {
    /// Adds an RTT sample (RFC 6298 sections 2.2 and 2.3).
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        let rtt = rtt.min(MAX_RTT);
        let least = Span::from_nanos(1);
        let Some(old) = self.smoothed else {
            (self.smoothed, self.deviation) = (Some(rtt.max(least)), rtt / 2);
            return;
        };
        let difference = if rtt > old { rtt - old } else { old - rtt };
        self.deviation = self.deviation - self.deviation / 4 + difference / 4;
        self.smoothed = Some((old - old / 8 + rtt / 8).max(least));
    }

    /// The smoothed RTT; `None` before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The smoothed RTT; zero before the first sample.
    #[inline]
    pub fn or_zero(&self) -> Span {
        self.smoothed.unwrap_or(Span::ZERO)
    }

    /// The shortest retransmission timeout that the sender is likely to have.
    pub fn timeout(&self) -> Span {
        match self.smoothed {
            None => RTO_INITIAL,
            Some(rtt) => rtt + (self.deviation * 4).max(RTO_MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut rtt = RttEstimate::default();
        assert_eq!((rtt.smoothed(), rtt.timeout()), (None, RTO_INITIAL));
        rtt.sample(Span::from_millis(800));
        // SRTT = R, RTTVAR = R / 2; RTO = SRTT + 4 RTTVAR.
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(Span::from_millis(800)), Span::from_millis(2400)));
        rtt.sample(Span::from_millis(400));
        // RTTVAR = 3/4 · 400 + 1/4 · |800 - 400|; SRTT = 7/8 · 800 + 1/8 · 400.
        assert_eq!(rtt.or_zero(), Span::from_millis(750));
        assert_eq!(rtt.timeout(), Span::from_millis(750 + 4 * 400));
    }

    #[test]
    fn a_constant_rtt_gives_the_minimum_timeout() {
        let mut rtt = RttEstimate::default();
        (0..100).for_each(|_| rtt.sample(Span::from_millis(20)));
        assert_eq!(rtt.timeout() - rtt.or_zero(), RTO_MIN);
    }
}
