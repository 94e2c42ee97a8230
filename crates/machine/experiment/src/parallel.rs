//! Runs independent tasks on several threads and returns their results in order.

/// Calls `work(0)` … `work(count - 1)` on `threads` threads. `tick` is called on the calling thread,
/// regularly and after each task. The results are in the order of the task numbers.
///
/// A task calls the function it receives regularly; without threads, that function is `tick`.
#[cfg(not(target_arch = "wasm32"))]
pub fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize, &mut dyn FnMut()) -> T + Sync,
    mut tick: impl FnMut(),
) -> Vec<T> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    /// Interval between calls of `tick` while work is in progress.
    const TICK_INTERVAL: Duration = Duration::from_millis(100);

    let next = AtomicUsize::new(0);
    let (done, results) = channel();
    let mut slots: Vec<Option<T>> = (0..count).map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count || done.send((i, work(i, &mut || ()))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        loop {
            match results.recv_timeout(TICK_INTERVAL) {
                Ok((i, result)) => slots[i] = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tick();
        }
    });
    slots.into_iter().flatten().collect()
}

/// The default number of parallel runs. It is determined only once: the system reads several files for it,
/// which takes as long as a short run.
#[cfg(not(target_arch = "wasm32"))]
pub fn cores() -> usize {
    static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Runs the tasks one after the other, for systems without threads.
#[cfg(target_arch = "wasm32")]
pub fn in_parallel<T>(
    count: usize,
    _: usize,
    work: impl Fn(usize, &mut dyn FnMut()) -> T,
    mut tick: impl FnMut(),
) -> Vec<T> {
    let piece = |i| {
        let result = work(i, &mut tick);
        tick();
        result
    };
    (0..count).map(piece).collect()
}

/// There is only one thread.
#[cfg(target_arch = "wasm32")]
pub fn cores() -> usize {
    1
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn results_are_in_order_of_task_numbers() {
        let work = |i: usize, _: &mut dyn FnMut()| {
            thread::sleep(Duration::from_millis(if i.is_multiple_of(3) { 5 } else { 0 }));
            i * i
        };
        let mut ticks = 0;
        let got = in_parallel(20, 4, work, || ticks += 1);
        assert_eq!(got, (0..20).map(|i| i * i).collect::<Vec<_>>());
        assert!(ticks >= 20);
        assert!(in_parallel(0, 4, |i, _| i, || ()).is_empty());
    }
}
