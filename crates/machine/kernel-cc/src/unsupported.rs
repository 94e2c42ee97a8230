//! Replaces the loader on systems other than Linux on little-endian machines; every call fails.

use crate::{ControlError, Done, Parameter};

/// A control of this process; never exists here.
#[derive(Debug)]
pub enum Loaded {}

impl Loaded {
    /// # Errors
    /// Always fails with [`ControlError::NotBuiltIn`].
    pub fn load(_: &str, _: &[(&str, u64)]) -> Result<Loaded, ControlError> {
        Err(ControlError::NotBuiltIn)
    }

    /// Returns the name for `TCP_CONGESTION`.
    pub fn kernel_name(&self) -> &str {
        match *self {}
    }
}

/// # Errors
/// Always fails with [`ControlError::NotBuiltIn`].
pub fn load_for_all(_: &str, _: &[(&str, u64)]) -> Result<Done, ControlError> {
    Err(ControlError::NotBuiltIn)
}

/// # Errors
/// Always fails with [`ControlError::NotBuiltIn`].
pub fn parameters(_: &str) -> Result<Vec<Parameter>, ControlError> {
    Err(ControlError::NotBuiltIn)
}

/// Always returns `None`.
pub fn parameters_of(_: &str) -> Option<Vec<Parameter>> {
    None
}
