//! What keeps a scenario from running on the kernel.

use std::io;

/// Why a scenario did not run on the kernel.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This process may not do what the lab needs.
    #[error("missing {missing}: {why}")]
    Permission {
        /// What is missing: `CAP_SYS_ADMIN`, `CAP_NET_ADMIN`, access to `/dev/net/tun`.
        missing: String,
        /// What it is needed for and what was tried instead.
        why: String,
    },
    /// The kernel cannot do what the scenario says.
    #[error("{key}: not on the kernel: {why}")]
    Unsupported {
        /// The scenario's key.
        key: String,
        /// Why, and what would do.
        why: String,
    },
    /// The kernel has no such congestion control, and cannot be given it.
    #[error("{who}: congestion control {wanted}: {why}")]
    Congestion {
        /// Who wants it: "flow bulk".
        who: String,
        /// The one the scenario names.
        wanted: String,
        /// Why it cannot be had, and what would do.
        why: String,
    },
    /// This machine lacks programs: a line for each that names the scenario's key, and one with what installs them.
    #[error("nothing was started: this machine lacks programs that the scenario needs{0}")]
    Programs(String),
    /// A program that plays a flow is not there or failed before the run began.
    #[error("flow {flow}: {what}")]
    Program {
        /// The flow.
        flow: String,
        /// Which, and what became of it.
        what: String,
    },
    /// A relay's program is not there, or does not run as the scenario has it.
    #[error("relay {relay}: {what}")]
    Relay {
        /// The relay.
        relay: String,
        /// Which, and what became of it.
        what: String,
    },
    /// A host's daemons did not come up.
    #[error("host {host}: {what}")]
    Service {
        /// The host.
        host: String,
        /// Which, and what they said last.
        what: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What it was for.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A user's command could not be started.
    #[error("{name}: {}{}", not_started(.source), in_brackets(.hint))]
    Command {
        /// Its name, as the user wrote it.
        name: String,
        /// What the kernel said; "not found" where no folder of `PATH` has it.
        source: io::Error,
        /// What would do.
        hint: Option<String>,
    },
    /// Programs cannot run as whom they were to.
    #[error("{0}")]
    User(String),
    /// A thread of the run ended before its time, without which there is no measurement.
    #[error("{component} died during the run: {how}")]
    Died {
        /// Which.
        component: String,
        /// How it ended.
        how: String,
    },
    /// The caller wanted it stopped.
    #[error("stopped")]
    Stopped,
    /// The process that ran the lab ended before its time.
    #[error("the lab's process was killed")]
    Killed,
}

impl LabError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
        let what = what.into();
        move |source| LabError::System { what, source }
    }

    /// The exit code that shells give a command that did not start: 127 not found, 126 not runnable.
    /// `None` for every other error.
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

/// Why a command did not start, as shells say it.
fn not_started(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "command not found".into(),
        _ => format!("cannot be run: {source}"),
    }
}

fn in_brackets(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"))
}
