//! One longfat at a time changes what is attached to a device.

use crate::ControlError;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::{Duration, Instant};

/// How long another longfat is waited for: what it does takes some milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(5);

/// A lock on a device of the calling thread's namespace: an abstract Unix socket (unix(7)), whose names
/// belong to the network namespace, and which ends with its process. As long as it is held it also keeps the
/// namespace alive.
pub struct DeviceLock {
    _socket: UnixListener,
}

impl DeviceLock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// Fails if another process holds it for too long.
    pub fn take(device: u32) -> Result<DeviceLock, ControlError> {
        let name = format!("longfat-attach-{device}");
        let failed = ControlError::system("the device's lock");
        let address = match SocketAddr::from_abstract_name(&name) {
            Ok(address) => address,
            Err(e) => return Err(failed(e)),
        };
        let begin = Instant::now();
        loop {
            match UnixListener::bind_addr(&address) {
                Ok(_socket) => return Ok(DeviceLock { _socket }),
                Err(e) if e.kind() != io::ErrorKind::AddrInUse => return Err(failed(e)),
                Err(_) if begin.elapsed() >= MAX_WAIT => {
                    let why = format!("another longfat is busy with it (it has the Unix socket @{name})");
                    return Err(ControlError::Device { why });
                }
                Err(_) => thread::sleep(RETRY),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_changed_by_one_at_a_time() {
        // Not the number of a device.
        let device = u32::MAX - std::process::id();
        let lock = DeviceLock::take(device).ok().unwrap();
        let other = thread::spawn(move || DeviceLock::take(device).is_ok());
        drop(lock);
        assert!(other.join().unwrap(), "it is waited for");
        let _lock = DeviceLock::take(device).ok().unwrap();
        assert!(DeviceLock::take(device + 1).is_ok(), "another device");
    }
}
