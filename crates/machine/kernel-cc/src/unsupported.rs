//! What stands for the loader on other systems than Linux on little-endian machines: it says so.

use crate::{ControlError, Done, Parameter};

/// A control of this process's own; here there is none.
#[derive(Debug)]
pub enum Loaded {}

impl Loaded {
    /// # Errors
    /// Always [`ControlError::NotBuiltIn`].
    pub fn load(_: &str, _: &[(&str, u64)]) -> Result<Loaded, ControlError> {
        Err(ControlError::NotBuiltIn)
    }

    /// What `TCP_CONGESTION` knows it by.
    pub fn kernel_name(&self) -> &str {
        match *self {}
    }
}

/// # Errors
/// Always [`ControlError::NotBuiltIn`].
pub fn load_for_all(_: &str, _: &[(&str, u64)]) -> Result<Done, ControlError> {
    Err(ControlError::NotBuiltIn)
}

/// # Errors
/// Always [`ControlError::NotBuiltIn`].
pub fn parameters(_: &str) -> Result<Vec<Parameter>, ControlError> {
    Err(ControlError::NotBuiltIn)
}

/// What cannot be read here: `None`.
pub fn parameters_of(_: &str) -> Option<Vec<Parameter>> {
    None
}
