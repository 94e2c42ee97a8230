//! The sender's round-trip time and retransmission timeout, as RFC 6298 has them.

use units::Span;

/// No RTT is longer; one that seems to be is cut.
pub const LONGEST_RTT: Span = Span::from_secs(3600);
/// The least by which the retransmission timeout is above the RTT: Linux's `TCP_RTO_MIN` (RFC 6298 asks for 1 s).
pub const RTO_MIN: Span = Span::from_millis(200);
/// The timeout before there is an RTT (RFC 6298 section 2.1).
pub const RTO_INITIAL: Span = Span::from_secs(1);

/// Smoothed RTT and its deviation (RFC 6298 section 2).
#[derive(Debug, Default)]
pub struct RttEstimate {
    smoothed: Option<Span>,
    deviation: Span,
}

impl RttEstimate {
    /// Takes an RTT (RFC 6298 section 2.2 and 2.3).
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        let rtt = rtt.min(LONGEST_RTT);
        let least = Span::from_nanos(1);
        let Some(old) = self.smoothed else {
            (self.smoothed, self.deviation) = (Some(rtt.max(least)), rtt / 2);
            return;
        };
        let apart = if rtt > old { rtt - old } else { old - rtt };
        self.deviation = self.deviation - self.deviation / 4 + apart / 4;
        self.smoothed = Some((old - old / 8 + rtt / 8).max(least));
    }

    /// The smoothed RTT, once there was a sample.
    #[inline]
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The smoothed RTT; zero before the first sample.
    #[inline]
    pub fn or_zero(&self) -> Span {
        self.smoothed.unwrap_or(Span::ZERO)
    }

    /// The least timeout that the sender is likely to have.
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
    fn a_steady_rtt_leaves_the_least_timeout() {
        let mut rtt = RttEstimate::default();
        (0..100).for_each(|_| rtt.sample(Span::from_millis(20)));
        assert_eq!(rtt.timeout() - rtt.or_zero(), RTO_MIN);
    }
}
