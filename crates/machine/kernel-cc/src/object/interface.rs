//! The interface of an object: what it uses and provides, independent of the compiler.

use super::ParsedObject;
use super::elf::FUNC;
use super::field::MemberPath;
use crate::Parameter;
use std::collections::BTreeSet;

/// An object's compiler-independent properties.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectInterface {
    licence: String,
    parameters: Vec<Parameter>,
    /// Operations that the object implements.
    functions: BTreeSet<String>,
    /// Kernel functions that the object calls.
    called: BTreeSet<String>,
    /// Members of kernel structs that the object accesses.
    members: BTreeSet<String>,
}

/// Returns the interface of an object.
pub fn interface(object: &ParsedObject<'_>) -> ObjectInterface {
    let symbols = || object.elf.symbols.iter().filter(|s| s.is_global);
    let accesses = object.ext.accesses.iter();
    let paths = accesses.filter_map(|a| MemberPath::read(&object.types, a.root, a.path));
    ObjectInterface {
        licence: object.licence().into(),
        parameters: object.parameters(),
        functions: symbols().filter(|s| s.kind == FUNC).map(|s| s.name.into()).collect(),
        called: symbols().filter(|s| s.section == 0).map(|s| s.name.into()).collect(),
        members: paths.map(|path| path.to_string()).collect(),
    }
}
