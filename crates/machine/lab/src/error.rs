//! Errors that keep a scenario from running on the kernel.

use std::io;

/// Why a scenario did not run on the kernel.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This process may not do what the lab needs.
    #[error("missing {missing}: {why}")]
    Permission {
        /// The missing privilege: `CAP_SYS_ADMIN`, `CAP_NET_ADMIN`, access to `/dev/net/tun`.
        missing: String,
        /// Why the privilege is needed, and what was tried instead.
        why: String,
    },
    /// The kernel does not support a setting of the scenario.
    #[error("{key}: not on the kernel: {why}")]
    Unsupported {
        /// The scenario's key.
        key: String,
        /// The reason, and what would work.
        why: String,
    },
    /// A congestion control is not available and cannot be loaded.
    #[error("{who}: congestion control {wanted}: {why}")]
    Congestion {
        /// The flow or relay that uses it: "flow bulk".
        who: String,
        /// The scenario's name of the congestion control.
        wanted: String,
        /// Why the congestion control is not available, and what would help.
        why: String,
    },
    /// This machine lacks programs: a line per program that names the scenario's key, and a line with the
    /// command that installs them.
    #[error("nothing was started: the scenario needs programs that are not installed{0}")]
    Programs(String),
    /// The program of a flow is missing, or failed before the run started.
    #[error("flow {flow}: {what}")]
    Program {
        flow: String,
        /// The program, and what happened.
        what: String,
    },
    /// A relay's program is missing, or does not run as configured.
    #[error("relay {relay}: {what}")]
    Relay {
        relay: String,
        /// The program, and what happened.
        what: String,
    },
    /// A host's daemons did not start.
    #[error("host {host}: {what}")]
    Service {
        host: String,
        /// The daemons, and their last output.
        what: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What the call was for.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A user's command could not be started.
    #[error("{name}: {}{}", start_failure(.source), parenthesised(.hint))]
    Command {
        /// The command's name, as the user wrote it.
        name: String,
        /// The kernel's error; "not found" if no folder of `PATH` contains it.
        source: io::Error,
        /// What would help.
        hint: Option<String>,
    },
    /// Programs cannot run as the requested user.
    #[error("{0}")]
    User(String),
    /// A thread of the run ended prematurely, so there is no measurement.
    #[error("{component} died during the run: {how}")]
    Died {
        /// The thread.
        component: String,
        how: String,
    },
    /// The caller stopped the run.
    #[error("stopped")]
    Stopped,
    /// The lab's child process ended prematurely.
    #[error("the lab's process was killed")]
    Killed,
}

impl LabError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
        let what = what.into();
        move |source| LabError::System { what, source }
    }

    /// Returns the exit code that shells use for a command that did not start: 127 not found, 126 not
    /// runnable. `None` for every other error.
    pub fn command_code(&self) -> Option<i32> {
        match self {
            LabError::Command { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(127),
            LabError::Command { .. } => Some(126),
            _ => None,
        }
    }

    pub(crate) fn unsupported(key: impl Into<String>, why: impl Into<String>) -> LabError {
        LabError::Unsupported { key: key.into(), why: why.into() }
    }
}

/// Describes why a command did not start, in the words of shells.
fn start_failure(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "command not found".into(),
        _ => format!("cannot be run: {source}"),
    }
}

fn parenthesised(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"))
}
