//! What keeps a control from being loaded.

use std::io;

/// Why a control was not loaded or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// This program was built for another system than Linux, or for a big-endian machine.
    #[error("this longfat has no eBPF programs built in: they are for Linux on little-endian machines")]
    NotBuiltIn,
    /// There is no eBPF program of that name.
    #[error(
        "longfat has no eBPF program called `{name}`; there are: {}",
        crate::REGISTRY.iter().map(|e| e.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// The program has no such parameter, or not with such a value.
    #[error("{why}")]
    Parameter {
        /// Which, and what would be right.
        why: String,
    },
    /// This process lacks capabilities (capabilities(7)).
    #[error(
        "missing {}: loading a congestion control into the kernel needs it (root has it, a root of a user namespace or \
         of most containers has not)",
        .missing.join(" and ")
    )]
    Capability {
        /// Those that are missing, e.g. `CAP_BPF`.
        missing: Vec<&'static str>,
    },
    /// The object file of a program cannot be used.
    #[error("this eBPF object cannot be loaded: {why}")]
    Object {
        /// What is wrong with it.
        why: String,
    },
    /// The kernel cannot run such programs.
    #[error("{why}")]
    Kernel {
        /// What it lacks, and what would do.
        why: String,
    },
    /// The kernel refused this program.
    #[error("the kernel refused the eBPF program of {name}: {why}{}", last_lines(.log))]
    Rejected {
        /// The control.
        name: String,
        /// What the kernel said.
        why: String,
        /// What the kernel's verifier told, as it told it.
        log: String,
    },
    /// The kernel already has a control of that name, and it is not longfat's.
    #[error("the kernel already has a congestion control {name} that longfat did not load")]
    Taken {
        /// The name in the kernel.
        name: String,
    },
    /// It is not loaded, so it cannot be unloaded.
    #[error("{name} is not loaded by longfat")]
    NotLoaded {
        /// The name.
        name: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
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

/// The end of a verifier's log, each line indented on a line of its own.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("\n  {line}")).collect()
}
