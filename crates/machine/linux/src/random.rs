//! Random bytes that no one can predict (getrandom(2)).

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// Fills the buffer, waiting until the kernel's generator has been seeded.
///
/// # Errors
/// Fails with the system's error.
pub fn fill(buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match getrandom(&mut buffer[filled..], GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
