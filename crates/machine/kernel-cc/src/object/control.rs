//! Maps the object's `struct tcp_congestion_ops` to the running kernel's: the program of each operation, and
//! the value that registers them (`struct bpf_struct_ops_tcp_congestion_ops`).

use super::ParsedObject;
use super::btf::{Btf, Member, STRUCT};
use super::elf::FUNC;
use super::relocate::CodeOffset;
use crate::ControlError;
use crate::names::MAX_NAME;

/// Names of the kernel's struct, and of the one that wraps it for user space.
const CONTROL: &str = "tcp_congestion_ops";
const WRAPPED: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Section of the control in an object.
const SECTION: &str = ".struct_ops.link";

/// Flag: unprivileged programs may choose the control (net/tcp.h).
const TCP_CONG_NON_RESTRICTED: u32 = 1;

/// A congestion control in the running kernel's layout.
#[derive(Debug)]
pub struct StructOpsPlan {
    /// Type id of `tcp_congestion_ops` in the kernel's BTF.
    pub control: u32,
    /// Type id of the wrapping struct.
    pub wrapped: u32,
    /// The wrapping struct, complete except for the programs.
    pub value: Vec<u8>,
    pub operations: Vec<Operation>,
}

/// A program and its position.
#[derive(Debug)]
pub struct Operation {
    pub name: String,
    /// Index of the member of `tcp_congestion_ops`.
    pub member: u32,
    /// Offset of the program's descriptor in the value, bytes.
    pub slot: usize,
    pub function: CodeOffset,
}

/// A member of the kernel's struct: index, and offset and size in the value, bytes.
struct KernelMember {
    number: u32,
    start: usize,
    size: usize,
}

/// Maps the object's control to the kernel's layout.
///
/// # Errors
/// Fails with [`ControlError::Object`], or with [`ControlError::Kernel`] if the kernel lacks something that
/// the control needs.
pub fn plan(
    object: &ParsedObject<'_>,
    kernel: &Btf<'_>,
    kernel_name: &str,
) -> Result<StructOpsPlan, ControlError> {
    let lacks = |what: &str| ControlError::Kernel {
        why: format!("this kernel has no {what}, which {} needs", object.name),
    };
    let kernel_struct =
        |name: &str| kernel.find(name, STRUCT).ok_or_else(|| lacks(&format!("struct {name}")));
    let (control, wrapped) = (kernel_struct(CONTROL)?, kernel_struct(WRAPPED)?);
    let size = kernel.size(wrapped).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = offset(kernel, wrapped, "data").ok_or_else(|| lacks("data of a wrapped control"))?;
    let mut plan = StructOpsPlan { control, wrapped, value: vec![0; size], operations: Vec::new() };
    let section =
        object.elf.find(SECTION).ok_or_else(|| ControlError::object("it contains no congestion control"))?;
    let bytes = object.elf.sections[section].data;
    let mut programs = Vec::new();
    for relocation in object.elf.relocations(section) {
        let symbol = object.elf.symbols.get(relocation.symbol).filter(|s| s.kind == FUNC);
        let symbol = symbol
            .ok_or_else(|| ControlError::object("its control refers to a symbol that is not a function"))?;
        programs.push((relocation.at, symbol));
    }
    for member in control_members(object)? {
        let (at, size) = (member.bits as usize / 8, object.types.size(member.of).unwrap_or(0) as usize);
        let program = programs.iter().find(|(place, _)| *place == at).map(|(_, symbol)| symbol);
        let data = bytes.get(at..at.saturating_add(size));
        let data = data.ok_or_else(|| ControlError::object("its control is too short"))?;
        let Some(kernel_member) = find(kernel, control, start, member.name) else {
            if program.is_some() || data.iter().any(|b| *b != 0) {
                return Err(lacks(&format!("{CONTROL}.{}", member.name)));
            }
            continue;
        };
        match program {
            Some(symbol) => plan.operations.push(Operation {
                name: symbol.name.into(),
                member: kernel_member.number,
                slot: kernel_member.start,
                function: (symbol.section, symbol.start),
            }),
            None => plan.write_member(&kernel_member, data)?,
        }
    }
    plan.set_name(kernel, start, kernel_name)?;
    Ok(plan)
}

fn control_members<'a>(object: &ParsedObject<'a>) -> Result<Vec<Member<'a>>, ControlError> {
    let control = object.types.find(CONTROL, STRUCT).and_then(|n| object.types.get(n));
    let control = control.ok_or_else(|| ControlError::object("its types lack struct tcp_congestion_ops"))?;
    Ok(object.types.members(&control).collect())
}

/// Returns the offset of a struct's member, bytes.
fn offset(types: &Btf<'_>, of: u32, name: &str) -> Option<usize> {
    let container = types.get(of)?;
    let member = types.members(&container).find(|m| m.name == name)?;
    usize::try_from(member.bits / 8).ok()
}

fn find(kernel: &Btf<'_>, control: u32, start: usize, name: &str) -> Option<KernelMember> {
    let container = kernel.get(control)?;
    let (number, member) = kernel.members(&container).enumerate().find(|(_, m)| m.name == name)?;
    Some(KernelMember {
        number: number as u32,
        start: start.checked_add(usize::try_from(member.bits / 8).ok()?)?,
        size: usize::try_from(kernel.size(member.of)?).ok()?,
    })
}

impl StructOpsPlan {
    fn write_member(&mut self, kernel_member: &KernelMember, data: &[u8]) -> Result<(), ControlError> {
        let place =
            self.value.get_mut(kernel_member.start..).and_then(|rest| rest.get_mut(..kernel_member.size));
        let place = place.filter(|place| place.len() == data.len());
        place
            .ok_or_else(|| ControlError::object("a member of its control has another size in this kernel"))?
            .copy_from_slice(data);
        Ok(())
    }

    /// Sets the control's name, and the flag that lets unprivileged programs choose it.
    fn set_name(&mut self, kernel: &Btf<'_>, start: usize, kernel_name: &str) -> Result<(), ControlError> {
        let mut name = [0; MAX_NAME + 1];
        name.iter_mut().zip(kernel_name.bytes().take(MAX_NAME)).for_each(|(to, from)| *to = from);
        for (member, data) in [("name", &name[..]), ("flags", &TCP_CONG_NON_RESTRICTED.to_le_bytes())] {
            let kernel_member = find(kernel, self.control, start, member);
            let kernel_member = kernel_member.ok_or_else(|| ControlError::Kernel {
                why: format!("this kernel's controls have no {member}"),
            })?;
            self.write_member(&kernel_member, data)?;
        }
        Ok(())
    }
}
