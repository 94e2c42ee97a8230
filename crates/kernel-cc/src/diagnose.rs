//! What a kernel that refused a program lacks. Asked only after a failure: reading all types of a
//! kernel takes tens of milliseconds.

use crate::Error;
use libbpf_rs::ReferencesType;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use std::path::Path;

/// The number of arguments of `cong_control` that the programs are written for.
const ARGUMENTS: usize = 4;

/// The same failure, or what explains it.
pub fn why(failure: Error) -> Error {
    let lacks =
        |why: &str| Error::Kernel { why: format!("this kernel cannot load congestion controls: {why}") };
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return lacks("it has no description of its types, /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
    }
    let Ok(types) = Btf::from_vmlinux() else { return failure };
    if types.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_none() {
        return lacks(
            "it has no struct_ops for TCP (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_INET; Linux 5.6)",
        );
    }
    match arguments_of_cong_control(&types) {
        Some(ARGUMENTS) | None => {}
        Some(_) => {
            return lacks("its cong_control has other arguments; they are those of Linux 6.10 and later");
        }
    }
    if types.type_by_name::<Struct<'_>>("bpf_struct_ops_link").is_none() {
        return lacks("it has no links for struct_ops (Linux 6.4 and later)");
    }
    failure
}

fn arguments_of_cong_control(types: &Btf<'_>) -> Option<usize> {
    let control = types.type_by_name::<Struct<'_>>("tcp_congestion_ops")?;
    let member = control.iter().find(|m| m.name.is_some_and(|n| n == "cong_control"))?;
    let pointer = types.type_by_id::<Ptr<'_>>(member.ty)?;
    let function = types.type_by_id::<FuncProto<'_>>(pointer.referenced_type_id())?;
    Some(function.len())
}
