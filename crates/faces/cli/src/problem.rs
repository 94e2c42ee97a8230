//! Errors that end the program, mostly with exit code 2.

use crate::escape::value;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use app::CommandError;
use experiment::Failure;
use scenario::DocumentError;
use std::io;

/// Why nothing was run, or results could not be written. Displayed as whole lines.
#[derive(Debug, thiserror::Error)]
pub enum CliProblem {
    #[error("{}", command_lines(.0))]
    Command(#[from] CommandError),
    #[error("error: {0}\n")]
    Lab(Box<lab::LabError>),
    /// A congestion control could not be loaded or unloaded.
    #[error("error: {0}\n")]
    Control(#[from] kernel_cc::ControlError),
    /// The configuration of a proxy is missing or wrong.
    #[error("{0}")]
    Proxy(#[from] proxy::ConfigError),
}

impl CliProblem {
    /// An error in a scenario.
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

    /// Wrong arguments; `text` says what would be right.
    pub fn usage(text: String) -> CliProblem {
        CliProblem::Command(CommandError::Usage(text))
    }

    /// The error of a failed run whose captures go to `folder`.
    pub fn of_run(failure: Failure, folder: String) -> CliProblem {
        match failure {
            Failure::Capture(e) => CliProblem::io(folder, e),
            #[cfg(target_os = "linux")]
            Failure::Lab(e) => CliProblem::Lab(Box::new(e)),
            other => CliProblem::usage(other.to_string()),
        }
    }

    /// Returns 2, with two exceptions: 127 or 126, as in shells, for a command that could not be started; 1
    /// for a congestion control that is not loaded.
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
