//! A serde deserializer over [`Node`] that keeps the cause and the position of an error.

use crate::cause::RefusalCause;
use crate::fault::Fault;
use crate::origin::{Key, Origin};
use crate::tree::{Node, TomlTable, Value};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use std::fmt;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| w.to_string()).collect()
}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Fault {
        let mut message = message.to_string();
        // serde's message for an untagged enum.
        if message.starts_with("data did not match any variant") {
            message = "not one of the values that this key accepts".into();
        }
        RefusalCause::BadValue { message }.into()
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let found = match found {
            Unexpected::Str(s) => Value::Text(s.into()).describe(),
            Unexpected::Unsigned(n) => Value::Integer(n.into()).describe(),
            Unexpected::Signed(n) => Value::Integer(n.into()).describe(),
            Unexpected::Float(n) => Value::Float(n).describe(),
            Unexpected::Bool(b) => Value::Bool(b).describe(),
            Unexpected::Seq => "a list".into(),
            Unexpected::Map => "a table".into(),
            other => other.to_string(),
        };
        let expected = match expected.to_string().as_str() {
            "a string" | "string" => "a text in quotes".into(),
            "a boolean" => "true or false".into(),
            "a sequence" => "a list in [ ]".into(),
            "a map" => "a table".into(),
            "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number".into(),
            "f64" | "f32" => "a number".into(),
            s if s.starts_with("struct ") || s.contains(" struct ") || s.contains("enum ") => {
                "a table".into()
            }
            s => s.to_string(),
        };
        RefusalCause::WrongType { found, expected }.into()
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let allowed = match expected.to_string().as_str() {
            "u64" => "a whole number from 0".to_string(),
            "u32" => format!("a whole number from 0 to {}", u32::MAX),
            "u16" => format!("a whole number from 0 to {}", u16::MAX),
            "u8" => format!("a whole number from 0 to {}", u8::MAX),
            other => other.to_string(),
        };
        match found {
            Unexpected::Signed(n) => RefusalCause::OutOfRange { found: n.to_string(), allowed }.into(),
            Unexpected::Unsigned(n) => RefusalCause::OutOfRange { found: n.to_string(), allowed }.into(),
            other => Fault::invalid_type(other, expected),
        }
    }
    fn invalid_length(length: usize, expected: &dyn Expected) -> Fault {
        let found = format!("a list of {length}");
        let expected = match expected.to_string().as_str() {
            "an array of length 2" => "a list of 2".to_string(),
            other => other.to_string(),
        };
        RefusalCause::WrongType { found, expected }.into()
    }
    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Fault {
        RefusalCause::UnknownWord { what: "value", word: word.into(), known: owned(known) }.into()
    }
    fn unknown_field(key: &str, known: &'static [&'static str]) -> Fault {
        RefusalCause::UnknownKey { key: key.into(), known: owned(known) }.into()
    }
    fn missing_field(key: &'static str) -> Fault {
        RefusalCause::MissingKey { key: key.into() }.into()
    }
    fn duplicate_field(key: &'static str) -> Fault {
        RefusalCause::DuplicateName { what: "key", name: key.into() }.into()
    }
}

impl<'de> de::Deserializer<'de> for &'de Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Text(s) => visitor.visit_borrowed_str(s),
            Value::Integer(n) => match (i64::try_from(*n), u64::try_from(*n)) {
                (Ok(n), _) => visitor.visit_i64(n),
                (_, Ok(n)) => visitor.visit_u64(n),
                _ => Err(RefusalCause::OutOfRange {
                    found: n.to_string(),
                    allowed: "whole numbers of 64 bits".into(),
                }
                .into()),
            },
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Date(_) => {
                let found = self.value.describe();
                Err(de::Error::invalid_type(Unexpected::Other(&found), &visitor))
            }
            Value::Array(a) => {
                let mut rest = Items(a.iter());
                let value = visitor.visit_seq(&mut rest)?;
                match rest.0.len() {
                    0 => Ok(value),
                    n => Err(RefusalCause::WrongType {
                        found: format!("a list of {}", a.len()),
                        expected: format!("a list of {}", a.len() - n),
                    }
                    .into()),
                }
            }
            Value::Table(t) => visitor.visit_map(Entries::new(t)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Text(s) => visitor.visit_enum(s.as_str().into_deserializer()),
            Value::Table(t) => visitor.visit_enum(MapAccessDeserializer::new(Entries::new(t))),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> de::SeqAccess<'de> for &mut Items<'de> {
    type Error = Fault;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(node) = self.0.next() else { return Ok(None) };
        seed.deserialize(node).map(Some).map_err(|f| f.or_at(node.at))
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The entries of a table; also a deserializer of the table without some of its keys.
pub struct Entries<'de> {
    entries: std::slice::Iter<'de, (Key, Node)>,
    skip: &'static [&'static str],
    value: Option<&'de Node>,
}

impl<'de> Entries<'de> {
    fn new(table: &'de TomlTable) -> Entries<'de> {
        Entries::without(table, &[])
    }
    /// The table without the keys `skip`.
    pub fn without(table: &'de TomlTable, skip: &'static [&'static str]) -> Entries<'de> {
        Entries { entries: table.entries.iter(), skip, value: None }
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Fault;
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let skip = self.skip;
        let Some((key, node)) = self.entries.find(|(k, _)| !skip.contains(&k.name.as_str())) else {
            return Ok(None);
        };
        self.value = Some(node);
        let name = de::value::BorrowedStrDeserializer::new(&key.name);
        seed.deserialize(name).map(Some).map_err(|f: Fault| f.or_at(key.at))
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(node) = self.value.take() else {
            return Err(de::Error::custom("a value without a key"));
        };
        seed.deserialize(node).map_err(|f| {
            let at = place_in(node, &f.cause);
            f.or_at(at)
        })
    }
}

impl<'de> de::Deserializer<'de> for Entries<'de> {
    type Error = Fault;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self)
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The position in `node` of an error that serde reported without one, because it buffers tagged enums.
pub fn place_in(node: &Node, cause: &RefusalCause) -> Origin {
    let entries = node.as_table().map(|t| t.entries.as_slice()).unwrap_or_default();
    let value = |is: &dyn Fn(&Node) -> bool| entries.iter().find(|(_, n)| is(n)).map(|(_, n)| n.at);
    let place = match cause {
        RefusalCause::UnknownKey { key, .. } => {
            entries.iter().find(|(k, _)| k.name == *key).map(|(k, _)| k.at)
        }
        RefusalCause::UnknownWord { word, .. } => value(&|n| n.as_text() == Some(word)),
        // Messages about quantities quote the text that cannot be parsed.
        RefusalCause::BadValue { message } => {
            let quotes = |t: &str| message.contains(&format!("`{t}`"));
            let found = |n: &Node| message.ends_with(&format!(", found {}", n.value.describe()));
            value(&|n| n.as_text().is_some_and(quotes) || found(n))
        }
        RefusalCause::OutOfRange { found, .. } => {
            value(&|n| matches!(n.value, Value::Integer(i) if i.to_string() == *found))
        }
        RefusalCause::WrongType { found, .. } => value(&|n| *found == n.value.describe()),
        _ => None,
    };
    place.unwrap_or(node.at)
}

/// Reads an enum tagged by `kind`. serde buffers such a table and loses the position of an error. It is found
/// again by deserialising each key alone with `kind`: the first one that gives the same error is wrong.
///
/// # Errors
/// Fails when the type does not accept a key or value; the error has its position.
pub fn read_tagged<T: DeserializeOwned>(node: &Node) -> Result<T, Fault> {
    let fault = match T::deserialize(node) {
        Ok(value) => return Ok(value),
        Err(fault) if matches!(fault.cause, RefusalCause::MissingKey { .. }) => {
            return Err(Fault::new(fault.cause, node.at));
        }
        Err(fault) if fault.at.is_some() => return Err(fault),
        Err(fault) => fault,
    };
    let mut at = place_in(node, &fault.cause);
    if at == node.at
        && let Some(table) = node.as_table()
    {
        let guilty = table.entries.iter().find(|(key, _)| {
            let kept = |k: &Key| k.name == "kind" || k.name == key.name;
            let entries = table.entries.iter().filter(|(k, _)| kept(k)).cloned().collect();
            let alone = Node { value: Value::Table(TomlTable { entries, inline: true }), at: node.at };
            T::deserialize(&alone).is_err_and(|f| f.cause == fault.cause)
        });
        at = guilty.map_or(at, |(_, value)| value.at);
    }
    Err(fault.or_at(at))
}
