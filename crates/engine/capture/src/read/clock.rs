//! Timestamps of a pcapng interface (draft-ietf-opsawg-pcapng section 4.2: if_tsresol, if_tsoffset).

use units::Time;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Converts an interface's timestamps.
pub(super) struct PcapClock {
    unit: ClockUnit,
    /// Nanoseconds to add.
    offset: i128,
}

enum ClockUnit {
    /// Nanoseconds per tick.
    NanosPerTick(u64),
    /// Ticks per nanosecond.
    TicksPerNano(u64),
    /// Binary logarithm of the ticks per second.
    Binary(u8),
}

impl PcapClock {
    /// `resolution`: the highest bit selects powers of two instead of ten, the rest is the negative exponent.
    /// `offset`: seconds.
    pub(super) fn new(resolution: u8, offset: i64) -> PcapClock {
        let exponent = (resolution & 0x7f) as u32;
        let unit = match resolution {
            0x80.. => ClockUnit::Binary(exponent as u8),
            ..=9 => ClockUnit::NanosPerTick(10u64.pow(9 - exponent)),
            // With a resolution finer than 10^-28 s, all 64-bit timestamps are within the first nanosecond.
            _ => ClockUnit::TicksPerNano(10u64.checked_pow(exponent - 9).unwrap_or(u64::MAX)),
        };
        PcapClock { unit, offset: offset as i128 * NANOS_PER_SECOND as i128 }
    }

    /// The time of a timestamp; times before 1970 or after 2554 are clamped.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Time {
        let ns = match self.unit {
            ClockUnit::NanosPerTick(n) => match ticks.checked_mul(n) {
                // Fast path for nearly every file.
                Some(ns) if self.offset == 0 => return Time::from_nanos(ns),
                _ => ticks as u128 * n as u128,
            },
            ClockUnit::TicksPerNano(n) => (ticks / n) as u128,
            ClockUnit::Binary(bits) => (ticks as u128 * NANOS_PER_SECOND) >> bits,
        };
        Time::from_nanos((ns as i128 + self.offset).clamp(0, u64::MAX as i128) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_resolutions_and_offsets() {
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
        assert_eq!(ns(0, i64::MAX, u64::MAX), Time::MAX.as_nanos());
        assert_eq!(ns(0, i64::MIN, u64::MAX), Time::MAX.as_nanos());
    }
}
