//! Congestion controls that the kernel lacks, as eBPF programs (`struct_ops`) for the live kernel.

mod capabilities;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod diagnose;
mod error;
mod names;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod object;
mod registry;

pub use error::{Error, HOW_TO_BUILD};
pub use names::{kernel_name, owner, private_name};
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use object::{Opened, Parameter, Registered};
pub use registry::{Entry, REGISTRY, find};

/// The compiled programs, by the name of their files.
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
