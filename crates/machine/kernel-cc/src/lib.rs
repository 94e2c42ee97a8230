//! eBPF programs for the live kernel, and their loader: congestion controls (`struct_ops`), and the programs
//! of `longfat attach` (`traffic.rs`) and `longfat apply` (`apply.rs`).
//!
//! A congestion control is one C file, `bpf/NAME.bpf.c` (see `bpf/kernel.h`), its committed clang output
//! `objects/NAME.bpf.o`, and one line in `registry.rs`. `object/` parses such files and relocates them for
//! the running kernel, `load.rs` loads them; no system library is needed. The C source is compiled twice,
//! with `bpf/kernel.h` in place of the kernel's types. A host build of the same file replays `vectors/` and
//! random lists and is compared with the Rust model (`tests/vectors.rs`), so the code that the verifier loads
//! is tested. There are two ways to load it:
//!
//! * [`Loaded::load`]: an instance of this process only, with a unique name and its own parameters; any
//!   number at once. It disappears with the process.
//! * [`load_for_all`]: an instance for all users under the control's own name, which stays until [`unload`]
//!   or a reboot.
//!
//! Both need CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), and Linux 6.10 or later with BTF.

// On other systems there is no loader, and much of its supporting code is unused.
#![cfg_attr(not(all(target_os = "linux", target_endian = "little")), allow(dead_code))]

#[cfg(all(target_os = "linux", target_endian = "little"))]
mod apply;
mod capabilities;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod diagnose;
mod done;
mod error;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod instance;
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
mod registry;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod shared;
#[cfg(all(target_os = "linux", target_endian = "little"))]
mod traffic;
#[cfg(not(all(target_os = "linux", target_endian = "little")))]
mod unsupported;

#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use apply::{ApplyConfig, ApplyPrograms, ChangedSocket, ListedSocket, RestoredSocket};
pub use done::{Before, Done};
pub use error::ControlError;
#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use instance::Loaded;
pub use kernel::{Kernel, holder};
pub use names::{kernel_name, owner, private_name};
pub use parameter::Parameter;
pub use pins::{folder, is_pinned, pinned, unpin as unload};
pub use registry::{KernelControl, REGISTRY, find};
#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use shared::{load_for_all, load_object_for_all, parameters, parameters_of};
#[cfg(all(target_os = "linux", target_endian = "little"))]
pub use traffic::{
    AttachConfig, AttachCounters, AttachMethod, AttachMode, AttachPrograms, PROBES, ProbeTimes, ProbeWords,
    remove_filters,
};
#[cfg(not(all(target_os = "linux", target_endian = "little")))]
pub use unsupported::{Loaded, load_for_all, parameters, parameters_of};

/// Whether eBPF programs are built in.
pub const fn built_in() -> bool {
    cfg!(all(target_os = "linux", target_endian = "little"))
}

fn object_of(name: &str) -> Result<&'static [u8], ControlError> {
    find(name).map(|entry| entry.object).ok_or_else(|| ControlError::Unknown { name: name.into() })
}
