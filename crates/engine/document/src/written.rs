//! Converts any serde value into a tree with ordered keys and writes it as TOML.
//!
//! toml_edit is not used: it writes 1e-9 as 0.000000001 and a text with quotes on several lines, and it has
//! no integers above 2^63, which seeds need.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;

/// A value to be written as TOML.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    Text(String),
    /// Any i64 or u64.
    Integer(i128),
    Float(f64),
    Bool(bool),
    List(Vec<Written>),
    Table(Table),
    /// No value: the key is left out.
    Absent,
}

/// A table with ordered keys.
pub type Table = Vec<(String, Written)>;

/// Returns the value of a key, if the table has it.
pub fn get<'t>(table: &'t Table, key: &str) -> Option<&'t Written> {
    table.iter().find(|(k, _)| k == key).map(|(_, v)| v)
}

impl Written {
    /// Converts plain data. Keys are in declaration order; keys without a value are left out.
    pub fn of(data: &impl Serialize) -> Written {
        // Converted through text, because `serde_json::Value` may not preserve the order of keys.
        let text = serde_json::to_string(data).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Written::Absent)
    }

    pub fn text(text: &str) -> Written {
        Written::Text(text.into())
    }

    pub fn as_table(&self) -> Option<&Table> {
        if let Written::Table(table) = self { Some(table) } else { None }
    }

    /// Appends the value as TOML, in one line.
    pub fn spell(&self, out: &mut String) {
        match self {
            Written::Text(text) => quote(text, out),
            Written::Integer(n) => *out += &n.to_string(),
            // The shortest form that parses back to the same number, always with a point or an exponent.
            Written::Float(x) => *out += &format!("{x:?}"),
            Written::Bool(b) => *out += if *b { "true" } else { "false" },
            Written::List(list) => {
                *out += "[";
                for (i, value) in list.iter().enumerate() {
                    *out += if i > 0 { ", " } else { "" };
                    value.spell(out);
                }
                *out += "]";
            }
            Written::Table(table) if table.is_empty() => *out += "{}",
            Written::Table(table) => {
                *out += "{ ";
                for (i, (key, value)) in table.iter().enumerate() {
                    *out += if i > 0 { ", " } else { "" };
                    spell_key(key, out);
                    *out += " = ";
                    value.spell(out);
                }
                *out += " }";
            }
            Written::Absent => {}
        }
    }
}

/// A value as TOML in one line, as after the `=` of a `--set`. Tables are written `{ … }`; null values and
/// fields that serde skips are left out.
pub fn inline_toml(data: &impl Serialize) -> String {
    let mut text = String::new();
    Written::of(data).spell(&mut text);
    text
}

/// Appends a key, quoted if necessary.
pub fn spell_key(key: &str, out: &mut String) {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) {
        *out += key;
    } else {
        quote(key, out);
    }
}

/// Appends a basic string (toml.io, "String").
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => *out += "\\\"",
            '\\' => *out += "\\\\",
            '\n' => *out += "\\n",
            '\t' => *out += "\\t",
            '\r' => *out += "\\r",
            c if c.is_control() => *out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Written::Text(text) => s.serialize_str(text),
            Written::Integer(n) => match u64::try_from(*n) {
                Ok(n) => s.serialize_u64(n),
                Err(_) => s.serialize_i64(*n as i64),
            },
            Written::Float(x) => s.serialize_f64(*x),
            Written::Bool(b) => s.serialize_bool(*b),
            Written::List(list) => s.collect_seq(list),
            Written::Table(table) => s.collect_map(table.iter().map(|(k, v)| (k, v))),
            Written::Absent => s.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Written, D::Error> {
        d.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Written;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, b: bool) -> Result<Written, E> {
        Ok(Written::Bool(b))
    }
    fn visit_i64<E>(self, n: i64) -> Result<Written, E> {
        Ok(Written::Integer(n.into()))
    }
    fn visit_u64<E>(self, n: u64) -> Result<Written, E> {
        Ok(Written::Integer(n.into()))
    }
    fn visit_f64<E>(self, x: f64) -> Result<Written, E> {
        Ok(Written::Float(x))
    }
    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written::text(text))
    }
    fn visit_unit<E>(self) -> Result<Written, E> {
        Ok(Written::Absent)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Written, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Written::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
        let mut table = Table::new();
        while let Some((key, value)) = map.next_entry()? {
            if value != Written::Absent {
                table.push((key, value));
            }
        }
        Ok(Written::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(value: &Written) -> String {
        let mut out = String::new();
        value.spell(&mut out);
        out
    }

    #[test]
    fn values_are_spelt_as_toml() {
        let table = vec![
            ("a".to_string(), Written::Integer(u64::MAX.into())),
            ("b.c".to_string(), Written::List(vec![Written::Float(1.0), Written::Float(1e-9)])),
            ("ü".to_string(), Written::Bool(false)),
            ("t".to_string(), Written::text("a\"b\\c\nd\u{7f}é")),
            ("none".to_string(), Written::Table(vec![])),
        ];
        let text = spelt(&Written::Table(table.clone()));
        let wanted = "{ a = 18446744073709551615, \"b.c\" = [1.0, 1e-9], \"ü\" = false, \
                      t = \"a\\\"b\\\\c\\nd\\u007Fé\", none = {} }";
        assert_eq!(text, wanted);
        let read = toml::de::DeValue::parse(&text).unwrap();
        let read = read.get_ref().as_table().unwrap();
        assert_eq!(read.get("t").unwrap().get_ref().as_str(), Some("a\"b\\c\nd\u{7f}é"));
    }

    #[test]
    fn keys_keep_their_order() {
        #[derive(Serialize)]
        struct Data {
            z: u8,
            a: Option<u8>,
            m: &'static str,
        }
        let data = Data { z: 1, a: None, m: "x" };
        assert_eq!(spelt(&Written::of(&data)), "{ z = 1, m = \"x\" }");
    }
}
