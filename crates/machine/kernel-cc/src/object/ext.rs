//! Reads an object's metadata about its instructions (`.BTF.ext`, Documentation/bpf/btf.rst): source lines,
//! and accesses to members of the kernel's structs.

use super::btf::Btf;
use super::bytes::{part, text, u32};
use super::elf::Elf;

/// The source line of an instruction.
pub struct SourceLine<'a> {
    /// Index of the instruction's section.
    pub section: usize,
    /// Offset of the instruction in the section, bytes.
    pub at: usize,
    /// File, text and position, in the kernel's format.
    pub source: &'a [u8],
}

/// An instruction that depends on a member of a kernel struct.
pub struct Access<'a> {
    /// Index of the instruction's section.
    pub section: usize,
    /// Offset of the instruction in the section, bytes.
    pub at: usize,
    /// Type id of the struct in the object's BTF.
    pub root: u32,
    /// Path from the struct to the member: indices separated by colons.
    pub path: &'a str,
    /// The requested property of the member (`enum bpf_core_relo_kind`, linux/bpf.h).
    pub what: u32,
}

/// All metadata of an object.
#[derive(Default)]
pub struct Ext<'a> {
    pub lines: Vec<SourceLine<'a>>,
    pub accesses: Vec<Access<'a>>,
}

/// Offsets in the header of the tables of lines and of accesses.
const LINES: usize = 16;
const ACCESSES: usize = 24;
/// Size of the known fields of a record, bytes.
const RECORD: usize = 16;

impl<'a> Ext<'a> {
    /// Reads the metadata; `None` if it is damaged.
    pub fn read(bytes: &'a [u8], types: &Btf<'a>, elf: &Elf<'a>) -> Option<Ext<'a>> {
        let mut ext = Ext::default();
        for_each_record(bytes, LINES, types, elf, |section, record| {
            let (at, source) = (u32(record, 0)? as usize, part(record, 4, 12)?);
            ext.lines.push(SourceLine { section, at, source });
            Some(())
        })?;
        for_each_record(bytes, ACCESSES, types, elf, |section, record| {
            ext.accesses.push(Access {
                section,
                at: u32(record, 0)? as usize,
                root: u32(record, 4)?,
                path: text(types.texts, u32(record, 8)? as usize)?,
                what: u32(record, 12)?,
            });
            Some(())
        })?;
        Some(ext)
    }
}

/// Calls `take` with the section index of each record of one table.
fn for_each_record<'a>(
    bytes: &'a [u8],
    table: usize,
    types: &Btf<'a>,
    elf: &Elf<'a>,
    mut take: impl FnMut(usize, &'a [u8]) -> Option<()>,
) -> Option<()> {
    let header = u32(bytes, 4)? as usize;
    if header < table + 8 {
        return Some(()); // an older header without this table
    }
    let piece =
        part(bytes, header.checked_add(u32(bytes, table)? as usize)?, u32(bytes, table + 4)? as usize)?;
    let Some(size) = u32(piece, 0).map(|n| n as usize) else { return Some(()) };
    if size < RECORD {
        return None;
    }
    let mut at = 4;
    while at < piece.len() {
        let section = elf.find(text(types.texts, u32(piece, at)? as usize)?)?;
        let records = part(piece, at + 8, size.checked_mul(u32(piece, at + 4)? as usize)?)?;
        records.chunks_exact(size).try_for_each(|record| take(section, record))?;
        at += 8 + records.len();
    }
    Some(())
}
