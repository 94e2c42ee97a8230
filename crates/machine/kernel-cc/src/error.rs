//! Errors of loading and unloading congestion controls.

use std::io;

/// A congestion control was not loaded or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// This program was built for another system than Linux, or for a big-endian machine.
    #[error("this longfat has no eBPF programs built in: they are for Linux on little-endian machines")]
    NotBuiltIn,
    /// longfat has no eBPF program of this name.
    #[error(
        "longfat has no eBPF program called `{name}`; available: {}",
        crate::REGISTRY.iter().map(|e| e.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown { name: String },
    /// The program lacks a parameter, or its value is invalid.
    #[error("{why}")]
    Parameter {
        /// The parameter, and what would be valid.
        why: String,
    },
    /// This process lacks capabilities (capabilities(7)).
    #[error(
        "missing {}: loading eBPF programs into the kernel needs it (run as root, outside of user namespaces and \
         most containers)",
        .missing.join(" and ")
    )]
    Capability {
        /// The missing capabilities, for example `CAP_BPF`.
        missing: Vec<&'static str>,
    },
    /// The object file of a program is invalid.
    #[error("this eBPF object cannot be loaded: {why}")]
    Object {
        /// The problem.
        why: String,
    },
    /// The kernel does not support such programs.
    #[error("{why}")]
    Kernel {
        /// What the kernel lacks, and what would help.
        why: String,
    },
    /// What others have set up on a network device leaves no place for programs.
    #[error("{why}")]
    Device {
        /// What is in the way, and what would help.
        why: String,
    },
    /// The kernel rejected this program.
    #[error("the kernel rejected the eBPF program of {name}: {why}{}", last_lines(.log))]
    Rejected {
        /// The control's name.
        name: String,
        /// The kernel's error.
        why: String,
        /// The verifier's log, unchanged.
        log: String,
    },
    /// The kernel already has a control of this name, and it is not longfat's.
    #[error("the kernel already has a congestion control {name} that longfat did not load")]
    Taken {
        /// The kernel's name.
        name: String,
    },
    /// The control cannot be unloaded, because it is not loaded.
    #[error("{name} is not loaded by longfat")]
    NotLoaded { name: String },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What the call was for.
        what: String,
        /// The kernel's error.
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

/// Lines of a verifier's log that are shown; the last ones contain the reason.
const MAX_LOG_LINES: usize = 40;

/// Returns the end of a verifier's log, each line indented.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(MAX_LOG_LINES)..].iter().map(|line| format!("\n  {line}")).collect()
}
