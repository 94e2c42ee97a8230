//! Controls loaded for everybody, to stay.

use crate::object::{Opened, Registered, is_constants, layout, os};
use crate::{Before, Done, Error, Parameter, kernel_name, object_of, pins};
use libbpf_rs::btf::Btf;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Program};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

/// Loads the eBPF program of the control `name` (see [`crate::REGISTRY`]) with these parameters,
/// registers it as [`kernel_name`] says and pins it, so that it stays until [`pins::unpin`] or a restart.
///
/// # Errors
/// What is missing, unknown or was refused.
pub fn load_for_all(name: &str, parameters: &[(&str, u64)]) -> Result<Done, Error> {
    load_object_for_all(name, object_of(name)?, parameters)
}

/// The same of an object file that is not in the registry.
///
/// # Errors
/// As of [`load_for_all`].
pub fn load_object_for_all(name: &str, object: &[u8], parameters: &[(&str, u64)]) -> Result<Done, Error> {
    let mut opened = Opened::new(name, object)?;
    opened.set(parameters)?;
    let wanted = values(&opened.parameters());
    let kernel_name = kernel_name(name);
    crate::capabilities::check()?;
    let mut before = Before::Nothing;
    if pins::is_pinned(&kernel_name) {
        before = Before::Other;
        if parameters_of(&kernel_name).is_some_and(|p| values(&p) == wanted) {
            return Ok(Done { mounted: false, before: Before::Same });
        }
    }
    // Checked before the old one goes.
    let ready = opened.load(&kernel_name)?;
    if before == Before::Other {
        pins::unpin(&kernel_name)?;
    }
    let registered = ready.register()?;
    let mounted = pins::mount()?;
    pin(registered, &kernel_name)?;
    Ok(Done { mounted, before })
}

/// Names and values alone.
fn values(parameters: &[Parameter]) -> Vec<(String, u64)> {
    parameters.iter().map(|p| (p.name.clone(), p.value)).collect()
}

fn pin(mut registered: Registered, kernel_name: &str) -> Result<(), Error> {
    let folder = pins::folder(kernel_name);
    let failed = || Error::system(format!("pinning {kernel_name} in {}", folder.display()));
    let _ = pins::remove(&folder); // what an interrupted load has left
    fs::create_dir_all(&folder).map_err(failed())?;
    let pinned = (|| {
        if let Some(mut program) = registered.object.progs_mut().next() {
            program.pin(folder.join("program"))?;
        }
        registered.link.pin(folder.join("link"))
    })();
    pinned.map_err(|e| {
        let _ = pins::remove(&folder);
        failed()(os(&e))
    })
}

/// The parameters in force of a pinned control; `None` where they cannot be read.
pub fn parameters_of(kernel_name: &str) -> Option<Vec<Parameter>> {
    constants(&pins::folder(kernel_name).join("program"))
}

fn constants(program: &Path) -> Option<Vec<Parameter>> {
    let fd = Program::fd_from_pinned_path(program).ok()?;
    let id = Program::id_from_fd(fd.as_fd()).ok()?;
    let btf = Btf::from_prog_id(id).ok()?;
    let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
    let info = ProgInfoIter::with_query_opts(wanted).find(|p| p.id == id)?;
    let mut maps = info.map_ids.iter().filter_map(|&map| MapHandle::from_map_id(map).ok());
    let map = maps.find(|m| is_constants(&m.name().to_string_lossy()));
    // A program that reads no parameter has no such map.
    let Some(map) = map else { return Some(Vec::new()) };
    let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    Some(layout(&btf, &bytes))
}
