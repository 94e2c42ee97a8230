//! Ctrl-C and Ctrl-Break on a Windows console.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The signal that Ctrl-C sends on Unix, for the exit code.
const SIGINT: i32 = 2;
/// `CTRL_C_EVENT` and `CTRL_BREAK_EVENT` (consoleapi.h, HandlerRoutine). Closing the console ends the process
/// anyway.
const INTERRUPTS: [u32; 2] = [0, 1];
/// The signal caught, 0 for none. A static, as the handler has no argument of ours.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetConsoleCtrlHandler(handler: Option<unsafe extern "system" fn(u32) -> i32>, add: i32) -> i32;
}

/// The handler; Windows calls it in its own thread. It passes the second interrupt on to the default handler,
/// which ends the process.
unsafe extern "system" fn note(event: u32) -> i32 {
    i32::from(INTERRUPTS.contains(&event) && CAUGHT.swap(SIGINT, Relaxed) == 0)
}

/// Installs the handler: the first Ctrl-C is kept for [`interrupted`], the second ends the process as usual.
pub fn catch_interrupts() {
    // SAFETY: the handler lives as long as the process and only swaps an atomic number.
    unsafe { SetConsoleCtrlHandler(Some(note), 1) };
}

/// Returns the signal received since [`catch_interrupts`] was called.
pub fn interrupted() -> Option<i32> {
    Some(CAUGHT.load(Relaxed)).filter(|&signal| signal != 0)
}
