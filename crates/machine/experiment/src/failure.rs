//! What keeps one run of an experiment from a result.

use crate::RunJob;
use std::fmt;
use std::io;

/// Why a run has no result, by cause.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The lab could not run it, or ended early.
    #[cfg(target_os = "linux")]
    Lab(lab::LabError),
    /// This system has no lab.
    NoLab,
    /// Its capture could not be written.
    Capture(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(target_os = "linux")]
            Failure::Lab(e) => e.fmt(f),
            Failure::NoLab => f.write_str(
                "this needs Linux: it runs on the kernel's own TCP, in network namespaces; --on sim works here",
            ),
            Failure::Capture(e) => write!(f, "its capture: {e}"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            #[cfg(target_os = "linux")]
            Failure::Lab(e) => Some(e),
            Failure::NoLab => None,
            Failure::Capture(e) => Some(e),
        }
    }
}

/// A run without a result.
#[derive(Debug)]
pub struct FailedRun {
    /// Which.
    pub job: RunJob,
    /// Its variant's name.
    pub variant: String,
    /// Why.
    pub failure: Failure,
}

impl fmt::Display for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}, repeat {}: {}",
            self.variant,
            self.job.clock.name(),
            self.job.repeat + 1,
            self.failure
        )
    }
}

impl std::error::Error for FailedRun {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.failure)
    }
}
