//! Column encoding of the report page: differences of integers as varints.
//!
//! A column is `rows` unsigned LEB128 varints. A value is `integer / per`; stored is the zigzag encoding of
//! its difference from the previous value (order 1), or of the difference between successive differences
//! (order 2: evenly spaced times become zeros). In a column with nulls the varint 0 stands for null, which
//! leaves the previous value as it is, and n stands for n − 1. A sample of a flow every 10 ms takes some 4
//! bytes; in JSON, 90.

use crate::Cells;

/// Position of an encoded column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VarintColumn {
    /// Offset of the column's first byte.
    pub at: usize,
    /// Number of values.
    pub rows: usize,
    /// Whether some values are null.
    pub nulls: bool,
}

/// Appends a column to `out`. Doubles are rounded to multiples of 1 / `per`; non-finite ones become null.
/// Returns `None`, and appends nothing, where all values are null.
pub fn put_column(out: &mut Vec<u8>, cells: Cells, per: u32, order: u8) -> Option<VarintColumn> {
    let whole = |x: f64| x.is_finite().then(|| (x * per as f64).round() as i64);
    match cells {
        Cells::Int(all) => put(out, order, all.iter().map(|&n| Some(n as i64))),
        Cells::IntOrNull(all) => put(out, order, all.iter().map(|n| n.map(|n| n as i64))),
        Cells::Real(all) => put(out, order, all.iter().map(|&x| whole(x))),
        Cells::RealOrNull(all) => put(out, order, all.iter().map(|x| x.and_then(whole))),
    }
}

fn put(
    out: &mut Vec<u8>,
    order: u8,
    values: impl Iterator<Item = Option<i64>> + Clone,
) -> Option<VarintColumn> {
    let rows = values.clone().count();
    let known = values.clone().flatten().count();
    if known == 0 && rows > 0 {
        return None;
    }
    let nulls = known < rows;
    let at = out.len();
    let (mut last, mut step) = (0_i64, 0_i64);
    for value in values {
        let Some(value) = value else {
            out.push(0);
            continue;
        };
        let mut difference = value.wrapping_sub(last);
        if order == 2 {
            let now = difference;
            difference = now.wrapping_sub(step);
            step = now;
        }
        last = value;
        varint(out, zigzag(difference) + nulls as u64);
    }
    Some(VarintColumn { at, rows, nulls })
}

/// Zigzag encoding: integers of small magnitude become small unsigned ones.
fn zigzag(n: i64) -> u64 {
    (n.wrapping_shl(1) ^ (n >> 63)) as u64
}

/// Unsigned LEB128.
fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Base64 encoding (RFC 4648 section 4).
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| chunk.get(i).copied().unwrap_or(0) as u32;
        let n = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * i)) as usize & 63] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_examples_of_rfc_4648() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn evenly_spaced_times_take_one_byte_per_row() {
        let mut out = Vec::new();
        let times: Vec<f64> = (0..1000).map(|i| i as f64 * 0.01).collect();
        let column = put_column(&mut out, Cells::Real(&times), 1_000_000, 2);
        assert_eq!(column, Some(VarintColumn { at: 0, rows: 1000, nulls: false }));
        assert!(out.len() < 1_010, "{}", out.len());
    }

    #[test]
    fn a_column_of_nulls_is_not_written() {
        let mut out = vec![1];
        assert_eq!(put_column(&mut out, Cells::RealOrNull(&[None, Some(f64::NAN)]), 1, 1), None);
        assert_eq!(out, [1]);
        let one = put_column(&mut out, Cells::IntOrNull(&[None, Some(3)]), 1, 1);
        assert_eq!(one, Some(VarintColumn { at: 1, rows: 2, nulls: true }));
        assert_eq!(out, [1, 0, 7]);
    }
}
