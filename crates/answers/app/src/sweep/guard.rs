//! Work that may panic, on a thread of its own, and whoever waits for it is told.
//!
//! Where panics unwind, that thread ends. Where they abort (a release build), the hook, which is called before, tells what
//! was said and never returns: the thread is lost with the memory that it holds, and nothing else is.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// What such a thread says.
pub(crate) enum WorkSaid<T> {
    /// A piece of its work is done.
    Item(T),
    /// It panicked, where and with what words; it says no more.
    Panicked(String),
}

type LastWords = Box<dyn FnOnce(String)>;

thread_local! {
    static LAST_WORDS: RefCell<Option<LastWords>> = const { RefCell::new(None) };
}

/// Begins `work`, which hands over its pieces one by one; the end of the channel is the end of the work.
///
/// # Errors
/// The system gives no thread.
pub(crate) fn apart<T: Send + 'static>(
    work: impl FnOnce(&mut dyn FnMut(T)) + Send + 'static,
) -> io::Result<Receiver<WorkSaid<T>>> {
    install();
    let (tell, told) = channel();
    thread::Builder::new().spawn(move || {
        let last = tell.clone();
        LAST_WORDS.set(Some(Box::new(move |why| drop(last.send(WorkSaid::Panicked(why))))));
        let all = || work(&mut |item| drop(tell.send(WorkSaid::Item(item))));
        drop(catch_unwind(AssertUnwindSafe(all)));
        LAST_WORDS.set(None);
    })?;
    Ok(told)
}

/// The hook that other threads' panics pass through untouched.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let Some(tell) = LAST_WORDS.try_with(RefCell::take).ok().flatten() else { return before(info) };
            tell(info.to_string().replace('\n', " "));
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
    fn what_was_done_before_a_panic_counts_and_the_panic_is_told() {
        let told = apart(|tell: &mut dyn FnMut(u32)| {
            tell(1);
            tell(2);
            panic!("on purpose\nin two lines");
        });
        let all: Vec<WorkSaid<u32>> = told.unwrap().iter().collect();
        let [WorkSaid::Item(1), WorkSaid::Item(2), WorkSaid::Panicked(why)] = &all[..] else {
            panic!("{}", all.len())
        };
        assert!(why.contains("guard.rs") && why.ends_with("on purpose in two lines"), "{why}");
        let told = apart(|tell: &mut dyn FnMut(u32)| tell(3)).unwrap();
        assert!(matches!(told.iter().collect::<Vec<_>>()[..], [WorkSaid::Item(3)]));
    }
}
