//! The kernel's coarse clock. CUBIC's epochs and BBR's min-RTT window are measured in jiffies, so
//! that their decisions are at ticks of 1/[`HZ`] s; everything else is in microseconds.

use units::{Span, Time};

/// Ticks per second (`CONFIG_HZ`): 250, the default of x86 and of most distributions' servers.
pub const HZ: u64 = 250;

const NANOS_PER_TICK: u64 = 1_000_000_000 / HZ;
const MICROS_PER_TICK: u64 = 1_000_000 / HZ;

/// A point in time in ticks (`tcp_jiffies32`, without its wrap-around).
pub(crate) type Jiffies = u64;

/// The tick that contains `t`.
pub(crate) const fn at(t: Time) -> Jiffies {
    t.as_nanos() / NANOS_PER_TICK
}

/// `usecs_to_jiffies`: rounds up.
pub(crate) const fn from_micros(us: u32) -> Jiffies {
    (us as u64).div_ceil(MICROS_PER_TICK)
}

/// Microseconds in 32 bits, as the kernel stores an RTT.
pub(crate) fn micros(s: Span) -> u32 {
    s.as_micros().min(u32::MAX as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_4_ms_and_spans_round_up_to_them() {
        assert_eq!(at(Time::from_nanos(3_999_999)), 0);
        assert_eq!(at(Time::from_nanos(4_000_000)), 1);
        assert_eq!((from_micros(0), from_micros(1), from_micros(4_000), from_micros(4_001)), (0, 1, 1, 2));
        assert_eq!(micros(Span::MAX), u32::MAX);
    }
}
