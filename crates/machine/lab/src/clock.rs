//! The run's clock: `CLOCK_MONOTONIC` since the moment the run began.

use linux::clock::monotonic;
use std::time::Duration;
use units::Time;

/// Real time since the start of the run.
#[derive(Clone, Copy)]
pub struct WallClock(u64);

impl WallClock {
    /// Creates the clock of a run that starts `lead` from now.
    pub fn start_in(lead: Duration) -> WallClock {
        WallClock(monotonic() + lead.as_nanos() as u64)
    }

    /// Returns the time since the run started; zero before.
    #[inline]
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.0))
    }

    /// Converts a reading of `CLOCK_MONOTONIC`, ns; zero before the start.
    pub fn at(self, reading: u64) -> Time {
        Time::from_nanos(reading.saturating_sub(self.0))
    }

    /// Returns the time until `t`; zero if it has passed.
    pub fn until(self, t: Time) -> Duration {
        Duration::from_nanos((self.0 + t.as_nanos()).saturating_sub(monotonic()))
    }
}
