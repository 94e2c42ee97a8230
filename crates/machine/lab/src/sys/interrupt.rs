//! The user's wish that it end: Ctrl-C, and what a system sends that shuts down.

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
        // SAFETY: `action` is whole (zeroed: no flags, no signals blocked) and outlives the call; the handler does nothing but
        // store a number, which is safe at any moment (signal-safety(7)).
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The signal that came, once [`catch_interrupts`] was called.
pub fn interrupted() -> Option<i32> {
    Some(CAUGHT.load(Relaxed)).filter(|&signal| signal != 0)
}
