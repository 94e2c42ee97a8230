//! Clocks of the kernel (clock_gettime(2)).

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of the kernel's TCP.
#[inline]
pub fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU nanoseconds that the calling thread has used (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(t: Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
