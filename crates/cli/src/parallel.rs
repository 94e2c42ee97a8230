//! Independent pieces of work on several threads, results in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often `tick` is called while work is under way.
const TICK: Duration = Duration::from_millis(100);

/// Calls `work(0)` … `work(count - 1)` on `threads` threads; `tick` is called on this one, now and
/// then and after each piece. Results come in the order of their numbers.
pub fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
    mut tick: impl FnMut(),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let (done, results) = channel();
    let mut slots: Vec<Option<T>> = (0..count).map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count || done.send((i, work(i))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        loop {
            match results.recv_timeout(TICK) {
                Ok((i, result)) => slots[i] = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tick();
        }
    });
    slots.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        let work = |i: usize| {
            thread::sleep(Duration::from_millis(if i.is_multiple_of(3) { 5 } else { 0 }));
            i * i
        };
        let mut ticks = 0;
        let got = in_parallel(20, 4, work, || ticks += 1);
        assert_eq!(got, (0..20).map(|i| i * i).collect::<Vec<_>>());
        assert!(ticks >= 20);
        assert!(in_parallel(0, 4, |i| i, || ()).is_empty());
    }
}
