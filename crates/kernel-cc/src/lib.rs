//! Congestion controls that the kernel lacks, as eBPF programs (`struct_ops`) for the live kernel.
//!
//! A control is one C file, `bpf/NAME.bpf.c` (see `bpf/kernel.h`), and one line in `registry.rs`. With the
//! feature `bpf` the files are compiled by clang and built in; without it all of this says that
//! they are not. Two ways into the kernel:
//!
//! * [`Loaded::load`]: an instance of this process's own, under a name of its own, with its own
//!   parameters; as many at once as wanted. Nothing of it outlives the process.
//! * [`load_for_all`]: one that everybody sees under the control's own name, and that stays until
//!   [`unload`] or a restart.
//!
//! Both need CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), and Linux 6.10 or later with BTF.

// Without the programs there is nobody who loads, and much of what loading needs is idle.
#![cfg_attr(not(all(feature = "bpf", target_os = "linux")), allow(dead_code))]

#[cfg(not(all(feature = "bpf", target_os = "linux")))]
mod absent;
mod capabilities;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod diagnose;
mod done;
mod error;
mod kernel;
mod names;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod object;
mod parameter;
mod pins;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod private;
mod registry;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod shared;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(not(all(feature = "bpf", target_os = "linux")))]
pub use absent::{Loaded, load_for_all, parameters, parameters_of};
pub use done::{Before, Done};
pub use error::{Error, HOW_TO_BUILD};
pub use kernel::{Kernel, holder};
pub use names::{kernel_name, owner, private_name};
pub use parameter::Parameter;
pub use pins::{folder, is_pinned, pinned, unpin as unload};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use private::Loaded;
pub use registry::{Entry, REGISTRY, find};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use shared::{load_for_all, load_object_for_all, parameters_of};

/// Whether the programs are built in.
pub const fn built_in() -> bool {
    cfg!(all(feature = "bpf", target_os = "linux"))
}

/// The compiled programs, by the names of their files.
#[cfg(all(feature = "bpf", target_os = "linux"))]
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

#[cfg(all(feature = "bpf", target_os = "linux"))]
fn object_of(name: &str) -> Result<&'static [u8], Error> {
    let file = find(name).map(|entry| kernel_name(entry.name));
    let object = file.and_then(|file| OBJECTS.iter().find(|(n, _)| *n == file));
    object.map(|(_, bytes)| *bytes).ok_or_else(|| Error::Unknown { name: name.into() })
}

/// The parameters of a built-in program, with their defaults. Needs no privileges.
///
/// # Errors
/// [`Error::NotBuiltIn`], [`Error::Unknown`].
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub fn parameters(name: &str) -> Result<Vec<Parameter>, Error> {
    Ok(object::Opened::new(name, object_of(name)?)?.parameters())
}

#[cfg(all(test, feature = "bpf", target_os = "linux"))]
mod tests {
    use super::*;

    /// A file without its line, and a line without its file, would both be noticed by nobody.
    #[test]
    fn every_program_has_its_line_and_every_line_its_program() {
        let files: Vec<String> = OBJECTS.iter().map(|(name, _)| name.to_string()).collect();
        let mut lines: Vec<String> = REGISTRY.iter().map(|entry| kernel_name(entry.name)).collect();
        lines.sort();
        assert_eq!(lines, files);
        for entry in REGISTRY {
            assert!(entry.name.len() <= names::LONGEST, "{}", entry.name);
            parameters(entry.name).unwrap();
        }
    }
}
