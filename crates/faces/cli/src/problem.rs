//! What ends the program early, mostly with exit code 2.

use crate::escape::value;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use app::CommandError;
use experiment::Failure;
use scenario::DocumentError;
use std::io;

/// Why nothing was run, or what it yielded could not be kept. Displayed as whole lines.
#[derive(Debug, thiserror::Error)]
pub enum CliProblem {
    /// A command has no answer.
    #[error("{}", command_lines(.0))]
    Command(#[from] CommandError),
    /// The lab did not run it.
    #[error("error: {0}\n")]
    Lab(Box<lab::LabError>),
    /// A congestion control was not loaded or unloaded.
    #[error("error: {0}\n")]
    Control(#[from] kernel_cc::ControlError),
    /// There is no configuration of a proxy.
    #[error("{0}")]
    Proxy(#[from] proxy::ConfigError),
}

impl CliProblem {
    /// A scenario is wrong.
    pub fn scenario(e: Box<DocumentError>) -> CliProblem {
        CliProblem::Command(CommandError::Scenario(e))
    }

    /// A file or folder could not be read or written.
    pub fn io(name: String, e: io::Error) -> CliProblem {
        CliProblem::Command(CommandError::Io(name, e))
    }

    /// The result in `place` cannot be read.
    pub fn result(place: String, why: String) -> CliProblem {
        CliProblem::Command(CommandError::Result(place, why))
    }

    /// The arguments do not fit; `text` says what would be right.
    pub fn usage(text: String) -> CliProblem {
        CliProblem::Command(CommandError::Usage(text))
    }

    /// A run's; its captures were to lie in `folder`.
    pub fn of_run(failure: Failure, folder: String) -> CliProblem {
        match failure {
            Failure::Capture(e) => CliProblem::io(folder, e),
            #[cfg(target_os = "linux")]
            Failure::Lab(e) => CliProblem::Lab(Box::new(e)),
            other => CliProblem::usage(other.to_string()),
        }
    }

    /// 2; for a command that did not start what shells say: 127 or 126; 1 for what is not loaded.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliProblem::Lab(e) => e.command_code().map_or(2, |code| code as u8),
            CliProblem::Control(kernel_cc::ControlError::NotLoaded { .. }) => 1,
            _ => 2,
        }
    }
}

fn command_lines(e: &CommandError) -> String {
    match e {
        CommandError::Scenario(e) => e.render(),
        CommandError::Result(what, why) => format!("error: {}: {}\n", value(what), value(why)),
        CommandError::Io(what, e) => format!("error: {}: {e}\n", value(what)),
        CommandError::Usage(text) => format!("error: {text}\n"),
    }
}
