//! Clocks of the kernel (clock_gettime(2)).

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns `CLOCK_MONOTONIC` in nanoseconds, the clock of the kernel's TCP.
#[inline]
pub fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Returns the CPU time of the calling thread, nanoseconds (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(t: Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
