//! A Parquet file's footer: its columns, its row groups, and where each group's columns lie
//! (apache/parquet-format, `parquet.thrift`).

use super::thrift::{self, Value};

const MAGIC: &[u8] = b"PAR1";

/// Physical types, as the format numbers them.
pub const INT64: i64 = 2;
pub const DOUBLE: i64 = 5;
pub const BYTE_ARRAY: i64 = 6;

/// A column of the schema.
pub struct Leaf {
    pub name: String,
    pub physical: i64,
    /// 0 required, 1 optional, 2 repeated.
    pub repetition: i64,
}

/// Where a column's pages of a row group are.
pub struct Chunk<'a> {
    pub pages: &'a [u8],
    pub snappy: bool,
}

/// A row group.
pub struct Group<'a> {
    pub rows: usize,
    /// One for each column of the schema.
    columns: Vec<Value<'a>>,
}

/// What the footer says.
pub struct Footer<'a> {
    bytes: &'a [u8],
    pub leaves: Vec<Leaf>,
    pub groups: Vec<Group<'a>>,
}

impl<'a> Footer<'a> {
    /// Of a whole file.
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn read(bytes: &'a [u8]) -> Result<Footer<'a>, String> {
        let cut = "is no Parquet file, or was cut";
        let body = bytes.strip_prefix(MAGIC).and_then(|b| b.strip_suffix(MAGIC)).ok_or(cut)?;
        let (body, size) = body.split_last_chunk::<4>().ok_or(cut)?;
        let start = body.len().checked_sub(u32::from_le_bytes(*size) as usize).ok_or(cut)?;
        let mut footer = &body[start..];
        let broken = "has a broken footer";
        let Some(Value::Struct(fields)) = thrift::read(&mut footer) else { return Err(broken.into()) };
        let meta = Value::Struct(fields);
        let leaves = leaves(meta.list(2).ok_or(broken)?)?;
        let Value::Struct(fields) = meta else { return Err(broken.into()) };
        let groups = fields.into_iter().find(|f| f.0 == 4).ok_or(broken)?.1;
        let Value::List(groups) = groups else { return Err(broken.into()) };
        let groups = groups.into_iter().map(|g| group(g, leaves.len()).ok_or(broken));
        let groups = groups.collect::<Result<_, _>>()?;
        Ok(Footer { bytes, leaves, groups })
    }

    /// Where column `leaf` of a group lies; `None` when it lies nowhere in the file, or is packed as we cannot
    /// unpack.
    pub fn chunk(&self, group: &Group<'a>, leaf: usize) -> Option<Chunk<'a>> {
        let meta = group.columns.get(leaf)?.field(3)?;
        let codec = meta.int(4)?;
        let data = meta.int(9)?;
        // Some writers say 0 for "no dictionary".
        let start = meta.int(11).filter(|&at| at > 0).map_or(data, |at| at.min(data));
        let (start, len) = (usize::try_from(start).ok()?, usize::try_from(meta.int(7)?).ok()?);
        let pages = self.bytes.get(start..start.checked_add(len)?)?;
        (codec == 0 || codec == 1).then_some(Chunk { pages, snappy: codec == 1 })
    }
}

fn leaves(schema: &[Value]) -> Result<Vec<Leaf>, String> {
    let leaf = |element: &Value| {
        if element.int(5).is_some_and(|children| children > 0) {
            return Err("has nested columns; expected plain ones".to_string());
        }
        let Some(Value::Bytes(name)) = element.field(4) else {
            return Err("has a column without a name".into());
        };
        let name = String::from_utf8_lossy(name).into_owned();
        // A group without children has no type, and no chunk either.
        let physical = element.int(1).ok_or("has a column without a type")?;
        Ok(Leaf { name, physical, repetition: element.int(3).unwrap_or(0) })
    };
    schema.iter().skip(1).map(leaf).collect()
}

fn group(value: Value, leaves: usize) -> Option<Group> {
    let rows = usize::try_from(value.int(3)?).ok()?;
    let Value::Struct(fields) = value else { return None };
    let Value::List(columns) = fields.into_iter().find(|f| f.0 == 1)?.1 else { return None };
    (columns.len() == leaves).then_some(Group { rows, columns })
}
