//! The sections, symbols and relocations of an object file (ELF-64, the System V ABI chapters 4 and 5).

use super::bytes::{part, text, u16, u32, u64};

/// `EM_BPF` (linux/elf-em.h).
const BPF: u16 = 247;
const HEADER: usize = 64;

/// Types of sections.
const SYMTAB: u32 = 2;
const NOBITS: u32 = 8;
const REL: u32 = 9;

/// A section's flag: instructions.
const EXECINSTR: u64 = 4;

/// Types of symbols.
pub const OBJECT: u8 = 1;
/// A function.
pub const FUNC: u8 = 2;

/// An object file, read.
pub struct Elf<'a> {
    /// By their numbers; the first is empty.
    pub sections: Vec<Section<'a>>,
    /// By their numbers.
    pub symbols: Vec<Symbol<'a>>,
}

/// A piece of the file.
pub struct Section<'a> {
    pub name: &'a str,
    pub data: &'a [u8],
    kind: u32,
    flags: u64,
    /// What `kind` says: of relocations the section that they are for.
    info: u32,
    link: u32,
}

/// A name for a place in a section.
pub struct Symbol<'a> {
    pub name: &'a str,
    /// 0: not in this object.
    pub section: usize,
    pub kind: u8,
    pub is_global: bool,
    /// From the start of the section, bytes.
    pub start: usize,
    /// Bytes.
    pub size: usize,
}

/// A place to be filled in.
pub struct Relocation {
    /// From the start of the section, bytes.
    pub at: usize,
    pub kind: u32,
    /// The number of the symbol.
    pub symbol: usize,
}

impl<'a> Elf<'a> {
    /// Reads an eBPF object for little-endian machines; `None` for anything else.
    pub fn read(file: &'a [u8]) -> Option<Elf<'a>> {
        let is_bpf = file.starts_with(b"\x7fELF\x02\x01\x01")
            && u16(file, 18)? == BPF
            && usize::from(u16(file, 58)?) == HEADER;
        if !is_bpf {
            return None;
        }
        let first = usize::try_from(u64(file, 40)?).ok()?;
        let count = usize::from(u16(file, 60)?);
        let headers: Vec<&[u8]> = part(file, first, count * HEADER)?.chunks_exact(HEADER).collect();
        let names = content(file, headers.get(usize::from(u16(file, 62)?))?)?;
        let section = |header: &&'a [u8]| {
            Some(Section {
                name: text(names, u32(header, 0)? as usize)?,
                kind: u32(header, 4)?,
                flags: u64(header, 8)?,
                link: u32(header, 40)?,
                info: u32(header, 44)?,
                data: content(file, header)?,
            })
        };
        let sections = headers.iter().map(section).collect::<Option<Vec<_>>>()?;
        let symbols = symbols(&sections)?;
        Some(Elf { sections, symbols })
    }

    /// The number of the section of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// The section of this name.
    pub fn data(&self, name: &str) -> Option<&'a [u8]> {
        Some(self.sections[self.find(name)?].data)
    }

    /// What is to be filled in in this section.
    pub fn relocations(&self, section: usize) -> impl Iterator<Item = Relocation> + '_ {
        let ours = move |s: &&Section<'_>| s.kind == REL && s.info as usize == section;
        self.sections.iter().filter(ours).flat_map(|s| s.data.chunks_exact(16)).filter_map(|entry| {
            let about = u64(entry, 8)?;
            let at = usize::try_from(u64(entry, 0)?).ok()?;
            Some(Relocation { at, kind: about as u32, symbol: (about >> 32) as usize })
        })
    }
}

impl Section<'_> {
    /// Whether it holds instructions.
    pub fn is_code(&self) -> bool {
        self.flags & EXECINSTR != 0
    }
}

fn content<'a>(file: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    if u32(header, 4)? == NOBITS {
        return Some(&[]);
    }
    let (at, len) = (u64(header, 24)?, u64(header, 32)?);
    part(file, usize::try_from(at).ok()?, usize::try_from(len).ok()?)
}

fn symbols<'a>(sections: &[Section<'a>]) -> Option<Vec<Symbol<'a>>> {
    let Some(table) = sections.iter().find(|s| s.kind == SYMTAB) else { return Some(Vec::new()) };
    let names = sections.get(table.link as usize)?.data;
    let symbol = |entry: &'a [u8]| {
        let about = entry[4];
        Some(Symbol {
            name: text(names, u32(entry, 0)? as usize)?,
            kind: about & 15,
            is_global: about >> 4 == 1,
            section: usize::from(u16(entry, 6)?),
            start: usize::try_from(u64(entry, 8)?).ok()?,
            size: usize::try_from(u64(entry, 16)?).ok()?,
        })
    };
    table.data.chunks_exact(24).map(symbol).collect()
}
