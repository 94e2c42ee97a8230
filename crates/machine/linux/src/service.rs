//! Sockets that systemd passes (sd_listen_fds(3)), and notifications of readiness (sd_notify(3)), without its
//! library.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use std::collections::BTreeMap;
use std::env;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The first passed descriptor (SD_LISTEN_FDS_START).
const FIRST_DESCRIPTOR: i32 = 3;
/// Whether the descriptors have been taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the passed sockets, by name. Call it once, at the start, before other descriptors are opened; later
/// calls return none.
pub fn passed_sockets() -> BTreeMap<String, Vec<OwnedFd>> {
    let mut all: BTreeMap<String, Vec<OwnedFd>> = BTreeMap::new();
    let number = |name: &str| env::var(name).ok()?.parse::<i64>().ok();
    if number("LISTEN_PID") != Some(std::process::id().into()) || TAKEN.swap(true, Relaxed) {
        return all;
    }
    let count = number("LISTEN_FDS").unwrap_or(0).clamp(0, 4096) as i32;
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    for (i, name) in (0..count).zip(names.split(':').chain(std::iter::repeat("unknown"))) {
        // SAFETY: LISTEN_PID is this process: systemd has opened this many descriptors for it, starting at
        // this number. They have no other owner here, and TAKEN ensures that each is taken once.
        if let Ok(socket) = unsafe { inherited(FIRST_DESCRIPTOR + i) } {
            all.entry(name.into()).or_default().push(socket);
        }
    }
    all
}

/// Takes a descriptor passed by systemd. Non-blocking, closed on exec.
///
/// # Safety
/// If it is open, it must have no owner in this process.
unsafe fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: it is used here only; one that is not open is refused by the first call.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
    // SAFETY: it is open, as the calls did not fail, and has no other owner, as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Notifies systemd, if it listens: `READY=1`, `RELOADING=1`, `STOPPING=1`.
pub fn notify(state: &str) {
    let Ok(path) = env::var("NOTIFY_SOCKET") else { return };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let sent = match path.strip_prefix('@') {
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name);
            address.and_then(|address| socket.send_to_addr(state.as_bytes(), &address))
        }
        None => socket.send_to(state.as_bytes(), &path),
    };
    // Ignore errors: systemd may have gone.
    drop(sent);
}
