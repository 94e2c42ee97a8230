//! The run's clock: `CLOCK_MONOTONIC` since the moment the run began.

use linux::clock::monotonic;
use std::time::Duration;
use units::Time;

/// Real time as the elements count it.
#[derive(Clone, Copy)]
pub struct WallClock(u64);

impl WallClock {
    /// A run that begins `lead` from now.
    pub fn start_in(lead: Duration) -> WallClock {
        WallClock(monotonic() + lead.as_nanos() as u64)
    }

    /// Time since the run began; zero before.
    #[inline]
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.0))
    }

    /// How long until `t`; zero when it is over.
    pub fn until(self, t: Time) -> Duration {
        Duration::from_nanos((self.0 + t.as_nanos()).saturating_sub(monotonic()))
    }
}
