//! An object file of a program: parsing, setting its parameters, and relocating it for the running kernel.
//! This module makes no system calls; `load.rs` does.

mod btf;
mod bytes;
mod control;
mod describe;
mod elf;
mod ext;
mod field;
mod instruction;
#[cfg(test)]
mod interface;
mod link;
mod relocate;
#[cfg(test)]
mod tests;

pub use btf::Btf;
pub use control::{Operation, StructOpsPlan, plan};
pub use describe::{CONSTANTS, describe};
#[cfg(test)]
pub use interface::interface;
pub use link::link;
pub use relocate::{Code, SectionMap};

use crate::{ControlError, Parameter};
use elf::{Elf, OBJECT};
use ext::Ext;

pub use btf::{DATASEC, FUNC, FUNC_PROTO, PTR, STRUCT, VAR};

/// A parsed object that has not been loaded.
pub struct ParsedObject<'a> {
    /// Name for messages.
    pub name: String,
    elf: Elf<'a>,
    pub types: Btf<'a>,
    ext: Ext<'a>,
    /// Index of the section of constants.
    section: Option<usize>,
    /// The constants, with the current parameters.
    pub constants: Vec<u8>,
}

impl<'a> ParsedObject<'a> {
    /// Parses an object file. `name` is for messages.
    ///
    /// # Errors
    /// Fails with [`ControlError::Object`].
    pub fn new(name: &str, bytes: &'a [u8]) -> Result<ParsedObject<'a>, ControlError> {
        let elf = Elf::read(bytes)
            .ok_or_else(|| ControlError::object("it is not an eBPF object, or it is damaged"))?;
        let types = elf.data(".BTF").and_then(Btf::read);
        let types = types.ok_or_else(|| ControlError::object("its types (.BTF) are missing or damaged"))?;
        let ext = elf.data(".BTF.ext").and_then(|bytes| Ext::read(bytes, &types, &elf));
        let ext = ext.ok_or_else(|| {
            ControlError::object("its relocations and lines (.BTF.ext) are missing or damaged")
        })?;
        let section = elf.find(CONSTANTS);
        let constants = section.map_or(Vec::new(), |n| elf.sections[n].data.to_vec());
        Ok(ParsedObject { name: name.into(), elf, types, ext, section, constants })
    }

    /// Returns the program's licence, which the kernel requires.
    pub fn licence(&self) -> &str {
        self.elf.data("license").and_then(|bytes| bytes::text(bytes, 0)).unwrap_or("")
    }

    /// Returns the string table that source lines refer to.
    pub fn texts(&self) -> &'a [u8] {
        self.types.texts
    }

    /// Returns the names of the object's sections.
    #[cfg(test)]
    pub fn sections(&self) -> Vec<&'a str> {
        self.elf.sections.iter().map(|s| s.name).collect()
    }

    /// Returns index, name and size in bytes of the sections with variables, and the index of the constants.
    pub fn data_sections(&self) -> (Vec<(usize, &'a str, usize)>, Option<usize>) {
        let all = self.elf.sections.iter().enumerate().filter(|(_, s)| s.is_variables() && s.size > 0);
        (all.map(|(i, s)| (i, s.name, s.size)).collect(), self.section)
    }

    /// Returns the index of the section with this name.
    pub fn section(&self, name: &str) -> Option<usize> {
        self.elf.find(name)
    }

    /// Returns the position of a function in the object's code.
    pub fn function(&self, name: &str) -> Option<(usize, usize)> {
        let found = self.elf.symbols.iter().find(|s| s.kind == elf::FUNC && s.name == name);
        found.map(|s| (s.section, s.start))
    }

    /// Replaces a constant of any type by its bytes.
    ///
    /// # Errors
    /// Fails with [`ControlError::Object`] if there is no constant of this name and size.
    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), ControlError> {
        let symbols = self.elf.symbols.iter();
        let found = symbols.filter(|s| self.is_constants(s.section)).find(|s| s.name == name);
        let place = found.filter(|s| s.size == bytes.len()).map(|s| s.start..s.start.saturating_add(s.size));
        let place = place.and_then(|range| self.constants.get_mut(range));
        let place = place.ok_or_else(|| {
            ControlError::object(format!("it has no constant `{name}` of {} bytes", bytes.len()))
        })?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn is_constants(&self, section: usize) -> bool {
        self.section == Some(section)
    }

    /// Returns the parameters, in the order of the constants.
    pub fn parameters(&self) -> Vec<Parameter> {
        let symbols = self.elf.symbols.iter();
        let constants = symbols.filter(|s| self.is_constants(s.section) && s.kind == OBJECT && s.is_global);
        let mut all: Vec<Parameter> =
            constants.filter_map(|s| Parameter::read(s.name, s.start, s.size, &self.constants)).collect();
        all.sort_by_key(|p| p.place);
        all
    }

    /// Sets parameters by name.
    ///
    /// # Errors
    /// Fails with [`ControlError::Parameter`].
    pub fn set(&mut self, values: &[(&str, u64)]) -> Result<(), ControlError> {
        let all = self.parameters();
        let error = |why: String| ControlError::Parameter { why };
        for &(name, value) in values {
            let found = all.iter().find(|p| p.name == name).ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                error(format!("{} has no parameter `{name}`; it has: {known}", self.name))
            })?;
            if value > found.max {
                return Err(error(format!("{}: `{name}` is at most {}, not {value}", self.name, found.max)));
            }
            found.write(value, &mut self.constants);
        }
        Ok(())
    }
}

/// Returns the parameters that a BTF describes, with their values in `bytes`.
pub fn described(types: &Btf<'_>, bytes: &[u8]) -> Vec<Parameter> {
    let section = types.find(CONSTANTS, DATASEC).and_then(|n| types.get(n));
    let entries = section.map_or(&[][..], |s| s.rest).chunks_exact(12);
    let parameter = |entry: &[u8]| {
        let variable = types.get(bytes::u32(entry, 0)?).filter(|t| t.kind == VAR)?;
        let is_global = bytes::u32(variable.rest, 0)? == 1;
        let (start, size) = (bytes::u32(entry, 4)? as usize, bytes::u32(entry, 8)? as usize);
        is_global.then(|| Parameter::read(types.name(&variable), start, size, bytes))?
    };
    entries.filter_map(parameter).collect()
}
