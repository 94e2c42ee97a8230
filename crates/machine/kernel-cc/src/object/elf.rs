//! Reads the sections, symbols and relocations of an object file (ELF-64, the System V ABI chapters 4 and 5).

use super::bytes::{part, text, u16, u32, u64};

/// `EM_BPF` (linux/elf-em.h).
const BPF: u16 = 247;
const HEADER: usize = 64;

/// Section types.
const SYMTAB: u32 = 2;
const NOBITS: u32 = 8;
const REL: u32 = 9;

/// Section flag: instructions.
const EXECINSTR: u64 = 4;

/// Symbol type: data object.
pub const OBJECT: u8 = 1;
/// Symbol type: function.
pub const FUNC: u8 = 2;

/// A parsed object file.
pub struct Elf<'a> {
    /// By index; the first is empty.
    pub sections: Vec<Section<'a>>,
    /// By index.
    pub symbols: Vec<Symbol<'a>>,
}

/// A section of the file.
pub struct Section<'a> {
    pub name: &'a str,
    /// Contents; empty for a section that only reserves memory (`.bss`).
    pub data: &'a [u8],
    /// Size in memory, bytes.
    pub size: usize,
    kind: u32,
    flags: u64,
    /// Depends on `kind`; for relocations the section that they apply to.
    info: u32,
    link: u32,
}

/// A named position in a section.
pub struct Symbol<'a> {
    pub name: &'a str,
    /// Section index; 0: undefined in this object.
    pub section: usize,
    pub kind: u8,
    pub is_global: bool,
    /// Offset in the section, bytes.
    pub start: usize,
    /// Size, bytes.
    pub size: usize,
}

/// A relocation entry.
pub struct Relocation {
    /// Offset in the section, bytes.
    pub at: usize,
    pub kind: u32,
    /// Index of the symbol.
    pub symbol: usize,
}

impl<'a> Elf<'a> {
    /// Parses a little-endian eBPF object; `None` for anything else.
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
                size: usize::try_from(u64(header, 32)?).ok()?,
                data: content(file, header)?,
            })
        };
        let sections = headers.iter().map(section).collect::<Option<Vec<_>>>()?;
        let symbols = symbols(&sections)?;
        Some(Elf { sections, symbols })
    }

    /// Returns the index of a section.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// Returns the data of a section.
    pub fn data(&self, name: &str) -> Option<&'a [u8]> {
        Some(self.sections[self.find(name)?].data)
    }

    /// Iterates over the relocations of a section.
    pub fn relocations(&self, section: usize) -> impl Iterator<Item = Relocation> + '_ {
        let is_for_section = move |s: &&Section<'_>| s.kind == REL && s.info as usize == section;
        self.sections.iter().filter(is_for_section).flat_map(|s| s.data.chunks_exact(16)).filter_map(
            |entry| {
                let info = u64(entry, 8)?;
                let at = usize::try_from(u64(entry, 0)?).ok()?;
                Some(Relocation { at, kind: info as u32, symbol: (info >> 32) as usize })
            },
        )
    }
}

impl Section<'_> {
    /// Whether the section contains instructions.
    pub fn is_code(&self) -> bool {
        self.flags & EXECINSTR != 0
    }

    /// Whether the section holds variables that change: `.bss`, `.data` and sections called `.data.NAME`.
    pub fn is_variables(&self) -> bool {
        self.name == ".bss" || self.name == ".data" || self.name.starts_with(".data.")
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
        let info = entry[4];
        Some(Symbol {
            name: text(names, u32(entry, 0)? as usize)?,
            kind: info & 15,
            is_global: info >> 4 == 1,
            section: usize::from(u16(entry, 6)?),
            start: usize::try_from(u64(entry, 8)?).ok()?,
            size: usize::try_from(u64(entry, 16)?).ok()?,
        })
    };
    table.data.chunks_exact(24).map(symbol).collect()
}
