//! The delivery rate that `TCP_INFO` tells: of the last sample that the application did not limit, or of a higher one
//! that it did (the end of `tcp_rate_gen`, and `tcp_compute_delivery_rate`).

use congestion::RateSample;
use units::Span;

/// The sample that is told (`tp->rate_delivered`, `tp->rate_interval_us`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    packets: u32,
    interval: Span,
}

impl Delivery {
    /// Takes a sample, if it is to be told. One without packets or without a valid interval is not.
    pub fn take(&mut self, sample: &RateSample) {
        let Some(packets) = sample.delivered.filter(|_| !sample.interval.is_zero()) else { return };
        let crossed = |packets: u32, interval: Span| u64::from(packets) * interval.as_micros();
        if !sample.is_app_limited || crossed(packets, self.interval) >= crossed(self.packets, sample.interval)
        {
            *self = Delivery { packets, interval: sample.interval };
        }
    }

    /// Bytes per second of segments of `mss` bytes; `None` before there is a rate, where the kernel tells 0.
    pub fn rate(&self, mss: u32) -> Option<u64> {
        let bytes = u64::from(self.packets) * u64::from(mss) * 1_000_000;
        bytes.checked_div(self.interval.as_micros()).filter(|&rate| rate > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(packets: u32, millis: u64, is_app_limited: bool) -> RateSample {
        let interval = Span::from_millis(millis);
        RateSample { delivered: Some(packets), interval, is_app_limited, ..RateSample::default() }
    }

    #[test]
    fn what_the_application_limits_is_told_only_where_it_is_higher() {
        let mut d = Delivery::default();
        assert_eq!(d.rate(1448), None);
        let mut told = |sample| {
            d.take(&sample);
            d.rate(1000)
        };
        // The first of all is told whoever limits it: 10 packets of 1000 bytes in 10 ms are 1 MB/s.
        assert_eq!(told(sample(10, 10, true)), Some(1_000_000));
        assert_eq!(told(sample(5, 10, true)), Some(1_000_000));
        assert_eq!(told(sample(20, 10, true)), Some(2_000_000));
        assert_eq!(told(sample(5, 10, false)), Some(500_000), "the path's own, though lower");
        // No valid interval (shorter than the smallest RTT), no packet that was sent in it: nothing new.
        assert_eq!(told(RateSample { interval: Span::ZERO, ..sample(9, 1, false) }), Some(500_000));
        assert_eq!(told(RateSample { delivered: None, ..sample(9, 1, false) }), Some(500_000));
    }
}
