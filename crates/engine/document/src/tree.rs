//! A document as a tree of values with positions.

use crate::cause::RefusalCause;
use crate::fault::Fault;
use crate::key_path::{check_name, key_path};
use crate::origin::{Key, Origin};

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    pub value: Value,
    pub at: Origin,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    /// Wider than TOML's integers, to hold both i64 and u64.
    Integer(i128),
    Float(f64),
    Bool(bool),
    /// A date or a time, as written.
    Date(String),
    Array(Vec<Node>),
    Table(TomlTable),
}

/// A table in file order.
#[derive(Clone, Debug, Default)]
pub struct TomlTable {
    /// Keys are unique.
    pub entries: Vec<(Key, Node)>,
    /// Whether the table is written as `{ … }`. In an override such a table is a value, while others
    /// continue the path.
    pub inline: bool,
}

impl Value {
    /// The type's name in errors.
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

    /// The value in errors.
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
    /// Replaces the value of a key, or appends the key.
    pub fn insert(&mut self, key: Key, node: Node) {
        match self.entries.iter_mut().find(|(k, _)| k.name == key.name) {
            Some(entry) => *entry = (key, node),
            None => self.entries.push((key, node)),
        }
    }
    /// The value of a key. A missing key is appended with an empty table.
    pub fn get_or_insert_table(&mut self, key: &Key) -> &mut Node {
        let i = self.entries.iter().position(|(k, _)| k.name == key.name).unwrap_or_else(|| {
            let empty = Node { value: Value::Table(TomlTable::default()), at: key.at };
            self.entries.push((key.clone(), empty));
            self.entries.len() - 1
        });
        &mut self.entries[i].1
    }
    pub fn remove(&mut self, name: &str) -> Option<Node> {
        let i = self.entries.iter().position(|(k, _)| k.name == name)?;
        Some(self.entries.remove(i).1)
    }
    /// Checks that every key is a valid name, see [`check_name`].
    ///
    /// # Errors
    /// Fails at the first key that is not.
    pub fn check_names(&self) -> Result<(), Fault> {
        self.entries.iter().try_for_each(|(key, _)| check_name(&key.name, key.at))
    }
    pub fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(k, _)| k.name.clone()).collect()
    }
}

impl Node {
    /// A text node with a position.
    pub fn text(text: &str, at: Origin) -> Node {
        Node { value: Value::Text(text.into()), at }
    }
    pub fn root(table: TomlTable) -> Node {
        Node { value: Value::Table(table), at: Origin::default() }
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
    /// The value of key `name`, if the node is a table.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.as_table()?.get(name)
    }

    /// Number of values in the tree.
    pub fn count(&self) -> usize {
        1 + match &self.value {
            Value::Array(a) => a.iter().map(Node::count).sum(),
            Value::Table(t) => t.entries.iter().map(|(_, n)| n.count()).sum(),
            _ => 0,
        }
    }

    pub fn node_at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| match &node.value {
            Value::Table(t) => t.get(step),
            Value::Array(a) => a.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The position of the value at `path`, or of the nearest enclosing value.
    pub fn place(&self, path: &[&str]) -> Origin {
        let mut nearest = (0..=path.len()).rev().filter_map(|n| self.node_at(&path[..n]));
        nearest.next().map_or(self.at, |node| node.at)
    }

    /// The position of the last key of `path`.
    pub fn key_place(&self, path: &[&str]) -> Origin {
        let Some((last, parents)) = path.split_last() else { return self.at };
        let table = self.node_at(parents).and_then(Node::as_table);
        let entry = table.and_then(|t| t.entries.iter().find(|(k, _)| k.name == *last));
        entry.map_or_else(|| self.place(parents), |(k, _)| k.at)
    }

    /// A fault at the value at `path`, or at the nearest enclosing value.
    pub fn fault(&self, path: &[&str], cause: RefusalCause) -> Fault {
        Fault::new(cause, self.place(path))
    }

    /// An out-of-range fault at the value at `path`, which the message shows as written.
    pub fn out_of_range(&self, path: &[&str], value: impl ToString, allowed: impl Into<String>) -> Fault {
        let written = self.node_at(path).and_then(Node::as_text).map(str::to_string);
        let found = written.unwrap_or_else(|| value.to_string());
        self.fault(path, RefusalCause::OutOfRange { found, allowed: allowed.into() })
    }

    /// The dotted path of the key or value at position `at`. `names` returns the names of a list's entries;
    /// an entry without a name is called by its index.
    pub fn key_at(&self, at: Origin, names: ListNames<'_>) -> Option<String> {
        let mut path = Vec::new();
        self.find(at, names, &mut path).then(|| key_path(&path))
    }

    fn find(&self, at: Origin, names: ListNames<'_>, path: &mut Vec<String>) -> bool {
        match &self.value {
            Value::Table(t) => t.entries.iter().any(|(key, node)| {
                path.push(key.name.clone());
                let found = key.at == at || node.at == at || node.find(at, names, path);
                if !found {
                    path.pop();
                }
                found
            }),
            Value::Array(a) => {
                let names_here = names(path, a);
                a.iter().enumerate().any(|(i, node)| {
                    path.push(names_here.get(i).cloned().unwrap_or_else(|| i.to_string()));
                    let found = node.at == at || node.find(at, names, path);
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

/// Returns the names of a list's entries, given the list's path; empty if they have no names.
pub type ListNames<'a> = &'a dyn Fn(&[String], &[Node]) -> Vec<String>;
