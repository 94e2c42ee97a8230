//! The file as a tree of values, each of which knows where it was written.
//!
//! Overrides mix values of several texts (the file, each `--set`), so every key and value
//! carries an [`Origin`]: which text, and which bytes of it.

use crate::stage;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Which text, and which bytes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Origin {
    /// 0 is the file, n the n-th override.
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub at: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    Date(String),
    Array(Vec<Node>),
    Table(TomlTable),
}

/// Keys in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct TomlTable {
    pub entries: Vec<(Key, Node)>,
    /// Written `{ … }`: in a variant this is one value, not a path that goes on.
    pub inline: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub name: String,
    pub at: Origin,
}

impl Value {
    /// What it is called in an error.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Date(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value itself, for an error.
    pub fn describe(&self) -> String {
        match self {
            Value::Text(s) => format!("the text \"{s}\""),
            Value::Integer(n) => format!("the number {n}"),
            Value::Float(n) => format!("the number {n}"),
            Value::Bool(b) => b.to_string(),
            Value::Date(d) => format!("the date {d}"),
            Value::Array(_) | Value::Table(_) => self.kind().into(),
        }
    }
}

impl TomlTable {
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, _)| k.name == name).map(|(_, n)| n)
    }
    /// Sets a key in its place, or at the end.
    pub fn insert(&mut self, key: Key, node: Node) {
        match self.entries.iter_mut().find(|(k, _)| k.name == key.name) {
            Some(entry) => *entry = (key, node),
            None => self.entries.push((key, node)),
        }
    }
    pub fn remove(&mut self, name: &str) -> Option<Node> {
        let i = self.entries.iter().position(|(k, _)| k.name == name)?;
        Some(self.entries.remove(i).1)
    }
    pub fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(k, _)| k.name.clone()).collect()
    }
}

impl Node {
    pub fn text(text: &str, at: Origin) -> Node {
        Node { value: Value::Text(text.into()), at }
    }
    pub fn as_table(&self) -> Option<&TomlTable> {
        if let Value::Table(t) = &self.value { Some(t) } else { None }
    }
    pub fn as_array(&self) -> Option<&[Node]> {
        if let Value::Array(a) = &self.value { Some(a) } else { None }
    }
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(t) = &self.value { Some(t) } else { None }
    }
    /// The entry `name` of a table.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.as_table()?.get(name)
    }

    /// How many values the tree has.
    pub fn count(&self) -> usize {
        1 + match &self.value {
            Value::Array(a) => a.iter().map(Node::count).sum(),
            Value::Table(t) => t.entries.iter().map(|(_, n)| n.count()).sum(),
            _ => 0,
        }
    }

    /// The value at a path of keys and indexes.
    pub fn node_at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| match &node.value {
            Value::Table(t) => t.get(step),
            Value::Array(a) => a.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Where the value at `path` was written, or the nearest thing around it that was.
    pub fn place(&self, path: &[&str]) -> Origin {
        let mut nearest = (0..=path.len()).rev().filter_map(|n| self.node_at(&path[..n]));
        nearest.next().map_or(self.at, |node| node.at)
    }

    /// Where the key that ends `path` was written.
    pub fn key_place(&self, path: &[&str]) -> Origin {
        let Some((last, parents)) = path.split_last() else { return self.at };
        let table = self.node_at(parents).and_then(Node::as_table);
        let entry = table.and_then(|t| t.entries.iter().find(|(k, _)| k.name == *last));
        entry.map_or_else(|| self.place(parents), |(k, _)| k.at)
    }

    /// The dotted path of the key or value written at `at`; stages by name.
    pub fn key_at(&self, at: Origin) -> Option<String> {
        let mut path = Vec::new();
        self.find(at, &mut path).then(|| {
            let quoted: Vec<String> = path.iter().map(|p| crate::address::quote(p)).collect();
            quoted.join(".")
        })
    }

    fn find(&self, at: Origin, path: &mut Vec<String>) -> bool {
        match &self.value {
            Value::Table(t) => t.entries.iter().any(|(key, node)| {
                path.push(key.name.clone());
                let found = key.at == at || node.at == at || node.find(at, path);
                if !found {
                    path.pop();
                }
                found
            }),
            Value::Array(a) => {
                let names = stage::names_at(path, a);
                a.iter().enumerate().any(|(i, node)| {
                    path.push(names.get(i).cloned().unwrap_or_else(|| i.to_string()));
                    let found = node.at == at || node.find(at, path);
                    if !found {
                        path.pop();
                    }
                    found
                })
            }
            _ => false,
        }
    }
}

/// Turns the parser's values into ours.
pub(crate) struct Reader<'a> {
    pub source: u32,
    pub text: &'a str,
    /// Where `text` begins in the source.
    pub offset: usize,
}

impl Reader<'_> {
    pub fn origin(&self, span: std::ops::Range<usize>) -> Origin {
        let clamp = |n: usize| (n + self.offset).min(u32::MAX as usize) as u32;
        Origin { source: self.source, start: clamp(span.start), end: clamp(span.end) }
    }

    pub fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let at = self.origin(value.span());
        let value = match value.get_ref() {
            DeValue::String(s) => Value::Text(s.to_string()),
            // The parser has checked the digits; what no number type holds stays a text,
            // and is refused as one.
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

    pub fn table(&self, table: &DeTable<'_>, inline: bool) -> TomlTable {
        let entry = |(k, v): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = k.get_ref();
            (Key { name: name.to_string(), at: self.origin(k.span()) }, self.node(v))
        };
        TomlTable { entries: table.iter().map(entry).collect(), inline }
    }
}
