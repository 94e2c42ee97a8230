//! Timestamps of a pcapng interface (draft-ietf-opsawg-pcapng section 4.2: if_tsresol, if_tsoffset).

use units::Time;

const SECOND: u128 = 1_000_000_000;

/// How an interface counts time.
pub(super) struct PcapClock {
    unit: ClockUnit,
    /// Nanoseconds to add.
    offset: i128,
}

enum ClockUnit {
    /// So many nanoseconds.
    Of(u64),
    /// A nanosecond has so many.
    Per(u64),
    /// A second has two to the power of so many.
    Two(u8),
}

impl PcapClock {
    /// `resolution`: the highest bit tells powers of two from those of ten, the rest is the negative exponent.
    /// `offset`: seconds.
    pub(super) fn new(resolution: u8, offset: i64) -> PcapClock {
        let exponent = (resolution & 0x7f) as u32;
        let unit = match resolution {
            0x80.. => ClockUnit::Two(exponent as u8),
            ..=9 => ClockUnit::Of(10u64.pow(9 - exponent)),
            // Finer than 10^-28 s, all times that 64 bits can tell are within the first nanosecond.
            _ => ClockUnit::Per(10u64.checked_pow(exponent - 9).unwrap_or(u64::MAX)),
        };
        PcapClock { unit, offset: offset as i128 * SECOND as i128 }
    }

    /// The time at `ticks`; what lies before 1970 or after 2554 becomes the nearest that can be told.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Time {
        let ns = match self.unit {
            ClockUnit::Of(n) => match ticks.checked_mul(n) {
                // As nearly every file has it.
                Some(ns) if self.offset == 0 => return Time::from_nanos(ns),
                _ => ticks as u128 * n as u128,
            },
            ClockUnit::Per(n) => (ticks / n) as u128,
            ClockUnit::Two(bits) => (ticks as u128 * SECOND) >> bits,
        };
        Time::from_nanos((ns as i128 + self.offset).clamp(0, u64::MAX as i128) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_and_two_and_offsets() {
        let ns = |resolution, offset, ticks| PcapClock::new(resolution, offset).time(ticks).as_nanos();
        assert_eq!(ns(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(ns(9, 0, 7), 7);
        assert_eq!(ns(0, 0, 7), 7_000_000_000);
        assert_eq!(ns(12, 0, 1_999), 1);
        assert_eq!(ns(127, 0, u64::MAX), 1);
        assert_eq!(ns(0x80 | 10, 0, 512), 500_000_000);
        assert_eq!(ns(0x80 | 32, 0, 3 << 31), 1_500_000_000);
        assert_eq!(ns(0xff, 0, u64::MAX), 0);
        assert_eq!(ns(6, 100, 1), 100_000_001_000);
        assert_eq!(ns(6, -100, 1), 0);
        assert_eq!(ns(0, i64::MAX, u64::MAX), u64::MAX);
        assert_eq!(ns(0, i64::MIN, u64::MAX), u64::MAX);
    }
}
