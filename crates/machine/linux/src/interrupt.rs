//! The user's wish that it end: Ctrl-C, and what a system sends that shuts down.

use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A handler has nothing but a static to write to. 0: no signal came.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    CAUGHT.store(signal, Relaxed);
}

/// From now on the first SIGINT or SIGTERM is noted for [`interrupted`], the second ends the process as usual. A signal
/// that is ignored (as of a job in the background) stays so.
pub fn catch_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all zeros is a value of `sigaction`: no flags, no signals blocked, the default action.
        let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
        // SAFETY: the call writes to `before`, which outlives it, and changes nothing.
        unsafe { libc::sigaction(signal, null(), &mut before) };
        if before.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        // SAFETY: `action` outlives the call. The handler does nothing but store a number in an atomic, which is safe at any
        // moment (signal-safety(7)), and takes one argument, as SA_SIGINFO is not set.
        unsafe { libc::sigaction(signal, &action, null_mut()) };
    }
}

/// The signal that came, once [`catch_interrupts`] was called.
pub fn interrupted() -> Option<i32> {
    Some(CAUGHT.load(Relaxed)).filter(|&signal| signal != 0)
}
