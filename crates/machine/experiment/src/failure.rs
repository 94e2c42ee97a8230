//! What keeps one run of an experiment from a result.

use crate::RunJob;
use std::io;

/// Why a run has no result, by cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The lab could not run it, or ended early.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Lab(#[source] lab::LabError),
    /// This system has no lab.
    #[error("this needs Linux: it runs on the kernel's own TCP, in network namespaces; --on sim works here")]
    NoLab,
    /// Its capture could not be written.
    #[error("its capture: {0}")]
    Capture(#[source] io::Error),
}

/// A run without a result.
#[derive(Debug, thiserror::Error)]
#[error("{variant}, {}, repeat {}: {failure}", .job.clock.name(), .job.repeat + 1)]
pub struct FailedRun {
    /// Which.
    pub job: RunJob,
    /// Its variant's name.
    pub variant: String,
    /// Why.
    #[source]
    pub failure: Failure,
}
