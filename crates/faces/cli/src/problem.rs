//! What ends the program early, mostly with exit code 2.

use crate::escape::value;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use app::CommandError;
use experiment::Failure;
use scenario::ScenarioError;
use std::fmt;
use std::io;

/// Why nothing was run, or what it yielded could not be kept. Displayed as whole lines.
#[derive(Debug)]
pub enum CliProblem {
    /// The scenario is wrong.
    Scenario(Box<ScenarioError>),
    /// A file or folder, named, and what went wrong with it.
    Io(String, io::Error),
    /// A result that cannot be read: where, and why.
    Result(String, String),
    /// Arguments that do not fit; says what would be right.
    Usage(String),
    /// The lab did not run it.
    Lab(Box<lab::LabError>),
    /// A congestion control was not loaded or unloaded.
    Control(kernel_cc::ControlError),
}

impl From<kernel_cc::ControlError> for CliProblem {
    fn from(e: kernel_cc::ControlError) -> CliProblem {
        CliProblem::Control(e)
    }
}

impl From<CommandError> for CliProblem {
    fn from(e: CommandError) -> CliProblem {
        match e {
            CommandError::Scenario(e) => CliProblem::Scenario(e),
            CommandError::Io(what, e) => CliProblem::Io(what, e),
            CommandError::Result(what, why) => CliProblem::Result(what, why),
            CommandError::Usage(text) => CliProblem::Usage(text),
        }
    }
}

impl CliProblem {
    /// A run's; its captures were to lie in `folder`.
    pub fn of_run(failure: Failure, folder: String) -> CliProblem {
        match failure {
            Failure::Capture(e) => CliProblem::Io(folder, e),
            #[cfg(target_os = "linux")]
            Failure::Lab(e) => CliProblem::Lab(Box::new(e)),
            other => CliProblem::Usage(other.to_string()),
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

impl fmt::Display for CliProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliProblem::Scenario(e) => f.write_str(&e.render()),
            CliProblem::Result(what, why) => writeln!(f, "error: {}: {}", value(what), value(why)),
            CliProblem::Io(what, e) => writeln!(f, "error: {}: {e}", value(what)),
            CliProblem::Lab(e) => writeln!(f, "error: {e}"),
            CliProblem::Control(e) => writeln!(f, "error: {e}"),
            CliProblem::Usage(text) => writeln!(f, "error: {text}"),
        }
    }
}
