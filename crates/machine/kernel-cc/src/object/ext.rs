//! What an object tells of its instructions (`.BTF.ext`, Documentation/bpf/btf.rst): the source line of
//! each, and which members of the kernel's structs they use.

use super::btf::Btf;
use super::bytes::{part, text, u32};
use super::elf::Elf;

/// Where an instruction comes from.
pub struct SourceLine<'a> {
    /// The number of its section.
    pub section: usize,
    /// The instruction, bytes from the start of the section.
    pub at: usize,
    /// File, text and place, as the kernel takes them.
    pub source: &'a [u8],
}

/// An instruction that depends on a member of a struct of the kernel.
pub struct Access<'a> {
    /// The number of its section.
    pub section: usize,
    /// The instruction, bytes from the start of the section.
    pub at: usize,
    /// The struct, in the object's types.
    pub root: u32,
    /// The way from the struct to the member: indices with colons between.
    pub path: &'a str,
    /// What of the member is wanted (`enum bpf_core_relo_kind`, linux/bpf.h).
    pub what: u32,
}

/// All of it.
#[derive(Default)]
pub struct Ext<'a> {
    pub lines: Vec<SourceLine<'a>>,
    pub accesses: Vec<Access<'a>>,
}

/// Where the header says what is where.
const LINES: usize = 16;
const ACCESSES: usize = 24;
/// Bytes of the members of a record that are known here.
const RECORD: usize = 16;

impl<'a> Ext<'a> {
    /// Reads them; `None` where they are damaged.
    pub fn read(bytes: &'a [u8], types: &Btf<'a>, elf: &Elf<'a>) -> Option<Ext<'a>> {
        let mut ext = Ext::default();
        each(bytes, LINES, types, elf, |section, record| {
            let (at, source) = (u32(record, 0)? as usize, part(record, 4, 12)?);
            ext.lines.push(SourceLine { section, at, source });
            Some(())
        })?;
        each(bytes, ACCESSES, types, elf, |section, record| {
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

/// Hands out the records of one sort with the numbers of their sections.
fn each<'a>(
    bytes: &'a [u8],
    sort: usize,
    types: &Btf<'a>,
    elf: &Elf<'a>,
    mut take: impl FnMut(usize, &'a [u8]) -> Option<()>,
) -> Option<()> {
    let header = u32(bytes, 4)? as usize;
    if header < sort + 8 {
        return Some(()); // written before there were any
    }
    let piece = part(bytes, header.checked_add(u32(bytes, sort)? as usize)?, u32(bytes, sort + 4)? as usize)?;
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
