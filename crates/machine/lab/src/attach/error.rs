//! Errors of attaching a path.

use crate::LabError;
use kernel_cc::ControlError;

/// Why no path was attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// What is to be led through a path does not exist, is not suitable or is in use.
    #[error("{target}: {why}")]
    Target {
        /// As the user named it.
        target: String,
        /// The reason, and what would work.
        why: String,
    },
    /// The scenario has no such link.
    #[error("#{link}: there is no such link; the scenario has {}", .links.join(", "))]
    Link {
        link: String,
        /// Names of the scenario's links.
        links: Vec<String>,
    },
    /// The self-test did not show the path that was asked for.
    #[error("the self-test failed, so nothing was led through the path: {0}")]
    Unproven(String),
    /// The programs were not loaded or attached.
    #[error("{0}")]
    Programs(#[from] ControlError),
    /// The engine or a system call failed.
    #[error("{0}")]
    Lab(#[from] LabError),
}
