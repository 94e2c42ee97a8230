//! The object's `struct tcp_congestion_ops` and the running kernel's: which program is which operation, and the
//! value that registers them (`struct bpf_struct_ops_tcp_congestion_ops`).

use super::Opened;
use super::btf::{Btf, Member, STRUCT};
use super::elf::FUNC;
use super::relocate::At;
use crate::ControlError;
use crate::names::LONGEST;

/// The kernel's struct, and the one that wraps it for user space.
const CONTROL: &str = "tcp_congestion_ops";
const WRAPPED: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Where an object has its control.
const SECTION: &str = ".struct_ops.link";

/// What unprivileged programs may choose (net/tcp.h).
const TCP_CONG_NON_RESTRICTED: u32 = 1;

/// A control as the running kernel wants it.
#[derive(Debug)]
pub struct StructOpsPlan {
    /// The number of `tcp_congestion_ops` in the kernel's types.
    pub control: u32,
    /// The number of the struct that wraps it.
    pub wrapped: u32,
    /// The wrapped struct: all but the programs is in its place.
    pub value: Vec<u8>,
    /// The programs.
    pub operations: Vec<Operation>,
}

/// A program and its place.
#[derive(Debug)]
pub struct Operation {
    /// The operation's name.
    pub name: String,
    /// Which member of `tcp_congestion_ops` it is.
    pub member: u32,
    /// Where in the value its descriptor goes, bytes.
    pub slot: usize,
    /// The function in the object.
    pub function: At,
}

/// A member of the kernel's struct: its number, and bytes from the start of the value.
struct There {
    number: u32,
    start: usize,
    size: usize,
}

/// Holds the object's control against the kernel's.
///
/// # Errors
/// [`ControlError::Object`]; [`Error::Kernel`] where the kernel lacks what the control has.
pub fn plan(object: &Opened<'_>, kernel: &Btf<'_>, kernel_name: &str) -> Result<StructOpsPlan, ControlError> {
    let lacks = |what: &str| ControlError::Kernel {
        why: format!("this kernel has no {what}, which {} needs", object.name),
    };
    let kernels = |name: &str| kernel.find(name, STRUCT).ok_or_else(|| lacks(&format!("struct {name}")));
    let (control, wrapped) = (kernels(CONTROL)?, kernels(WRAPPED)?);
    let size = kernel.size(wrapped).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = offset(kernel, wrapped, "data").ok_or_else(|| lacks("data of a wrapped control"))?;
    let mut plan = StructOpsPlan { control, wrapped, value: vec![0; size], operations: Vec::new() };
    let section =
        object.elf.find(SECTION).ok_or_else(|| ControlError::object("it has no congestion control"))?;
    let bytes = object.elf.sections[section].data;
    let mut programs = Vec::new();
    for relocation in object.elf.relocations(section) {
        let symbol = object.elf.symbols.get(relocation.symbol).filter(|s| s.kind == FUNC);
        let symbol = symbol
            .ok_or_else(|| ControlError::object("its control refers to something that is no function"))?;
        programs.push((relocation.at, symbol));
    }
    for member in ours(object)? {
        let (at, size) = (member.bits as usize / 8, object.types.size(member.of).unwrap_or(0) as usize);
        let program = programs.iter().find(|(place, _)| *place == at).map(|(_, symbol)| symbol);
        let data = bytes.get(at..at.saturating_add(size));
        let data = data.ok_or_else(|| ControlError::object("its control is too short"))?;
        let Some(there) = find(kernel, control, start, member.name) else {
            if program.is_some() || data.iter().any(|b| *b != 0) {
                return Err(lacks(&format!("{CONTROL}.{}", member.name)));
            }
            continue;
        };
        match program {
            Some(symbol) => plan.operations.push(Operation {
                name: symbol.name.into(),
                member: there.number,
                slot: there.start,
                function: (symbol.section, symbol.start),
            }),
            None => plan.put(&there, data)?,
        }
    }
    plan.call(kernel, start, kernel_name)?;
    Ok(plan)
}

fn ours<'a>(object: &Opened<'a>) -> Result<Vec<Member<'a>>, ControlError> {
    let control = object.types.find(CONTROL, STRUCT).and_then(|n| object.types.get(n));
    let control =
        control.ok_or_else(|| ControlError::object("it does not know struct tcp_congestion_ops"))?;
    Ok(object.types.members(&control).collect())
}

/// Bytes from the start of a struct to its member.
fn offset(types: &Btf<'_>, of: u32, name: &str) -> Option<usize> {
    let whole = types.get(of)?;
    let member = types.members(&whole).find(|m| m.name == name)?;
    usize::try_from(member.bits / 8).ok()
}

fn find(kernel: &Btf<'_>, control: u32, start: usize, name: &str) -> Option<There> {
    let whole = kernel.get(control)?;
    let (number, member) = kernel.members(&whole).enumerate().find(|(_, m)| m.name == name)?;
    Some(There {
        number: number as u32,
        start: start.checked_add(usize::try_from(member.bits / 8).ok()?)?,
        size: usize::try_from(kernel.size(member.of)?).ok()?,
    })
}

impl StructOpsPlan {
    fn put(&mut self, there: &There, data: &[u8]) -> Result<(), ControlError> {
        let place = self.value.get_mut(there.start..).and_then(|rest| rest.get_mut(..there.size));
        let place = place.filter(|place| place.len() == data.len());
        place
            .ok_or_else(|| ControlError::object("a member of its control is of another size in this kernel"))?
            .copy_from_slice(data);
        Ok(())
    }

    /// Gives it its name. Any program may choose it, without privileges too.
    fn call(&mut self, kernel: &Btf<'_>, start: usize, kernel_name: &str) -> Result<(), ControlError> {
        let mut name = [0; LONGEST + 1];
        name.iter_mut().zip(kernel_name.bytes().take(LONGEST)).for_each(|(to, from)| *to = from);
        for (member, data) in [("name", &name[..]), ("flags", &TCP_CONG_NON_RESTRICTED.to_le_bytes())] {
            let there = find(kernel, self.control, start, member);
            let there = there.ok_or_else(|| ControlError::Kernel {
                why: format!("this kernel's controls have no {member}"),
            })?;
            self.put(&there, data)?;
        }
        Ok(())
    }
}
