//! Errors of a single run of an experiment.

use crate::RunJob;
use std::io;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The lab could not run it, or the run ended early.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Lab(#[source] lab::LabError),
    /// This system has no lab.
    #[error("this needs Linux: it runs on the kernel's own TCP, in network namespaces; --on sim works here")]
    NoLab,
    /// The capture could not be written.
    #[error("writing the capture: {0}")]
    Capture(#[source] io::Error),
}

/// A run that failed.
#[derive(Debug, thiserror::Error)]
#[error("{variant}, {}, repeat {}: {failure}", .job.clock.name(), .job.repeat + 1)]
pub struct FailedRun {
    pub job: RunJob,
    /// The name of the run's variant.
    pub variant: String,
    /// The error.
    #[source]
    pub failure: Failure,
}
