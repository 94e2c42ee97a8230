//! Runs work that may panic on its own thread, and reports a panic to the receiver.
//!
//! Where panics unwind, the thread ends. Where they abort (a release build), the panic hook, which runs
//! first, reports the message and never returns: the thread and its memory are lost, but the process goes on.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// An event of a guarded thread.
pub(crate) enum WorkEvent<T> {
    /// A piece of the work is done.
    Item(T),
    /// The thread panicked, with this message and place. No further event follows.
    Panicked(String),
}

type PanicReport = Box<dyn FnOnce(String)>;

thread_local! {
    static ON_PANIC: RefCell<Option<PanicReport>> = const { RefCell::new(None) };
}

/// Starts `work` on a thread. `work` passes its items on one by one; the channel closes when the work ends.
///
/// # Errors
/// Fails when the system cannot create a thread.
pub(crate) fn run_guarded<T: Send + 'static>(
    work: impl FnOnce(&mut dyn FnMut(T)) + Send + 'static,
) -> io::Result<Receiver<WorkEvent<T>>> {
    install();
    let (sender, events) = channel();
    thread::Builder::new().spawn(move || {
        let last = sender.clone();
        ON_PANIC.set(Some(Box::new(move |why| drop(last.send(WorkEvent::Panicked(why))))));
        let all = || work(&mut |item| drop(sender.send(WorkEvent::Item(item))));
        drop(catch_unwind(AssertUnwindSafe(all)));
        ON_PANIC.set(None);
    })?;
    Ok(events)
}

/// Installs a panic hook that reports panics of guarded threads and passes those of other threads on.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let Some(report) = ON_PANIC.try_with(RefCell::take).ok().flatten() else { return before(info) };
            report(info.to_string().replace('\n', " "));
            if cfg!(panic = "abort") {
                loop {
                    thread::park();
                }
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_before_a_panic_arrive_and_the_panic_is_reported() {
        let events = run_guarded(|emit: &mut dyn FnMut(u32)| {
            emit(1);
            emit(2);
            panic!("on purpose\nin two lines");
        });
        let all: Vec<WorkEvent<u32>> = events.unwrap().iter().collect();
        let [WorkEvent::Item(1), WorkEvent::Item(2), WorkEvent::Panicked(why)] = &all[..] else {
            panic!("{}", all.len())
        };
        assert!(why.contains("guard.rs") && why.ends_with("on purpose in two lines"), "{why}");
        let events = run_guarded(|emit: &mut dyn FnMut(u32)| emit(3)).unwrap();
        assert!(matches!(events.iter().collect::<Vec<_>>()[..], [WorkEvent::Item(3)]));
    }
}
