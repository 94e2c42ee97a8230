//! What a kernel that refused a program lacks.

use crate::ControlError;
use crate::object::{Btf, FUNC_PROTO, PTR, STRUCT};
use std::io;

/// Where a kernel describes its types.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The number of arguments of `cong_control` that the programs are written for.
const ARGUMENTS: usize = 4;

fn lacks(why: &str) -> ControlError {
    ControlError::Kernel { why: format!("this kernel cannot load congestion controls: {why}") }
}

/// The kernel's types cannot be had.
pub fn without_types(e: &io::Error) -> ControlError {
    if e.kind() == io::ErrorKind::NotFound {
        return lacks(&format!("it has no description of its types, {TYPES} (CONFIG_DEBUG_INFO_BTF)"));
    }
    lacks(&format!("the description of its types, {TYPES}, cannot be read: {e}"))
}

/// The kernel's types are written in a way that is not known here.
pub fn unknown_types() -> ControlError {
    lacks(&format!("the description of its types, {TYPES}, is of a kind that longfat does not know"))
}

/// The same failure, or what explains it.
pub fn why(failure: ControlError, kernel: &Btf<'_>) -> ControlError {
    if !matches!(failure, ControlError::Kernel { .. } | ControlError::Rejected { .. }) {
        return failure;
    }
    if kernel.find("bpf_struct_ops_tcp_congestion_ops", STRUCT).is_none() {
        return lacks(
            "it has no struct_ops for TCP (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_INET; Linux 5.6)",
        );
    }
    if arguments_of_cong_control(kernel).is_some_and(|n| n != ARGUMENTS) {
        return lacks("its cong_control has other arguments; they are those of Linux 6.10 and later");
    }
    if kernel.find("bpf_struct_ops_link", STRUCT).is_none() {
        return lacks("it has no links for struct_ops (Linux 6.4 and later)");
    }
    failure
}

fn arguments_of_cong_control(kernel: &Btf<'_>) -> Option<usize> {
    let control = kernel.get(kernel.find("tcp_congestion_ops", STRUCT)?)?;
    let member = kernel.members(&control).find(|m| m.name == "cong_control")?;
    let pointer = kernel.get(member.of).filter(|t| t.kind == PTR)?;
    let function = kernel.get(pointer.word).filter(|t| t.kind == FUNC_PROTO)?;
    Some(function.count)
}
