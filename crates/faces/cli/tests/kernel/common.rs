//! What the tests on the real kernel share.

use std::thread;
use std::time::{Duration, Instant};

/// Whether it is `done` before so much time has passed.
pub fn within(most: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < most {
        if done() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    done()
}
