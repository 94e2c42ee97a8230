//! Reads types in BTF (Documentation/bpf/btf.rst), of an object or of the running kernel.

use super::bytes::{part, text, u16, u32};

pub const MAGIC: u16 = 0xeb9f;
/// Maximum length of a chain of types: typedefs of typedefs, arrays of arrays.
const MAX_CHAIN: usize = 32;

/// Kinds of types.
pub const INT: u8 = 1;
pub const PTR: u8 = 2;
pub const ARRAY: u8 = 3;
pub const STRUCT: u8 = 4;
pub const UNION: u8 = 5;
pub const ENUM: u8 = 6;
const FWD: u8 = 7;
const TYPEDEF: u8 = 8;
const VOLATILE: u8 = 9;
const CONST: u8 = 10;
const RESTRICT: u8 = 11;
pub const FUNC: u8 = 12;
pub const FUNC_PROTO: u8 = 13;
pub const VAR: u8 = 14;
pub const DATASEC: u8 = 15;
const FLOAT: u8 = 16;
const DECL_TAG: u8 = 17;
const TYPE_TAG: u8 = 18;
const ENUM64: u8 = 19;

/// All types of an object or a kernel.
pub struct Btf<'a> {
    types: &'a [u8],
    /// The string table.
    pub texts: &'a [u8],
    /// Offset of each type, starting with type id 1; 0 is `void`.
    starts: Vec<u32>,
}

/// One type.
#[derive(Clone, Copy)]
pub struct Type<'a> {
    name: u32,
    pub kind: u8,
    /// Number of members or arguments.
    pub count: usize,
    /// Whether members may be bit fields.
    has_bits: bool,
    /// Size in bytes, or the id of the referenced type.
    pub word: u32,
    /// The data after the fixed part.
    pub rest: &'a [u8],
}

/// A member of a struct or union.
pub struct Member<'a> {
    /// Empty for an anonymous member.
    pub name: &'a str,
    pub of: u32,
    /// Offset in the struct, bits.
    pub bits: u64,
    /// Width of a bit field, otherwise 0.
    pub width: u32,
}

/// Returns the number of bytes after a type's fixed twelve.
fn trailing_bytes(kind: u8, count: usize) -> Option<usize> {
    Some(match kind {
        INT | VAR | DECL_TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
        ENUM | FUNC_PROTO => 8 * count,
        PTR | FWD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNC | FLOAT | TYPE_TAG => 0,
        _ => return None,
    })
}

impl<'a> Btf<'a> {
    /// Reads BTF data; `None` if it is damaged or of an unknown kind.
    pub fn read(bytes: &'a [u8]) -> Option<Btf<'a>> {
        if u16(bytes, 0)? != MAGIC {
            return None;
        }
        let body = bytes.get(u32(bytes, 4)? as usize..)?;
        let piece = |at: usize| part(body, u32(bytes, at)? as usize, u32(bytes, at + 4)? as usize);
        let (types, texts) = (piece(8)?, piece(16)?);
        let mut btf = Btf { types, texts, starts: Vec::with_capacity(types.len() / 24) };
        let mut at = 0;
        while at < types.len() {
            let entry = btf.at(at)?;
            btf.starts.push(at as u32);
            at += 12 + entry.rest.len();
        }
        Some(btf)
    }

    fn at(&self, at: usize) -> Option<Type<'a>> {
        let info = u32(self.types, at + 4)?;
        let (kind, count) = ((info >> 24 & 31) as u8, (info & 0xffff) as usize);
        Some(Type {
            name: u32(self.types, at)?,
            kind,
            count,
            has_bits: info >> 31 == 1,
            word: u32(self.types, at + 8)?,
            rest: part(self.types, at + 12, trailing_bytes(kind, count)?)?,
        })
    }

    /// Returns the type with this id; `None` for `void`.
    pub fn get(&self, number: u32) -> Option<Type<'a>> {
        let start = *self.starts.get((number as usize).checked_sub(1)?)?;
        self.at(start as usize)
    }

    /// Returns a type's name; empty if it has none.
    pub fn name(&self, of: &Type<'_>) -> &'a str {
        text(self.texts, of.name as usize).unwrap_or("")
    }

    /// Returns the ids of all types of this name and kind.
    pub fn all(&self, name: &str, kind: u8) -> impl Iterator<Item = u32> {
        let has_name = move |t: &Type<'_>| {
            let found = self.texts.get(t.name as usize..);
            found.and_then(|t| t.strip_prefix(name.as_bytes())).is_some_and(|end| end.first() == Some(&0))
        };
        let numbers = 1..=self.starts.len() as u32;
        numbers.filter(move |&n| self.get(n).is_some_and(|t| t.kind == kind && has_name(&t)))
    }

    /// Returns the id of the first type of this name and kind.
    pub fn find(&self, name: &str, kind: u8) -> Option<u32> {
        self.all(name, kind).next()
    }

    /// Iterates over the members of a struct or union.
    pub fn members(&self, of: &Type<'a>) -> impl Iterator<Item = Member<'a>> {
        let has_bits = of.has_bits;
        let entries = if matches!(of.kind, STRUCT | UNION) { of.rest } else { &[] };
        entries.chunks_exact(12).filter_map(move |entry| {
            let place = u32(entry, 8)?;
            Some(Member {
                name: text(self.texts, u32(entry, 0)? as usize)?,
                of: u32(entry, 4)?,
                bits: u64::from(if has_bits { place & 0xff_ffff } else { place }),
                width: if has_bits { place >> 24 } else { 0 },
            })
        })
    }

    /// Resolves typedefs and qualifiers such as `const`.
    pub fn resolved(&self, number: u32) -> Option<(u32, Type<'a>)> {
        let mut number = number;
        for _ in 0..MAX_CHAIN {
            let found = self.get(number)?;
            match found.kind {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => number = found.word,
                _ => return Some((number, found)),
            }
        }
        None
    }

    /// Returns the type and the number of an array's elements.
    pub fn elements(&self, of: &Type<'_>) -> Option<(u32, u32)> {
        if of.kind != ARRAY {
            return None;
        }
        Some((u32(of.rest, 0)?, u32(of.rest, 8)?))
    }

    /// Returns the size of a type's values, bytes.
    pub fn size(&self, number: u32) -> Option<u64> {
        let (mut number, mut times) = (number, 1u64);
        for _ in 0..MAX_CHAIN {
            let (_, it) = self.resolved(number)?;
            match it.kind {
                INT | STRUCT | UNION | ENUM | ENUM64 | FLOAT => return times.checked_mul(it.word.into()),
                PTR => return times.checked_mul(8),
                _ => {
                    let (of, count) = self.elements(&it)?;
                    times = times.checked_mul(count.into())?;
                    number = of;
                }
            }
        }
        None
    }

    /// Whether a type is an unsigned integer.
    pub fn is_unsigned(&self, number: u32) -> bool {
        let info = self.resolved(number).filter(|(_, t)| t.kind == INT).and_then(|(_, t)| u32(t.rest, 0));
        info.is_some_and(|info| info >> 24 & 1 == 0)
    }
}

/// Whether two kinds are equivalent: enumerations of 32 and of 64 bits are.
pub fn is_equivalent(a: u8, b: u8) -> bool {
    let same = |kind| if kind == ENUM64 { ENUM } else { kind };
    same(a) == same(b)
}
