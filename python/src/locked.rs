//! A folder that is locked until it is closed.

use crate::errors::{from_command_error, raise};
use app::CommandError;
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The locked folder of `F`: nothing else writes to it until it is closed.
pub struct LockedFolder<F> {
    held: Mutex<Option<F>>,
    pub path: PathBuf,
    /// Error message for use after closing.
    closed: &'static str,
}

impl<F: Send> LockedFolder<F> {
    pub fn new(folder: F, path: PathBuf, closed: &'static str) -> LockedFolder<F> {
        LockedFolder { held: Mutex::new(Some(folder)), path, closed }
    }

    /// Works in the folder with Python's lock released.
    pub fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut F) -> io::Result<T> + Send,
    ) -> PyResult<T> {
        let locked = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match py.detach(|| locked().as_mut().map(work)) {
            Some(Ok(done)) => Ok(done),
            Some(Err(e)) => Err(from_command_error(py, CommandError::Io(self.path.display().to_string(), e))),
            None => Err(raise(py, "UsageError", self.closed)),
        }
    }

    /// Unlocks the folder.
    pub fn close(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
