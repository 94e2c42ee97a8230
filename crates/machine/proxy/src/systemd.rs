//! What systemd hands over and wants to hear: sockets (sd_listen_fds(3)) and readiness (sd_notify(3)), without its library.

use crate::sys;
use std::collections::BTreeMap;
use std::env;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;

/// The first descriptor that is handed over (SD_LISTEN_FDS_START).
const FIRST: i32 = 3;

/// The sockets that were handed over, by name; to be called once, at the beginning, before other descriptors are opened.
pub fn handed_over() -> BTreeMap<String, Vec<OwnedFd>> {
    let mut all: BTreeMap<String, Vec<OwnedFd>> = BTreeMap::new();
    let number = |name: &str| env::var(name).ok()?.parse::<i64>().ok();
    if number("LISTEN_PID") != Some(std::process::id().into()) {
        return all;
    }
    let count = number("LISTEN_FDS").unwrap_or(0).clamp(0, 4096) as i32;
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    for (i, name) in (0..count).zip(names.split(':').chain(std::iter::repeat("unknown"))) {
        // SAFETY: LISTEN_PID is this process: the service manager has opened so many descriptors for it, from this number on,
        // and this is the one place that takes them.
        #[allow(unsafe_code)]
        if let Ok(socket) = unsafe { sys::inherited(FIRST + i) } {
            all.entry(name.into()).or_default().push(socket);
        }
    }
    all
}

/// Tells the service manager, if there is one that listens: `READY=1`, `RELOADING=1`, `STOPPING=1`.
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
    // A manager that is gone need not know.
    drop(sent);
}
