//! A column of a row group, decoded: pages, dictionary, nulls (apache/parquet-format, `Encodings.md`).
//!
//! Nothing is reserved on a file's word: a page may claim no more than its bytes can unpack to, and a column
//! no more rows than its group has.

use super::footer::Chunk;
use super::thrift::{self, Value, take, varint};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Snappy makes at most 64 bytes of 3.
const MOST_UNPACKED: usize = 24;

/// A value as a page holds it.
pub trait Cell: Sized + Copy {
    /// What texts are kept in; nothing for numbers.
    type Store: Default;
    /// Reads one off the front.
    fn read(bytes: &mut &[u8], store: &mut Self::Store) -> Option<Self>;
}

impl Cell for i64 {
    type Store = ();
    fn read(bytes: &mut &[u8], (): &mut ()) -> Option<i64> {
        Some(i64::from_le_bytes(*take(bytes, 8)?.first_chunk()?))
    }
}

impl Cell for f64 {
    type Store = ();
    fn read(bytes: &mut &[u8], (): &mut ()) -> Option<f64> {
        Some(f64::from_le_bytes(*take(bytes, 8)?.first_chunk()?))
    }
}

/// A text, by its number in a [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(u32);

/// Different texts, in order of appearance.
#[derive(Debug, Default)]
pub struct Texts {
    list: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl std::ops::Index<Text> for Texts {
    type Output = String;
    fn index(&self, text: Text) -> &String {
        &self.list[text.0 as usize]
    }
}

impl Cell for Text {
    type Store = Texts;
    fn read(bytes: &mut &[u8], texts: &mut Texts) -> Option<Text> {
        let len = u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?);
        let text = std::str::from_utf8(take(bytes, len as usize)?).ok()?;
        if let Some(&number) = texts.numbers.get(text) {
            return Some(Text(number));
        }
        let number = u32::try_from(texts.list.len()).ok()?;
        texts.list.push(text.into());
        texts.numbers.insert(text.into(), number);
        Some(Text(number))
    }
}

/// All `rows` values of a column's chunk; `null` where there is none, which is for `optional` columns only.
///
/// # Errors
/// What is wrong, for the user.
pub fn decode<T: Cell>(
    chunk: &Chunk,
    optional: bool,
    rows: usize,
    null: T,
    store: &mut T::Store,
) -> Result<Vec<T>, String> {
    let mut bytes = chunk.pages;
    let mut dictionary: Vec<T> = Vec::new();
    let mut out: Vec<T> = Vec::new();
    while out.len() < rows {
        let (header, packed) = page(&mut bytes).ok_or("has a broken page")?;
        let data = unpack(&header, packed, chunk.snappy).ok_or("has a page that does not unpack")?;
        match header.int(1) {
            Some(0) => {
                let page = header.field(5).ok_or("has a page without a header")?;
                let n = page.int(1).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
                if n > rows - out.len() {
                    return Err("has more rows than the file says".into());
                }
                let encoding = page.int(2).unwrap_or(-1);
                let levels = page.int(3).unwrap_or(-1);
                let terms = Terms { n, encoding, levels, optional, null };
                values(&data, &terms, &dictionary, store, &mut out)?;
            }
            Some(2) if out.is_empty() && dictionary.is_empty() => {
                let n = header.field(7).and_then(|page| page.int(1)).ok_or("has a page without a header")?;
                dictionary = entries(&data, n, store).ok_or("has a broken dictionary")?;
            }
            Some(1) => {} // an index
            kind => return Err(format!("has a page of type {kind:?}, which is not read here")),
        }
    }
    Ok(out)
}

/// The next page's header and its packed bytes.
fn page<'a>(bytes: &mut &'a [u8]) -> Option<(Value<'a>, &'a [u8])> {
    let header = thrift::read(bytes)?;
    let len = usize::try_from(header.int(3)?).ok()?;
    let packed = take(bytes, len)?;
    Some((header, packed))
}

fn unpack<'a>(header: &Value, packed: &'a [u8], snappy: bool) -> Option<Cow<'a, [u8]>> {
    let size = usize::try_from(header.int(2)?).ok()?;
    if !snappy {
        return (size == packed.len()).then_some(Cow::Borrowed(packed));
    }
    if size / MOST_UNPACKED > packed.len() || snap::raw::decompress_len(packed).ok()? != size {
        return None;
    }
    snap::raw::Decoder::new().decompress_vec(packed).ok().map(Cow::Owned)
}

fn entries<T: Cell>(mut data: &[u8], n: i64, store: &mut T::Store) -> Option<Vec<T>> {
    let mut list = Vec::new();
    for _ in 0..n {
        list.push(T::read(&mut data, store)?);
    }
    Some(list)
}

/// On what terms a page is read.
struct Terms<T> {
    n: usize,
    /// Of values.
    encoding: i64,
    /// Of definition levels.
    levels: i64,
    optional: bool,
    null: T,
}

/// Appends a data page's rows.
fn values<T: Cell>(
    mut data: &[u8],
    terms: &Terms<T>,
    dictionary: &[T],
    store: &mut T::Store,
    out: &mut Vec<T>,
) -> Result<(), String> {
    let n = terms.n;
    let levels = if terms.optional {
        if terms.levels != 3 {
            return Err(format!("has nulls in encoding {}, which is not read here", terms.levels));
        }
        Some(levels(&mut data, n).ok_or("has broken nulls")?)
    } else {
        None
    };
    let there = levels.as_ref().map_or(n, |l| l.iter().filter(|&&level| level == 1).count());
    let mut indices = Vec::new();
    match terms.encoding {
        0 => {}
        2 | 8 => {
            let width = take(&mut data, 1).map_or(u8::MAX, |b| b[0]);
            hybrid(data, width, there, &mut indices).ok_or("has broken values")?;
        }
        other => return Err(format!("has values in encoding {other}, which is not read here")),
    }
    let mut indices = indices.into_iter();
    let mut next = || match terms.encoding {
        0 => T::read(&mut data, store),
        _ => dictionary.get(indices.next()? as usize).copied(),
    };
    let broken = || "has broken values".to_string();
    match levels {
        None => {
            for _ in 0..n {
                out.push(next().ok_or_else(broken)?);
            }
        }
        Some(levels) => {
            for level in levels {
                out.push(if level == 1 { next().ok_or_else(broken)? } else { terms.null });
            }
        }
    }
    Ok(())
}

/// Definition levels, 1 where a value is there; with their length in front.
fn levels(data: &mut &[u8], n: usize) -> Option<Vec<u32>> {
    let len = u32::from_le_bytes(*take(data, 4)?.first_chunk()?);
    let mut levels = Vec::new();
    hybrid(take(data, len as usize)?, 1, n, &mut levels)?;
    Some(levels)
}

/// `n` numbers of `width` bits, in runs of one number and in groups of eight packed.
fn hybrid(mut data: &[u8], width: u8, n: usize, out: &mut Vec<u32>) -> Option<()> {
    if width > 32 {
        return None;
    }
    while out.len() < n {
        let left = n - out.len();
        let head = varint(&mut data)?;
        let count = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let bytes = take(&mut data, usize::from(width).div_ceil(8))?;
            let number = bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
            out.extend(std::iter::repeat_n(number as u32, count.min(left)));
            continue;
        }
        let count = count.checked_mul(8)?.min(left);
        // The last group may end with its last number.
        let bits = count.checked_mul(usize::from(width))?;
        let whole = usize::try_from(head >> 1).ok()?.saturating_mul(usize::from(width));
        let bytes = take(&mut data, whole.min(bits.div_ceil(8)))?;
        unpack_bits(bytes, width, count, out);
        let rest = (whole - bytes.len()).min(data.len());
        take(&mut data, rest)?;
    }
    Some(())
}

/// `count` numbers of `width` bits, the first in the lowest bits.
fn unpack_bits(bytes: &[u8], width: u8, count: usize, out: &mut Vec<u32>) {
    let (mut held, mut bits, mut bytes) = (0u64, 0u32, bytes.iter());
    let mask = (1u64 << width) - 1;
    for _ in 0..count {
        while bits < u32::from(width) {
            held |= u64::from(bytes.next().copied().unwrap_or(0)) << bits;
            bits += 8;
        }
        out.push((held & mask) as u32);
        held >>= width;
        bits -= u32::from(width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_groups() {
        // The format's own example: 0 to 7 in three bits each.
        let mut out = Vec::new();
        hybrid(&[3, 0x88, 0xc6, 0xfa], 3, 8, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
        // Five times 300, then 1 and 2 of a group.
        out.clear();
        hybrid(&[10, 0x2c, 1, 3, 1, 4, 0, 0, 0, 0, 0, 0, 0], 9, 7, &mut out).unwrap();
        assert_eq!(out, [300, 300, 300, 300, 300, 1, 2]);
        out.clear();
        hybrid(&[200, 1], 0, 100, &mut out).unwrap();
        assert_eq!(out, [0; 100]);
        for broken in [&[][..], &[3, 0x88], &[10, 0x2c], &[0, 0, 0, 0]] {
            assert!(hybrid(broken, 9, 7, &mut Vec::new()).is_none());
        }
    }
}
