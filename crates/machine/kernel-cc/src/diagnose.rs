//! Explains what a kernel lacks that rejected a program.

use crate::ControlError;
use crate::object::{Btf, FUNC_PROTO, PTR, STRUCT};
use std::io;

/// Path of the kernel's BTF.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Number of arguments of `cong_control` that the programs expect.
const ARGUMENTS: usize = 4;

fn unsupported(why: &str) -> ControlError {
    ControlError::Kernel { why: format!("this kernel cannot load congestion controls: {why}") }
}

/// The error for a kernel whose BTF cannot be read.
pub fn unreadable_btf(e: &io::Error) -> ControlError {
    if e.kind() == io::ErrorKind::NotFound {
        return unsupported(&format!("it has no BTF, {TYPES} (CONFIG_DEBUG_INFO_BTF)"));
    }
    unsupported(&format!("its BTF, {TYPES}, cannot be read: {e}"))
}

/// The error for a kernel whose BTF has an unknown format.
pub fn unknown_btf_format() -> ControlError {
    unsupported(&format!("its BTF, {TYPES}, has an unknown format"))
}

/// Returns the cause of a failure if it is known, otherwise the failure itself.
pub fn explain(failure: ControlError, kernel: &Btf<'_>) -> ControlError {
    if !matches!(failure, ControlError::Kernel { .. } | ControlError::Rejected { .. }) {
        return failure;
    }
    if kernel.find("bpf_struct_ops_tcp_congestion_ops", STRUCT).is_none() {
        return unsupported(
            "it has no struct_ops for TCP (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_INET; Linux 5.6)",
        );
    }
    if cong_control_arguments(kernel).is_some_and(|n| n != ARGUMENTS) {
        return unsupported("its cong_control has other arguments; Linux 6.10 or later is needed");
    }
    if kernel.find("bpf_struct_ops_link", STRUCT).is_none() {
        return unsupported("it has no struct_ops links; Linux 6.4 or later is needed");
    }
    failure
}

fn cong_control_arguments(kernel: &Btf<'_>) -> Option<usize> {
    let control = kernel.get(kernel.find("tcp_congestion_ops", STRUCT)?)?;
    let member = kernel.members(&control).find(|m| m.name == "cong_control")?;
    let pointer = kernel.get(member.of).filter(|t| t.kind == PTR)?;
    let function = kernel.get(pointer.word).filter(|t| t.kind == FUNC_PROTO)?;
    Some(function.count)
}
