//! Congestion controls loaded permanently for all users.

use crate::load::Registered;
use crate::object::{Btf, CONSTANTS, ParsedObject, described};
use crate::{Before, ControlError, Done, Parameter, kernel_name, object_of, pins};
use linux::bpf;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Loads the eBPF program of the control `name` (see [`crate::REGISTRY`]) with these parameters, registers it
/// under [`kernel_name`] and pins it. The pinned program stays until [`pins::unpin`] or a reboot.
///
/// # Errors
/// Fails if something is missing or unknown, or the kernel rejects the program.
pub fn load_for_all(name: &str, parameters: &[(&str, u64)]) -> Result<Done, ControlError> {
    load_object_for_all(name, object_of(name)?, parameters)
}

/// Loads an object file that is not in the registry; otherwise as [`load_for_all`].
///
/// # Errors
/// Fails as [`load_for_all`] does.
pub fn load_object_for_all(
    name: &str,
    object: &[u8],
    parameters: &[(&str, u64)],
) -> Result<Done, ControlError> {
    let mut opened = ParsedObject::new(name, object)?;
    opened.set(parameters)?;
    let requested = values(&opened.parameters());
    let kernel_name = kernel_name(name);
    crate::capabilities::check()?;
    let mut before = Before::Nothing;
    if pins::is_pinned(&kernel_name) {
        before = Before::Other;
        if parameters_of(&kernel_name).is_some_and(|p| values(&p) == requested) {
            return Ok(Done { mounted: false, before: Before::Same });
        }
    }
    // Load the new one before the old one is removed.
    let ready = opened.load(&kernel_name)?;
    if before == Before::Other {
        pins::unpin(&kernel_name)?;
    }
    let registered = ready.register()?;
    let mounted = pins::mount()?;
    pin(registered, &kernel_name)?;
    Ok(Done { mounted, before })
}

/// Returns names and values only.
fn values(parameters: &[Parameter]) -> Vec<(String, u64)> {
    parameters.iter().map(|p| (p.name.clone(), p.value)).collect()
}

fn pin(registered: Registered, kernel_name: &str) -> Result<(), ControlError> {
    let folder = pins::folder(kernel_name);
    let failed = || ControlError::system(format!("pinning {kernel_name} in {}", folder.display()));
    let _ = pins::remove(&folder); // left over from an interrupted load
    fs::create_dir_all(&folder).map_err(failed())?;
    let pinned = bpf::pin(registered.program.as_fd(), &folder.join("program"))
        .and_then(|()| bpf::pin(registered.link.as_fd(), &folder.join("link")));
    pinned.map_err(|e| {
        let _ = pins::remove(&folder);
        failed()(e)
    })
}

/// Returns the parameters of a built-in program, with their defaults. Needs no privileges.
///
/// # Errors
/// Fails with [`ControlError::Unknown`].
pub fn parameters(name: &str) -> Result<Vec<Parameter>, ControlError> {
    Ok(ParsedObject::new(name, object_of(name)?)?.parameters())
}

/// Returns the parameters of a pinned control; `None` if they cannot be read.
pub fn parameters_of(kernel_name: &str) -> Option<Vec<Parameter>> {
    constants(&pins::folder(kernel_name).join("program")).ok().flatten()
}

fn constants(program: &Path) -> io::Result<Option<Vec<Parameter>>> {
    let program = bpf::pinned(program)?;
    let (maps, types) = bpf::maps_and_types(program.as_fd())?;
    let types = bpf::description(types.as_fd())?;
    for map in &maps {
        let (name, value) = bpf::name_and_value(map.as_fd())?;
        if name.ends_with(CONSTANTS) {
            return Ok(Btf::read(&types).map(|types| described(&types, &value)));
        }
    }
    // A program without parameters has no such map.
    Ok(Some(Vec::new()))
}
