//! The user's wish that it end, on a console of Windows: Ctrl-C and Ctrl-Break.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// What Ctrl-C is elsewhere, for the exit code.
const SIGINT: i32 = 2;
/// `CTRL_C_EVENT` and `CTRL_BREAK_EVENT` (consoleapi.h, HandlerRoutine); a console that is closed ends the process anyway.
const ASKED: [u32; 2] = [0, 1];
/// A handler has nothing but a static to write to. 0: nobody asked.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetConsoleCtrlHandler(handler: Option<unsafe extern "system" fn(u32) -> i32>, add: i32) -> i32;
}

/// Called in a thread of its own. The second time it hands on to the handler that ends the process.
unsafe extern "system" fn note(event: u32) -> i32 {
    i32::from(ASKED.contains(&event) && CAUGHT.swap(SIGINT, Relaxed) == 0)
}

/// From now on the first Ctrl-C is noted for [`interrupted`], the second ends the process as usual.
pub fn catch_interrupts() {
    // SAFETY: the handler is a function for as long as the process lives, and does nothing but exchange a number.
    unsafe { SetConsoleCtrlHandler(Some(note), 1) };
}

/// The signal that came, once [`catch_interrupts`] was called.
pub fn interrupted() -> Option<i32> {
    Some(CAUGHT.load(Relaxed)).filter(|&signal| signal != 0)
}
