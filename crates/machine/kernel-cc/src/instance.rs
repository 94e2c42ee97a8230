//! An instance of a congestion control for this process only.

use crate::kernel::Kernel;
use crate::load::Registered;
use crate::object::ParsedObject;
use crate::{ControlError, object_of};

/// A congestion control under a name of this process, with its own parameters. It leaves the kernel's list
/// when this is dropped or the process ends, for whatever reason; sockets that use it keep it until they
/// close.
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
    /// Fails if something is missing or unknown, or the kernel rejects the program.
    pub fn load(name: &str, parameters: &[(&str, u64)]) -> Result<Loaded, ControlError> {
        Loaded::load_object(name, object_of(name)?, parameters)
    }

    /// Loads an object file that is not in the registry; otherwise as [`Loaded::load`].
    ///
    /// # Errors
    /// Fails as [`Loaded::load`] does.
    pub fn load_object(
        name: &str,
        object: &[u8],
        parameters: &[(&str, u64)],
    ) -> Result<Loaded, ControlError> {
        let mut opened = ParsedObject::new(name, object)?;
        opened.set(parameters)?;
        let mut from = 0;
        loop {
            let (kernel_name, n) = Kernel::now().free_name(name, std::process::id(), from);
            match opened.load(&kernel_name)?.register() {
                // A process with the same id in another namespace, or another thread, was faster.
                Err(ControlError::Taken { .. }) => from = n + 1,
                Err(e) => return Err(e),
                Ok(registered) => return Ok(Loaded { name: kernel_name, _registered: registered }),
            }
        }
    }

    /// Returns the name for `TCP_CONGESTION`.
    pub fn kernel_name(&self) -> &str {
        &self.name
    }
}
