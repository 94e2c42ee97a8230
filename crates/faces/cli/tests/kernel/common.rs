//! Helpers of the tests on the real kernel.

use std::thread;
use std::time::{Duration, Instant};

/// Polls until `done` returns true, for at most `max`; returns whether it did.
pub fn within(max: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < max {
        if done() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    done()
}
