//! Parses a text into a tree.

use crate::cause::RefusalCause;
use crate::fault::Fault;
use crate::origin::{Key, Origin};
use crate::tree::{Node, TomlTable, Value};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum size of a document.
pub const MAX_BYTES: usize = 1 << 20;

/// Parses the text of a file.
///
/// # Errors
/// Fails when the text is not TOML or is larger than [`MAX_BYTES`].
pub fn parse(text: &str) -> Result<TomlTable, Fault> {
    if text.len() > MAX_BYTES {
        return Err(RefusalCause::FileTooLarge { bytes: text.len(), limit: MAX_BYTES }.into());
    }
    // Some editors write a byte order mark.
    let offset = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let reader = Reader { source: 0, text: &text[offset..], offset };
    match DeTable::parse(reader.text) {
        Ok(table) => Ok(reader.table(table.get_ref(), false)),
        Err(e) => {
            let at = reader.origin(e.span().unwrap_or_default());
            let cause = RefusalCause::Syntax { message: e.message().trim().replace('\n', ", ") };
            Err(Fault::new(cause, at))
        }
    }
}

/// Reads a part of a text.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The number of the text, see [`Origin::source`].
    pub source: u32,
    /// The part to read.
    pub text: &'a str,
    /// Offset of the part in its text, in bytes.
    pub offset: usize,
}

impl Reader<'_> {
    /// The position of a range of the part.
    pub fn origin(&self, span: Range<usize>) -> Origin {
        let clamp = |n: usize| (n + self.offset).min(u32::MAX as usize) as u32;
        Origin { source: self.source, start: clamp(span.start), end: clamp(span.end) }
    }

    /// Reads the part as a TOML value. Anything that is not a TOML value is a text, and so are dates.
    ///
    /// # Errors
    /// Fails when the part begins like a quoted text, a list or a table, but is not valid.
    pub fn value(&self) -> Result<Node, Fault> {
        let text = self.text;
        let plain = Node::text(text, self.origin(0..text.len()));
        if text.is_empty() {
            return Ok(plain);
        }
        match DeValue::parse(text) {
            Ok(value) => {
                let node = self.node(&value);
                Ok(if matches!(node.value, Value::Date(_)) { plain } else { node })
            }
            Err(e) if text.starts_with(['"', '\'', '[', '{']) => {
                let cause = RefusalCause::Syntax { message: e.message().trim().into() };
                Err(Fault::new(cause, self.origin(e.span().unwrap_or(0..text.len()))))
            }
            Err(_) => Ok(plain),
        }
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let at = self.origin(value.span());
        let value = match value.get_ref() {
            DeValue::String(s) => Value::Text(s.to_string()),
            // The parser has checked the digits. A number beyond i128 stays a text, which number types
            // refuse.
            DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix())
                .map_or_else(|_| Value::Text(i.to_string()), Value::Integer),
            DeValue::Float(f) => {
                f.as_str().parse().map_or_else(|_| Value::Text(f.as_str().into()), Value::Float)
            }
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(d) => Value::Date(d.to_string()),
            DeValue::Array(a) => Value::Array(a.iter().map(|v| self.node(v)).collect()),
            DeValue::Table(t) => {
                let inline = self.text.as_bytes().get(value.span().start) == Some(&b'{');
                Value::Table(self.table(t, inline))
            }
        };
        Node { value, at }
    }

    fn table(&self, table: &DeTable<'_>, inline: bool) -> TomlTable {
        let entry = |(k, v): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
            (Key { name: k.get_ref().to_string(), at: self.origin(k.span()) }, self.node(v))
        };
        TomlTable { entries: table.iter().map(entry).collect(), inline }
    }
}
