//! A folder that work goes on in, held until it is closed.

use crate::errors::{of_command, raise};
use app::CommandError;
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The folder of `F`, which nobody else writes to until then.
pub struct HeldFolder<F> {
    held: Mutex<Option<F>>,
    /// Where it is.
    pub path: PathBuf,
    /// What is said of it when it is closed.
    closed: &'static str,
}

impl<F: Send> HeldFolder<F> {
    pub fn new(folder: F, path: PathBuf, closed: &'static str) -> HeldFolder<F> {
        HeldFolder { held: Mutex::new(Some(folder)), path, closed }
    }

    /// Works in it, without the interpreter's lock.
    pub fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut F) -> io::Result<T> + Send,
    ) -> PyResult<T> {
        let locked = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match py.detach(|| locked().as_mut().map(work)) {
            Some(Ok(done)) => Ok(done),
            Some(Err(e)) => Err(of_command(py, CommandError::Io(self.path.display().to_string(), e))),
            None => Err(raise(py, "UsageError", self.closed)),
        }
    }

    /// Lets go of it.
    pub fn close(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
