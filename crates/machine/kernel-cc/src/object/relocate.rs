//! Relocates an object's instructions for the running kernel: members of its structs, its functions, the map
//! of the constants.

use super::ParsedObject;
use super::btf::{self, Btf};
use super::elf::{self, Relocation};
use super::field::{self, Load, MemberPath};
use super::instruction::{
    CALL, Instruction, LOAD_64, PSEUDO_CALL, PSEUDO_KFUNC_CALL, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, SIZE,
};
use crate::ControlError;
use std::collections::BTreeMap;

/// eBPF relocation types (Documentation/bpf/llvm_reloc.rst).
const R_BPF_64_64: u32 = 1;
const R_BPF_64_32: u32 = 10;

/// A position in the object's instructions: section, and offset in bytes.
pub type CodeOffset = (usize, usize);

/// What stands for a section of the object, by the descriptor of a map.
#[derive(Clone, Copy, Debug)]
pub enum SectionMap {
    /// The map's only value holds the section's data.
    Data(i32),
    /// The section is a placeholder for the map itself.
    Whole(i32),
}

/// The relocated instructions of all sections.
pub struct Code {
    /// By section index; empty for sections without code.
    pub sections: Vec<Vec<u8>>,
    /// Calls of the object's own functions: from, to.
    pub calls: BTreeMap<CodeOffset, CodeOffset>,
    /// Members that the kernel lacks. This alone is not an error, because a program may check for existence.
    pub missing_members: Vec<String>,
}

impl Code {
    /// Relocates all instructions of a program without variables. `constants` is the map's descriptor.
    ///
    /// # Errors
    /// As [`Code::with_maps`].
    pub fn new(object: &ParsedObject<'_>, kernel: &Btf<'_>, constants: i32) -> Result<Code, ControlError> {
        Code::with_maps(
            object,
            kernel,
            &object.section.map(|section| (section, SectionMap::Data(constants))).into_iter().collect(),
        )
    }

    /// Relocates all instructions. `maps` has the map that stands for a section.
    ///
    /// # Errors
    /// Fails with [`ControlError::Object`], or with [`ControlError::Kernel`] if a kernel function is missing.
    pub fn with_maps(
        object: &ParsedObject<'_>,
        kernel: &Btf<'_>,
        maps: &BTreeMap<usize, SectionMap>,
    ) -> Result<Code, ControlError> {
        let instructions = |s: &elf::Section<'_>| if s.is_code() { s.data.to_vec() } else { Vec::new() };
        let sections = object.elf.sections.iter().map(instructions).collect();
        let mut code = Code { sections, calls: BTreeMap::new(), missing_members: Vec::new() };
        code.fill_members(object, kernel)?;
        for section in 0..code.sections.len() {
            if code.sections[section].is_empty() {
                continue;
            }
            code.find_calls(section);
            for relocation in object.elf.relocations(section) {
                code.fill_symbol(object, kernel, maps, section, &relocation)?;
            }
        }
        Ok(code)
    }

    fn instruction(&mut self, section: usize, at: usize) -> Result<Instruction<'_>, ControlError> {
        let found = self.sections.get_mut(section).and_then(|code| Instruction::at(code, at));
        found.ok_or_else(|| ControlError::object("it refers to a missing instruction"))
    }

    fn fill_members(&mut self, object: &ParsedObject<'_>, kernel: &Btf<'_>) -> Result<(), ControlError> {
        let mut roots = BTreeMap::new();
        for access in &object.ext.accesses {
            let path = MemberPath::read(&object.types, access.root, access.path)
                .ok_or_else(|| ControlError::object("it accesses a member that its own types lack"))?;
            let found = roots.entry(access.root).or_insert_with(|| path.candidates(kernel));
            let value = field::field_value(&path, &object.types, kernel, found, access.what);
            let mut instruction = self.instruction(access.section, access.at)?;
            let expected = field::expected_value(&path, &object.types, access.what);
            if expected.is_some() && instruction.filled() != expected {
                return Err(ControlError::object(format!(
                    "an instruction does not access {path} as declared"
                )));
            }
            let filled = value.is_some_and(|value| {
                let fits = match (value.load, instruction.access_size()) {
                    (Load::AsIs, _) | (_, None) => true,
                    (Load::Resized(size), Some(_)) => instruction.set_access_size(size),
                    (Load::Impossible, Some(_)) => false,
                };
                fits && instruction.fill(value.value)
            });
            if !filled {
                instruction.forbid();
                self.missing_members.push(path.to_string());
            }
        }
        self.missing_members.sort();
        self.missing_members.dedup();
        Ok(())
    }

    /// Finds calls within a section, which the compiler has resolved.
    fn find_calls(&mut self, section: usize) {
        let code = &mut self.sections[section];
        for at in (0..code.len()).step_by(SIZE) {
            let Some(instruction) = Instruction::at(code, at) else { break };
            if instruction.code() == CALL && instruction.source() == PSEUDO_CALL {
                let target = target(at + SIZE, instruction.number());
                self.calls.insert((section, at), (section, target));
            }
        }
    }

    fn fill_symbol(
        &mut self,
        object: &ParsedObject<'_>,
        kernel: &Btf<'_>,
        maps: &BTreeMap<usize, SectionMap>,
        section: usize,
        relocation: &Relocation,
    ) -> Result<(), ControlError> {
        let symbol = object.elf.symbols.get(relocation.symbol);
        let symbol = symbol.ok_or_else(|| ControlError::object("it refers to a missing symbol"))?;
        let mut instruction = self.instruction(section, relocation.at)?;
        match (relocation.kind, instruction.code()) {
            (R_BPF_64_32, CALL) if symbol.section == 0 => {
                let function = kernel.find(symbol.name, btf::FUNC);
                let function = function.ok_or_else(|| ControlError::Kernel {
                    why: format!("this kernel has no function {}, which {} calls", symbol.name, object.name),
                })?;
                instruction.set_source(PSEUDO_KFUNC_CALL);
                instruction.set_number(function);
                self.calls.remove(&(section, relocation.at));
            }
            (R_BPF_64_32, CALL) => {
                let target = (symbol.section, target(symbol.start.wrapping_add(SIZE), instruction.number()));
                self.calls.insert((section, relocation.at), target);
            }
            (R_BPF_64_64, LOAD_64) if maps.contains_key(&symbol.section) => {
                let place = (symbol.start as u32).wrapping_add(instruction.number());
                let (source, map, place) = match maps[&symbol.section] {
                    SectionMap::Data(map) => (PSEUDO_MAP_VALUE, map, place),
                    SectionMap::Whole(map) => (PSEUDO_MAP_FD, map, 0),
                };
                instruction.set_source(source);
                if !instruction.set_numbers(map as u32, place) {
                    return Err(ControlError::object("its code ends inside an instruction"));
                }
            }
            _ => {
                let why = format!("{} cannot be relocated: only constants and functions can", symbol.name);
                return Err(ControlError::object(why));
            }
        }
        Ok(())
    }
}

/// Returns the offset `instructions` (possibly negative) after `behind`.
fn target(behind: usize, instructions: u32) -> usize {
    behind.wrapping_add_signed(instructions as i32 as isize * SIZE as isize)
}
