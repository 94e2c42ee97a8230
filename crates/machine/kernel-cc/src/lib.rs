//! Congestion controls that the kernel lacks, as eBPF programs (`struct_ops`) for the live kernel.
//!
//! A control is one C file, `bpf/NAME.bpf.c` (see `bpf/kernel.h`), the same compiled by clang and committed,
//! `objects/NAME.bpf.o`, and one line in `registry.rs`. `object/` reads such files and fits them to the
//! running kernel, `load.rs` gives them to it; no library of the system is needed. One C source, two compilers:
//! `bpf/kernel.h` stands for the kernel's types, and a host build of the same file replays `vectors/` and random lists
//! beside the Rust model (`tests/vectors.rs`), so what the verifier loads is what was tested. Two ways into the kernel:
//!
//! * [`Loaded::load`]: an instance of this process's own, under a name of its own, with its own
//!   parameters; as many at once as wanted. Nothing of it outlives the process.
//! * [`load_for_all`]: one that everybody sees under the control's own name, and that stays until
//!   [`unload`] or a restart.
//!
//! Both need CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), and Linux 6.10 or later with BTF.

// Elsewhere there is nobody who loads, and much of what loading needs is idle.
#![cfg_attr(not(all(target_os = "linux", target_endian = "little")), allow(dead_code))]

#[cfg(not(all(target_os = "linux", target_endian = "little")))]
mod absent;
mod capabilities;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod diagnose;
mod done;
mod error;
mod kernel;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod load;
mod names;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod object;
#[cfg(all(test, target_os = "linux", target_endian = "little"))]
mod objects;
mod parameter;
mod pins;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod private;
mod registry;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod shared;

#[cfg(not(all(target_os = "linux", target_endian = "little")))]
pub use absent::{Loaded, load_for_all, parameters, parameters_of};
pub use done::{Before, Done};
pub use error::ControlError;
pub use kernel::{Kernel, holder};
pub use names::{kernel_name, owner, private_name};
pub use parameter::Parameter;
pub use pins::{folder, is_pinned, pinned, unpin as unload};
#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use private::Loaded;
pub use registry::{KernelControl, REGISTRY, find};
#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use shared::{load_for_all, load_object_for_all, parameters, parameters_of};

/// Whether the programs are built in.
pub const fn built_in() -> bool {
    cfg!(all(target_os = "linux", target_endian = "little"))
}

fn object_of(name: &str) -> Result<&'static [u8], ControlError> {
    find(name).map(|entry| entry.object).ok_or_else(|| ControlError::Unknown { name: name.into() })
}
