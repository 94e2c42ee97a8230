//! An instance that belongs to this process alone.

use crate::kernel::Kernel;
use crate::load::Registered;
use crate::object::Opened;
use crate::{ControlError, object_of};

/// A control under a name of this process's own, with parameters of its own. It leaves the
/// kernel's list when this is dropped and when the process ends, however it ends; sockets that use
/// it keep it until they close.
#[derive(Debug)]
pub struct Loaded {
    name: String,
    _registered: Registered,
}

impl Loaded {
    /// Loads the eBPF program of the control `name` (see [`crate::REGISTRY`]) with these parameters.
    /// Unprivileged programs may choose it.
    ///
    /// # Errors
    /// What is missing, unknown or was refused.
    pub fn load(name: &str, parameters: &[(&str, u64)]) -> Result<Loaded, ControlError> {
        Loaded::of(name, object_of(name)?, parameters)
    }

    /// The same of an object file that is not in the registry.
    ///
    /// # Errors
    /// As of [`Loaded::load`].
    pub fn of(name: &str, object: &[u8], parameters: &[(&str, u64)]) -> Result<Loaded, ControlError> {
        let mut opened = Opened::new(name, object)?;
        opened.set(parameters)?;
        let mut from = 0;
        loop {
            let (kernel_name, n) = Kernel::now().free_name(name, std::process::id(), from);
            match opened.load(&kernel_name)?.register() {
                // A process of the same number in another namespace, or a thread of ours, was faster.
                Err(ControlError::Taken { .. }) => from = n + 1,
                Err(e) => return Err(e),
                Ok(registered) => return Ok(Loaded { name: kernel_name, _registered: registered }),
            }
        }
    }

    /// What `TCP_CONGESTION` knows it by.
    pub fn kernel_name(&self) -> &str {
        &self.name
    }
}
