//! A side's settings as socket options. Accepted connections inherit a listener's options (`sk_clone_lock`,
//! net/core/sock.c), so that accepting one needs no further call.

use crate::config::SideConfig;
use crate::error::ProxyError;
use kernel_cc::{Kernel, Loaded};
use linux::socket::{SocketOption, set_bytes, set_option, tcp_socket};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use units::Span;

/// Unanswered keep-alive probes that end a connection.
const KEEPALIVE_PROBES: u64 = 3;

/// Socket options, ready to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideOptions {
    list: Vec<(SocketOption, Vec<u8>)>,
}

/// The congestion controls of a proxy: the kernel's, and longfat's eBPF programs loaded for this process.
/// They stay loaded while this value lives.
#[derive(Default)]
pub struct ProxyControls {
    loaded: BTreeMap<String, Loaded>,
}

impl ProxyControls {
    /// Returns the kernel's name of a congestion control, and loads it if necessary; `key` is its
    /// configuration key.
    pub fn kernel_name(&mut self, name: &str, key: &str) -> Result<String, ProxyError> {
        let kernel = Kernel::now();
        if kernel.has(name) {
            return Ok(name.into());
        }
        if let Some(loaded) = self.loaded.get(name) {
            return Ok(loaded.kernel_name().into());
        }
        let refuse = |why: String| ProxyError::Setting { key: key.into(), why };
        if kernel_cc::find(name).is_none() {
            let available = kernel.available.join(", ");
            return Err(refuse(format!(
                "this kernel has no `{name}` (available: {available}; try modprobe tcp_{name})"
            )));
        }
        let loaded = Loaded::load(name, &[]).map_err(|e| refuse(e.to_string()))?;
        let kernel_name = loaded.kernel_name().to_string();
        self.loaded.insert(name.into(), loaded);
        Ok(kernel_name)
    }
}

impl SideOptions {
    /// Converts a side's settings; `key` is its configuration key.
    ///
    /// # Errors
    /// Fails if a congestion control is not available.
    pub fn of(side: &SideConfig, key: &str, controls: &mut ProxyControls) -> Result<SideOptions, ProxyError> {
        let mut list = Vec::new();
        let mut set = |option, value: u64| {
            let value = value.min(i32::MAX as u64) as i32;
            list.push((option, value.to_ne_bytes().to_vec()));
        };
        // The proxy writes complete blocks: Nagle's algorithm would only delay them.
        set(SocketOption::TCP_NODELAY, 1);
        if let Some(bytes) = side.send_buffer {
            set(SocketOption::SO_SNDBUF, bytes.get());
        }
        if let Some(bytes) = side.receive_buffer {
            set(SocketOption::SO_RCVBUF, bytes.get());
        }
        if let Some(bytes) = side.notsent_lowat {
            set(SocketOption::TCP_NOTSENT_LOWAT, bytes.get());
        }
        if let Some(time) = side.keep_alive {
            let seconds = |t: Span| (t.as_nanos() / 1_000_000_000).max(1);
            set(SocketOption::SO_KEEPALIVE, 1);
            set(SocketOption::TCP_KEEPIDLE, seconds(time));
            set(SocketOption::TCP_KEEPINTVL, seconds(time / KEEPALIVE_PROBES));
            set(SocketOption::TCP_KEEPCNT, KEEPALIVE_PROBES);
        }
        if let Some(rate) = side.pace {
            let bytes_per_second = (rate.as_bps() / 8).max(1);
            list.push((SocketOption::SO_MAX_PACING_RATE, bytes_per_second.to_ne_bytes().to_vec()));
        }
        if let Some(name) = &side.cc {
            let name = controls.kernel_name(name, &format!("{key}.cc"))?;
            list.push((SocketOption::TCP_CONGESTION, name.into_bytes()));
        }
        Ok(SideOptions { list })
    }

    /// Sets the options on a socket.
    pub fn apply(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.list.iter().try_for_each(|(option, value)| set_bytes(socket, *option, value))
    }

    /// Changes a socket from the options of `before` to these; options that are no longer set return to the
    /// system's default.
    ///
    /// # Errors
    /// Fails if a buffer size is no longer set, because the kernel never tunes such a buffer again, or if the
    /// kernel rejects an option.
    pub fn replace(&self, before: &SideOptions, socket: BorrowedFd<'_>) -> io::Result<()> {
        let unset = before.list.iter().filter(|(option, _)| !self.list.iter().any(|(o, _)| o == option));
        for &(option, _) in unset {
            match option {
                SocketOption::SO_KEEPALIVE => set_option(socket, option, 0)?,
                SocketOption::SO_MAX_PACING_RATE => set_bytes(socket, option, &u64::MAX.to_ne_bytes())?,
                SocketOption::TCP_CONGESTION => {
                    set_bytes(socket, option, Kernel::now().default.as_bytes())?;
                }
                // 0 means the sysctl's value (tcp_notsent_lowat, include/net/tcp.h).
                SocketOption::TCP_NOTSENT_LOWAT => set_option(socket, option, 0)?,
                SocketOption::SO_SNDBUF | SocketOption::SO_RCVBUF => {
                    return Err(io::Error::other("only a restart can unset a buffer size"));
                }
                _ => {}
            }
        }
        self.apply(socket)
    }

    /// Checks that the kernel accepts the options from the current user: some congestion controls are for
    /// root only.
    ///
    /// # Errors
    /// Fails with the first option that the kernel rejects.
    pub fn check_accepted(&self, key: &str) -> Result<(), ProxyError> {
        let socket = tcp_socket(false).map_err(ProxyError::Io)?;
        let socket = std::os::fd::AsFd::as_fd(&socket);
        for (option, value) in &self.list {
            let Err(e) = set_bytes(socket, *option, value) else { continue };
            let (key, why) = match *option {
                SocketOption::TCP_CONGESTION => (
                    format!("{key}.cc"),
                    format!(
                        "{}: {e} (sysctl net.ipv4.tcp_allowed_congestion_control lists those that need no CAP_NET_ADMIN)",
                        String::from_utf8_lossy(value)
                    ),
                ),
                _ => (key.into(), format!("socket option {}: {e}", option.number())),
            };
            return Err(ProxyError::Setting { key, why });
        }
        Ok(())
    }
}
