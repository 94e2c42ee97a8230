//! A side's settings as socket options. What a listener has its connections inherit (`sk_clone_lock`, net/core/sock.c), so that
//! accepting one costs no call for any of them.

use crate::config::SideConfig;
use crate::error::ProxyError;
use kernel_cc::{Kernel, Loaded};
use linux::socket::{SocketOption, set_bytes, set_option, tcp_socket};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use units::Span;

/// Probes that go unanswered before a connection counts as dead.
const PROBES: u64 = 3;

/// Options, ready to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideOptions {
    list: Vec<(SocketOption, Vec<u8>)>,
}

/// The congestion controls of a proxy: the kernel's, and longfat's eBPF programs loaded for this process. They stay loaded as
/// long as this lives.
#[derive(Default)]
pub struct ProxyControls {
    loaded: BTreeMap<String, Loaded>,
}

impl ProxyControls {
    /// What the kernel calls this control, loaded if it has to be; `key` is where it is set.
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
            let has = kernel.available.join(", ");
            return Err(refuse(format!(
                "this kernel has no `{name}`; it has {has} (more: modprobe tcp_{name})"
            )));
        }
        let loaded = Loaded::load(name, &[]).map_err(|e| refuse(e.to_string()))?;
        let kernel_name = loaded.kernel_name().to_string();
        self.loaded.insert(name.into(), loaded);
        Ok(kernel_name)
    }
}

impl SideOptions {
    /// Of a side; `key` is where it stands in the configuration.
    ///
    /// # Errors
    /// A congestion control that cannot be had.
    pub fn of(side: &SideConfig, key: &str, controls: &mut ProxyControls) -> Result<SideOptions, ProxyError> {
        let mut list = Vec::new();
        let mut set = |option, value: u64| {
            let value = value.min(i32::MAX as u64) as i32;
            list.push((option, value.to_ne_bytes().to_vec()));
        };
        // A proxy's writes are whole as they come: Nagle's algorithm would only wait.
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
            set(SocketOption::TCP_KEEPINTVL, seconds(time / PROBES));
            set(SocketOption::TCP_KEEPCNT, PROBES);
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

    /// Sets them.
    pub fn apply(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.list.iter().try_for_each(|(option, value)| set_bytes(socket, *option, value))
    }

    /// Sets them on a socket that has those of `before`: what is no longer set becomes the system's again.
    ///
    /// # Errors
    /// A buffer's size that is no longer set: the kernel tunes such a buffer never again; or what it does not take.
    pub fn replace(&self, before: &SideOptions, socket: BorrowedFd<'_>) -> io::Result<()> {
        let gone = before.list.iter().filter(|(option, _)| !self.list.iter().any(|(o, _)| o == option));
        for &(option, _) in gone {
            match option {
                SocketOption::SO_KEEPALIVE => set_option(socket, option, 0)?,
                SocketOption::SO_MAX_PACING_RATE => set_bytes(socket, option, &u64::MAX.to_ne_bytes())?,
                SocketOption::TCP_CONGESTION => {
                    set_bytes(socket, option, Kernel::now().default.as_bytes())?;
                }
                // 0: the sysctl's (tcp_notsent_lowat, include/net/tcp.h).
                SocketOption::TCP_NOTSENT_LOWAT => set_option(socket, option, 0)?,
                SocketOption::SO_SNDBUF | SocketOption::SO_RCVBUF => {
                    return Err(io::Error::other("a buffer's size can be unset by a restart only"));
                }
                _ => {}
            }
        }
        self.apply(socket)
    }

    /// That the kernel takes them, as the user that the proxy runs as by then: a control may be for root alone.
    ///
    /// # Errors
    /// The option that it does not take.
    pub fn try_out(&self, key: &str) -> Result<(), ProxyError> {
        let socket = tcp_socket(false).map_err(ProxyError::Io)?;
        let socket = std::os::fd::AsFd::as_fd(&socket);
        for (option, value) in &self.list {
            let Err(e) = set_bytes(socket, *option, value) else { continue };
            let (key, why) = match *option {
                SocketOption::TCP_CONGESTION => (
                    format!("{key}.cc"),
                    format!(
                        "{}: {e} (sysctl net.ipv4.tcp_allowed_congestion_control says which need no CAP_NET_ADMIN)",
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
