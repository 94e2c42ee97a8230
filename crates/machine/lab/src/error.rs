//! What keeps a scenario from running on the kernel.

use std::fmt;
use std::io;

/// Why a scenario did not run on the kernel.
#[derive(Debug)]
pub enum LabError {
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
    /// The kernel has no such congestion control, and cannot be given it.
    Congestion {
        /// Who wants it: "flow bulk".
        who: String,
        /// The one the scenario names.
        wanted: String,
        /// Why it cannot be had, and what would do.
        why: String,
    },
    /// A program that plays a flow is not there or failed before the run began.
    Program {
        /// The flow.
        flow: String,
        /// Which, and what became of it.
        what: String,
    },
    /// A relay's program is not there, or does not run as the scenario has it.
    Relay {
        /// The relay.
        relay: String,
        /// Which, and what became of it.
        what: String,
    },
    /// A host's daemons did not come up.
    Service {
        /// The host.
        host: String,
        /// Which, and what they said last.
        what: String,
    },
    /// A system call failed.
    System {
        /// What it was for.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A user's command could not be started.
    Command {
        /// Its name, as the user wrote it.
        name: String,
        /// What the kernel said; "not found" where no folder of `PATH` has it.
        source: io::Error,
        /// What would do.
        hint: Option<String>,
    },
    /// Programs cannot run as whom they were to.
    User(String),
    /// The caller wanted it stopped.
    Stopped,
    /// The process or a thread that ran the lab ended before its time.
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

fn in_brackets(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"))
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::Permission { missing, why } => write!(f, "missing {missing}: {why}"),
            LabError::Unsupported { key, why } => write!(f, "{key}: not on the kernel: {why}"),
            LabError::Congestion { who, wanted, why } => {
                write!(f, "{who}: congestion control {wanted}: {why}")
            }
            LabError::Program { flow, what } => write!(f, "flow {flow}: {what}"),
            LabError::Relay { relay, what } => write!(f, "relay {relay}: {what}"),
            LabError::Service { host, what } => write!(f, "host {host}: {what}"),
            LabError::System { what, source } => write!(f, "{what}: {source}"),
            LabError::Command { name, hint, .. } if self.command_code() == Some(127) => {
                write!(f, "{name}: command not found{}", in_brackets(hint))
            }
            LabError::Command { name, source, hint } => {
                write!(f, "{name}: cannot be run: {source}{}", in_brackets(hint))
            }
            LabError::User(why) => f.write_str(why),
            LabError::Stopped => f.write_str("stopped"),
            LabError::Killed => f.write_str("the lab's process was killed"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LabError::System { source, .. } | LabError::Command { source, .. } => Some(source),
            _ => None,
        }
    }
}
