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
        let address = SocketAddr::from_abstract_name(format!("longfat-attach-{device}"));
        let address = address.map_err(ControlError::system("the device's lock"))?;
        let begin = Instant::now();
        loop {
            match UnixListener::bind_addr(&address) {
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && begin.elapsed() < MAX_WAIT => {
                    thread::sleep(RETRY);
                }
                bound => {
                    return bound
                        .map(|_socket| DeviceLock { _socket })
                        .map_err(ControlError::system("the device's lock"));
                }
            }
        }
    }
}
