//! What keeps a control from being loaded.

use std::fmt;
use std::io;

/// Why a control was not loaded or unloaded.
#[derive(Debug)]
pub enum ControlError {
    /// This program was built for another system than Linux, or for a big-endian machine.
    NotBuiltIn,
    /// There is no eBPF program of that name.
    Unknown {
        /// The name.
        name: String,
    },
    /// The program has no such parameter, or not with such a value.
    Parameter {
        /// Which, and what would be right.
        why: String,
    },
    /// This process lacks capabilities (capabilities(7)).
    Capability {
        /// Those that are missing, e.g. `CAP_BPF`.
        missing: Vec<&'static str>,
    },
    /// The object file of a program cannot be used.
    Object {
        /// What is wrong with it.
        why: String,
    },
    /// The kernel cannot run such programs.
    Kernel {
        /// What it lacks, and what would do.
        why: String,
    },
    /// The kernel refused this program.
    Rejected {
        /// The control.
        name: String,
        /// What the kernel said.
        why: String,
        /// What the kernel's verifier told, as it told it.
        log: String,
    },
    /// The kernel already has a control of that name, and it is not longfat's.
    Taken {
        /// The name in the kernel.
        name: String,
    },
    /// It is not loaded, so it cannot be unloaded.
    NotLoaded {
        /// The name.
        name: String,
    },
    /// A system call failed.
    System {
        /// What it was for.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl ControlError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> ControlError {
        let what = what.into();
        move |source| ControlError::System { what, source }
    }

    pub(crate) fn object(why: impl Into<String>) -> ControlError {
        ControlError::Object { why: why.into() }
    }
}

/// Lines of a verifier's log that are shown; the last ones tell the reason.
const LINES: usize = 40;

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::NotBuiltIn => f.write_str(
                "this longfat has no eBPF programs built in: they are for Linux on little-endian machines",
            ),
            ControlError::Unknown { name } => {
                let known: Vec<&str> = crate::REGISTRY.iter().map(|e| e.name).collect();
                write!(f, "longfat has no eBPF program called `{name}`; there are: {}", known.join(", "))
            }
            ControlError::Object { why } => write!(f, "this eBPF object cannot be loaded: {why}"),
            ControlError::Parameter { why } | ControlError::Kernel { why } => f.write_str(why),
            ControlError::Capability { missing } => write!(
                f,
                "missing {}: loading a congestion control into the kernel needs it (root has it, a root of a \
                 user namespace or of most containers has not)",
                missing.join(" and ")
            ),
            ControlError::Rejected { name, why, log } => {
                write!(f, "the kernel refused the eBPF program of {name}: {why}")?;
                let lines: Vec<&str> = log.lines().collect();
                let from = lines.len().saturating_sub(LINES);
                lines[from..].iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
            ControlError::Taken { name } => {
                write!(f, "the kernel already has a congestion control {name} that longfat did not load")
            }
            ControlError::NotLoaded { name } => write!(f, "{name} is not loaded by longfat"),
            ControlError::System { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for ControlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ControlError::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
