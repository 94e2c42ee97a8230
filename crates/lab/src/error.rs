//! What keeps a scenario from running on the kernel.

use std::fmt;
use std::io;

/// Why a scenario did not run on the kernel.
#[derive(Debug)]
pub enum Error {
    /// This process may not do what the lab needs.
    Permission {
        /// What is missing: `CAP_SYS_ADMIN`, `CAP_NET_ADMIN`, access to `/dev/net/tun`.
        missing: String,
        /// What it is needed for and what was tried instead.
        why: String,
    },
    /// The kernel cannot do what the scenario says.
    Unsupported {
        /// The scenario's key.
        key: String,
        /// Why, and what would do.
        why: String,
    },
    /// The kernel has no such congestion control.
    Congestion {
        /// The one the scenario names.
        wanted: String,
        /// Those the kernel has now.
        available: Vec<String>,
    },
    /// A system call failed.
    System {
        /// What it was for.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The caller wanted it stopped.
    Stopped,
    /// The process or a thread that ran the lab ended before its time.
    Killed,
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::System { what, source }
    }

    pub(crate) fn unsupported(key: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Unsupported { key: key.into(), why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Permission { missing, why } => write!(f, "missing {missing}: {why}"),
            Error::Unsupported { key, why } => write!(f, "{key}: not on the kernel: {why}"),
            Error::Congestion { wanted, available } => write!(
                f,
                "this kernel has no congestion control {wanted}; it has {} (more: modprobe tcp_{wanted})",
                available.join(", ")
            ),
            Error::System { what, source } => write!(f, "{what}: {source}"),
            Error::Stopped => f.write_str("stopped"),
            Error::Killed => f.write_str("the lab's process was killed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
