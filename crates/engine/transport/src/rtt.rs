//! RTT estimation: smoothed RTT, its deviation, the retransmission timeout, and the windowed minimum.
//!
//! RFC 6298 as implemented in Linux (`tcp_rtt_estimator`): the deviation decreases slowly, at most once per
//! round, and the minimum of 200 ms applies to the deviation term, so RTO = srtt + max(rttvar, 200 ms). The
//! RFC profile uses max(1 s, srtt + 4 rttvar) as specified.

use units::{Span, Time};

/// Maximum timeout (`TCP_RTO_MAX`).
pub const RTO_MAX: Span = Span::from_secs(120);
/// Timeout before the first sample (RFC 6298 section 2.1).
pub const RTO_INITIAL: Span = Span::from_secs(1);
/// Length of the minimum filter's window (`sysctl_tcp_min_rtt_wlen`).
const MIN_WINDOW: Span = Span::from_secs(300);

/// RTT state of a sender, in `i64` nanoseconds shifted as in the kernel.
#[derive(Clone, Debug)]
pub struct Rtt {
    linux: bool,
    rto_min: i64,
    /// srtt << 3.
    srtt: i64,
    /// mdev << 2.
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    min: Option<(Time, Span)>,
    /// The second-best minimum, from the later half of the window.
    next_min: Option<(Time, Span)>,
    rto: Span,
}

impl Rtt {
    /// An estimator without samples.
    pub fn new(linux: bool, rto_min: Span) -> Rtt {
        Rtt {
            linux,
            rto_min: rto_min.as_nanos() as i64,
            srtt: 0,
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            min: None,
            next_min: None,
            rto: RTO_INITIAL.max(rto_min),
        }
    }

    /// Smoothed RTT.
    pub fn smoothed(&self) -> Option<Span> {
        (self.srtt != 0).then(|| Span::from_nanos((self.srtt >> 3) as u64))
    }

    /// Mean deviation (`mdev_us >> 2`).
    pub fn deviation(&self) -> Span {
        Span::from_nanos((self.mdev >> 2).max(0) as u64)
    }

    /// The windowed minimum.
    pub fn min(&self) -> Option<Span> {
        self.min.map(|(_, r)| r)
    }

    /// Retransmission timeout without backoff.
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// Adds a sample of the oldest newly acknowledged data.
    pub fn sample(&mut self, rtt: Span, snd_una: u64, snd_nxt: u64) {
        let mut m = (rtt.as_nanos() as i64).max(1);
        if self.srtt == 0 {
            self.srtt = m << 3;
            self.mdev = m << 1;
            self.rttvar = self.mdev.max(if self.linux { self.rto_min } else { 0 });
            self.mdev_max = self.rttvar;
            self.round_end = snd_nxt;
        } else {
            m -= self.srtt >> 3;
            self.srtt = (self.srtt + m).max(1);
            if m < 0 {
                // A decrease of the RTT raises the deviation by only 1/32 of it.
                m = -m - (self.mdev >> 2);
                if m > 0 && self.linux {
                    m >>= 3;
                }
            } else {
                m -= self.mdev >> 2;
            }
            self.mdev += m;
            if !self.linux {
                self.rttvar = self.mdev;
            } else {
                if self.mdev > self.mdev_max {
                    self.mdev_max = self.mdev;
                    self.rttvar = self.rttvar.max(self.mdev_max);
                }
                if snd_una > self.round_end {
                    if self.mdev_max < self.rttvar {
                        self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                    }
                    self.round_end = snd_nxt;
                    self.mdev_max = self.rto_min;
                }
            }
        }
        let rto = Span::from_nanos(((self.srtt >> 3) + self.rttvar) as u64);
        let floor = if self.linux { Span::ZERO } else { Span::from_nanos(self.rto_min as u64) };
        self.rto = rto.max(floor).min(RTO_MAX);
    }

    /// Adds a sample of the newest acknowledged data for the minimum. `maybe_delayed`: the ACK was probably
    /// delayed, so it cannot raise an expired minimum.
    #[inline]
    pub fn sample_min(&mut self, now: Time, rtt: Span, maybe_delayed: bool) {
        let rtt = rtt.max(Span::from_nanos(1));
        match self.min {
            Some((_, min)) if maybe_delayed && rtt > min => {}
            Some((at, min)) if rtt > min && now.since(at) <= MIN_WINDOW => {
                if now.since(at) > MIN_WINDOW / 2 && self.next_min.is_none_or(|(_, r)| rtt <= r) {
                    self.next_min = Some((now, rtt));
                }
            }
            Some((_, min)) if rtt > min => {
                self.min = Some(self.next_min.take().filter(|&(_, r)| r < rtt).unwrap_or((now, rtt)));
            }
            _ => {
                self.min = Some((now, rtt));
                self.next_min = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rto_of_a_steady_rtt_is_srtt_plus_200_ms() {
        let mut r = Rtt::new(true, Span::from_millis(200));
        assert_eq!(r.rto(), Span::from_secs(1)); // RFC 6298 section 2.1
        for i in 0..100 {
            r.sample(Span::from_millis(50), i * 1000, i * 1000 + 500);
        }
        assert_eq!(r.smoothed(), Some(Span::from_millis(50)));
        assert_eq!(r.rto(), Span::from_millis(250));
    }

    #[test]
    fn rto_of_the_rfc_profile_is_at_least_one_second() {
        let mut r = Rtt::new(false, Span::from_secs(1));
        for i in 0..100 {
            r.sample(Span::from_millis(50), i, i);
        }
        assert_eq!(r.rto(), Span::from_secs(1)); // RFC 6298 section 2.4
    }

    #[test]
    fn the_minimum_expires_after_five_minutes() {
        let mut r = Rtt::new(true, Span::from_millis(200));
        r.sample_min(Time::ZERO, Span::from_millis(10), false);
        r.sample_min(Time::ZERO + Span::from_secs(200), Span::from_millis(30), false);
        assert_eq!(r.min(), Some(Span::from_millis(10)));
        r.sample_min(Time::ZERO + Span::from_secs(301), Span::from_millis(40), false);
        assert_eq!(r.min(), Some(Span::from_millis(30)));
    }
}
