//! Thrift's compact protocol, as far as Parquet's footers and page headers need it
//! (apache/thrift, `doc/specs/thrift-compact-protocol.md`).

/// Nested deeper than any footer.
const DEEPEST: u32 = 12;

/// A value; what we never look at is [`Value::Other`].
#[derive(Debug)]
pub enum Value<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    Struct(Vec<(i16, Value<'a>)>),
    Other,
}

impl<'a> Value<'a> {
    /// A struct's field.
    pub fn field(&self, id: i16) -> Option<&Value<'a>> {
        match self {
            Value::Struct(fields) => fields.iter().find(|f| f.0 == id).map(|f| &f.1),
            _ => None,
        }
    }

    /// A struct's field, when it is a number.
    pub fn int(&self, id: i16) -> Option<i64> {
        match self.field(id)? {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// A struct's field, when it is a list.
    pub fn list(&self, id: i16) -> Option<&[Value<'a>]> {
        match self.field(id)? {
            Value::List(list) => Some(list),
            _ => None,
        }
    }
}

/// Reads a struct off the front of `bytes`; `None` when it is none. Memory is a small multiple of what was read:
/// every element of a list takes a byte at least.
pub fn read<'a>(bytes: &mut &'a [u8]) -> Option<Value<'a>> {
    structure(bytes, DEEPEST)
}

/// A little-endian number of 7 bits a byte.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// The first `n` bytes.
pub fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(n)?;
    *bytes = tail;
    Some(head)
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let n = varint(bytes)?;
    Some((n >> 1) as i64 ^ -((n & 1) as i64))
}

fn structure<'a>(bytes: &mut &'a [u8], depth: u32) -> Option<Value<'a>> {
    let depth = depth.checked_sub(1)?;
    let (mut fields, mut id) = (Vec::new(), 0i16);
    loop {
        let head = take(bytes, 1)?[0];
        if head == 0 {
            return Some(Value::Struct(fields));
        }
        id = match head >> 4 {
            0 => i16::try_from(zigzag(bytes)?).ok()?,
            delta => id.checked_add(i16::from(delta))?,
        };
        // A field's boolean is in its type.
        let value = match head & 15 {
            1 | 2 => Value::Other,
            kind => value(bytes, kind, depth)?,
        };
        fields.push((id, value));
    }
}

fn value<'a>(bytes: &mut &'a [u8], kind: u8, depth: u32) -> Option<Value<'a>> {
    Some(match kind {
        1..=3 => {
            take(bytes, 1)?;
            Value::Other
        }
        4..=6 => Value::Int(zigzag(bytes)?),
        7 => {
            take(bytes, 8)?;
            Value::Other
        }
        8 => {
            let n = usize::try_from(varint(bytes)?).ok()?;
            Value::Bytes(take(bytes, n)?)
        }
        9 | 10 => {
            let head = take(bytes, 1)?[0];
            let n = if head >> 4 == 15 { varint(bytes)? } else { u64::from(head >> 4) };
            let depth = depth.checked_sub(1)?;
            let mut list = Vec::new();
            for _ in 0..n {
                list.push(value(bytes, head & 15, depth)?);
            }
            Value::List(list)
        }
        12 => structure(bytes, depth)?,
        _ => return None, // maps: Parquet has none
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_lists_and_numbers() {
        // 1: i32 -3; 2: true; 5 (delta 3): "ab"; 20 (long form): [i64 1, i64 2]; stop; one byte more.
        let bytes = [0x15, 5, 0x11, 0x38, 2, b'a', b'b', 0x09, 40, 0x26, 2, 4, 0, 9];
        let mut rest = &bytes[..];
        let v = read(&mut rest).unwrap();
        assert_eq!((v.int(1), rest), (Some(-3), &[9][..]));
        assert!(matches!(v.field(5), Some(Value::Bytes(b"ab"))) && v.field(3).is_none());
        assert!(matches!(v.list(20), Some([Value::Int(1), Value::Int(2)])));
        for n in 0..bytes.len() - 1 {
            assert!(read(&mut &bytes[..n]).is_none());
        }
    }

    #[test]
    fn what_would_never_end_is_refused() {
        // Structs in structs; a list of 2^63 elements; a number of eleven bytes.
        assert!(read(&mut &[0x1c; 100_000][..]).is_none());
        let mut list = vec![0x19, 0xf5];
        list.extend([0xff; 8]);
        list.push(0x7f);
        assert!(read(&mut &list[..]).is_none());
        assert!(varint(&mut &[0xff; 11][..]).is_none());
    }
}
