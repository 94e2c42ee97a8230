//! Loads and registers a program in the kernel.

use crate::object::{Btf, Code, Operation, ParsedObject, StructOpsPlan, describe, link, plan};
use crate::{ControlError, capabilities, diagnose, names};
use linux::bpf::{self, Refused};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A verified control in the kernel, not registered yet.
pub struct VerifiedControl {
    value: OwnedFd,
    program: OwnedFd,
    name: String,
    kernel_name: String,
}

/// A registered control; it stays as long as the link or a pin of it exists.
#[derive(Debug)]
pub struct Registered {
    pub link: OwnedFd,
    pub program: OwnedFd,
}

impl ParsedObject<'_> {
    /// Loads the programs under the name `kernel_name`, which the caller chooses; any program, also without
    /// privileges, may then use the control.
    ///
    /// # Errors
    /// Fails if something is missing, or the kernel rejects a program.
    pub fn load(&self, kernel_name: &str) -> Result<VerifiedControl, ControlError> {
        capabilities::check()?;
        let types = fs::read(diagnose::TYPES).map_err(|e| diagnose::unreadable_btf(&e))?;
        let kernel = Btf::read(&types).ok_or_else(diagnose::unknown_btf_format)?;
        self.load_on(&kernel, kernel_name).map_err(|failure| diagnose::explain(failure, &kernel))
    }

    fn load_on(&self, kernel: &Btf<'_>, kernel_name: &str) -> Result<VerifiedControl, ControlError> {
        let plan = plan(self, kernel, kernel_name)?;
        let btf = describe(self.texts(), self.constants.len(), &self.parameters());
        let types = bpf::load_types(&btf.bytes).map_err(|e| self.failed("loading its BTF", &e))?;
        let constants = self.constants_map(types.as_fd(), btf.constants)?;
        let code = Code::new(self, kernel, constants.as_ref().map_or(-1, AsRawFd::as_raw_fd))?;
        let (mut value, mut programs) = (plan.value.clone(), Vec::new());
        for operation in &plan.operations {
            let program = self.load_operation(&plan, operation, &code, types.as_fd())?;
            if let Some(constants) = &constants {
                // Parameters can be read back from any of the programs.
                bpf::bind(program.as_fd(), constants.as_fd())
                    .map_err(|e| self.failed("keeping its constants", &e))?;
            }
            let slot = value.get_mut(operation.slot..).and_then(|rest| rest.first_chunk_mut());
            // A descriptor replaces the pointer (Documentation/bpf/libbpf, `struct_ops`).
            *slot.ok_or_else(|| ControlError::object("an operation has no slot"))? =
                u64::from(program.as_raw_fd() as u32).to_ne_bytes();
            programs.push(program);
        }
        let map = bpf::control_map("control", value.len(), plan.wrapped, types.as_fd())
            .map_err(|e| self.failed("creating its map", &e))?;
        bpf::set(map.as_fd(), &value).map_err(|e| taken_or(e, &self.name, kernel_name))?;
        let program =
            programs.into_iter().next().ok_or_else(|| ControlError::object("it implements no operation"))?;
        Ok(VerifiedControl { value: map, program, name: self.name.clone(), kernel_name: kernel_name.into() })
    }

    /// Creates the map of constants and freezes it.
    fn constants_map(&self, types: BorrowedFd<'_>, of: Option<u32>) -> Result<Option<OwnedFd>, ControlError> {
        if self.constants.is_empty() {
            return Ok(None);
        }
        let fail = |e: io::Error| self.failed("keeping its constants", &e);
        let name = format!("{:.8}{}", names::kernel_name(&self.name), crate::object::CONSTANTS);
        let map = bpf::constants_map(&name, self.constants.len(), types, of).map_err(fail)?;
        bpf::set(map.as_fd(), &self.constants).map_err(fail)?;
        bpf::freeze(map.as_fd()).map_err(fail)?;
        Ok(Some(map))
    }

    fn load_operation(
        &self,
        plan: &StructOpsPlan,
        operation: &Operation,
        code: &Code,
        types: BorrowedFd<'_>,
    ) -> Result<OwnedFd, ControlError> {
        let program = link(self, code, operation.function)?;
        let loaded = bpf::load_program(&bpf::ProgramLoad {
            name: &operation.name,
            code: &program.code,
            lines: &program.lines,
            licence: self.licence(),
            kind: bpf::ProgramKind::Operation { control: plan.control, member: operation.member },
            types,
        });
        loaded.map_err(|Refused { error, log }| {
            let mut log = log.trim_end().to_string();
            if !code.missing_members.is_empty() {
                log.push_str(&format!("\nthis kernel has no {}", code.missing_members.join(", ")));
            }
            ControlError::Rejected {
                name: self.name.clone(),
                why: format!("{}: {error}", operation.name),
                log,
            }
        })
    }

    fn failed(&self, doing: &str, error: &io::Error) -> ControlError {
        ControlError::Rejected {
            name: self.name.clone(),
            why: format!("{doing}: {error}"),
            log: String::new(),
        }
    }
}

/// Some kernels check the name when the value is set, others at registration.
fn taken_or(error: io::Error, name: &str, kernel_name: &str) -> ControlError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return ControlError::Taken { name: kernel_name.into() };
    }
    ControlError::Rejected { name: name.into(), why: format!("registering it: {error}"), log: String::new() }
}

impl VerifiedControl {
    /// Registers the control.
    ///
    /// # Errors
    /// Fails with [`ControlError::Taken`] if the name is in use.
    pub fn register(self) -> Result<Registered, ControlError> {
        let link = bpf::register(self.value.as_fd());
        let link = link.map_err(|e| taken_or(e, &self.name, &self.kernel_name))?;
        Ok(Registered { link, program: self.program })
    }
}
