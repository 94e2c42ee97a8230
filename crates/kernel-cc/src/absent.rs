//! What stands for the loader on other systems than Linux on little-endian machines: it says so.

use crate::{Done, Error, Parameter};

/// A control of this process's own; here there is none.
#[derive(Debug)]
pub enum Loaded {}

impl Loaded {
    /// # Errors
    /// Always [`Error::NotBuiltIn`].
    pub fn load(_: &str, _: &[(&str, u64)]) -> Result<Loaded, Error> {
        Err(Error::NotBuiltIn)
    }

    /// What `TCP_CONGESTION` knows it by.
    pub fn kernel_name(&self) -> &str {
        match *self {}
    }
}

/// # Errors
/// Always [`Error::NotBuiltIn`].
pub fn load_for_all(_: &str, _: &[(&str, u64)]) -> Result<Done, Error> {
    Err(Error::NotBuiltIn)
}

/// # Errors
/// Always [`Error::NotBuiltIn`].
pub fn parameters(_: &str) -> Result<Vec<Parameter>, Error> {
    Err(Error::NotBuiltIn)
}

/// What cannot be read here: `None`.
pub fn parameters_of(_: &str) -> Option<Vec<Parameter>> {
    None
}
