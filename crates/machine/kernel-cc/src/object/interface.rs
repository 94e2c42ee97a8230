//! What an object uses and offers: the same whatever compiled it.

use super::Opened;
use super::elf::FUNC;
use super::field::MemberPath;
use crate::Parameter;
use std::collections::BTreeSet;

/// What compilers do not differ in.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    licence: String,
    parameters: Vec<Parameter>,
    /// Operations that it has.
    functions: BTreeSet<String>,
    /// Functions of the kernel that it calls.
    called: BTreeSet<String>,
    /// Members of the kernel's structs that it uses.
    members: BTreeSet<String>,
}

/// The shape of an object.
pub fn shape(object: &Opened<'_>) -> Shape {
    let symbols = || object.elf.symbols.iter().filter(|s| s.is_global);
    let accesses = object.ext.accesses.iter();
    let ways = accesses.filter_map(|a| MemberPath::read(&object.types, a.root, a.path));
    Shape {
        licence: object.licence().into(),
        parameters: object.parameters(),
        functions: symbols().filter(|s| s.kind == FUNC).map(|s| s.name.into()).collect(),
        called: symbols().filter(|s| s.section == 0).map(|s| s.name.into()).collect(),
        members: ways.map(|way| way.to_string()).collect(),
    }
}
