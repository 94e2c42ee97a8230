//! Requests to stop: Ctrl-C, and SIGTERM at shutdown.

use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The caught signal, 0 for none. A static, because a signal handler can write to nothing else.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn store_signal(signal: libc::c_int) {
    CAUGHT.store(signal, Relaxed);
}

/// Makes the first SIGINT or SIGTERM visible to [`interrupted`]; the second one ends the process as usual.
/// Signals that are ignored (in a background job) stay ignored.
pub fn catch_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all zeros is a value of `sigaction`: no flags, no signals blocked, the default action.
        let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
        // SAFETY: the call writes to `before`, which outlives it, and changes nothing.
        unsafe { libc::sigaction(signal, null(), &mut before) };
        if before.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        action.sa_sigaction = store_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        // SAFETY: `action` outlives the call. The handler does nothing but store a number in an atomic, which
        // is safe at any moment (signal-safety(7)), and takes one argument, as SA_SIGINFO is not set.
        unsafe { libc::sigaction(signal, &action, null_mut()) };
    }
}

/// Returns the signal that arrived after [`catch_interrupts`].
pub fn interrupted() -> Option<i32> {
    Some(CAUGHT.load(Relaxed)).filter(|&signal| signal != 0)
}
