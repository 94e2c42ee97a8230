//! The delivery rate in `TCP_INFO`: that of the last sample that was not application-limited, or of a higher
//! one that was (end of `tcp_rate_gen`, and `tcp_compute_delivery_rate`).

use congestion::RateSample;
use units::Span;

/// The reported sample (`tp->rate_delivered`, `tp->rate_interval_us`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    packets: u32,
    interval: Span,
}

impl Delivery {
    /// Considers a sample for reporting. Samples without packets or without a valid interval are ignored.
    pub fn take(&mut self, sample: &RateSample) {
        let Some(packets) = sample.delivered.filter(|_| !sample.interval.is_zero()) else { return };
        let crossed = |packets: u32, interval: Span| u64::from(packets) * interval.as_micros();
        if !sample.is_app_limited || crossed(packets, self.interval) >= crossed(self.packets, sample.interval)
        {
            *self = Delivery { packets, interval: sample.interval };
        }
    }

    /// The rate in bytes/s for segments of `mss` bytes; `None` before the first sample, where the kernel
    /// reports 0.
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
    fn application_limited_samples_are_reported_only_if_they_are_higher() {
        let mut d = Delivery::default();
        assert_eq!(d.rate(1448), None);
        let mut rate_after = |sample| {
            d.take(&sample);
            d.rate(1000)
        };
        // The first sample is reported in any case: 10 packets of 1000 bytes in 10 ms are 1 MB/s.
        assert_eq!(rate_after(sample(10, 10, true)), Some(1_000_000));
        assert_eq!(rate_after(sample(5, 10, true)), Some(1_000_000));
        assert_eq!(rate_after(sample(20, 10, true)), Some(2_000_000));
        assert_eq!(rate_after(sample(5, 10, false)), Some(500_000), "not application-limited, though lower");
        // Samples without a valid interval (shorter than the minimum RTT) or without packets change nothing.
        assert_eq!(rate_after(RateSample { interval: Span::ZERO, ..sample(9, 1, false) }), Some(500_000));
        assert_eq!(rate_after(RateSample { delivered: None, ..sample(9, 1, false) }), Some(500_000));
    }
}
