//! YAML as a tree whose nodes know their lines. Aliases are not resolved, so that a file cannot grow by
//! repetition.

use crate::ImportError;
use saphyr_parser::{Event, Parser};
use serde::de::IgnoredAny;

/// A node of a document.
#[derive(Clone, Debug)]
pub(crate) struct Yaml {
    /// Line number, from 1.
    pub line: usize,
    pub value: YamlValue,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub(crate) enum YamlValue {
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(Yaml, Yaml)>),
    Alias,
}

/// Maximum nesting.
const MAX_DEPTH: usize = 64;

impl Yaml {
    /// Parses JSON. A text that `serde_json` accepts is YAML too, once its tabs are replaced by spaces.
    ///
    /// # Errors
    /// Fails with [`ImportError::Syntax`] at the line where the text is not JSON.
    pub fn parse_json(text: &str) -> Result<Yaml, ImportError> {
        if let Err(e) = serde_json::from_str::<IgnoredAny>(text) {
            return Err(ImportError::Syntax { line: e.line().max(1), why: format!("not valid JSON: {e}") });
        }
        Yaml::parse(&text.replace('\t', " "))
    }

    /// Parses the first document of a text.
    ///
    /// # Errors
    /// Fails with [`ImportError::Syntax`] at the line where the text is not YAML.
    pub fn parse(text: &str) -> Result<Yaml, ImportError> {
        let mut open: Vec<(Yaml, Option<Yaml>)> = Vec::new();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|e| ImportError::Syntax {
                line: e.marker().line(),
                why: format!("not valid YAML: {}", e.info()),
            })?;
            let line = span.start.line();
            let whole = match event {
                Event::Scalar(text, ..) => Yaml { line, value: YamlValue::Text(text.into_owned()) },
                Event::Alias(_) => Yaml { line, value: YamlValue::Alias },
                Event::SequenceStart(..) | Event::MappingStart(..) => {
                    if open.len() == MAX_DEPTH {
                        let why = format!("nested more than {MAX_DEPTH} levels deep");
                        return Err(ImportError::Syntax { line, why });
                    }
                    let value = match event {
                        Event::SequenceStart(..) => YamlValue::List(Vec::new()),
                        _ => YamlValue::Map(Vec::new()),
                    };
                    open.push((Yaml { line, value }, None));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some((whole, _)) => whole,
                    None => continue,
                },
                _ => continue,
            };
            let Some((parent, key)) = open.last_mut() else { return Ok(whole) };
            match (&mut parent.value, key.take()) {
                (YamlValue::List(list), _) => list.push(whole),
                (YamlValue::Map(map), Some(key)) => map.push((key, whole)),
                (_, _) => *key = Some(whole),
            }
        }
        Err(ImportError::Syntax { line: 1, why: "the file is empty".into() })
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Yaml> {
        self.map().find(|(k, _)| k.text() == Some(key)).map(|(_, value)| value)
    }

    /// The keys and values of a map; none for other nodes.
    pub fn map(&self) -> impl Iterator<Item = &(Yaml, Yaml)> {
        let map = if let YamlValue::Map(map) = &self.value { map.as_slice() } else { &[] };
        map.iter()
    }

    /// The entries of a list; none for other nodes.
    pub fn list(&self) -> impl Iterator<Item = &Yaml> {
        let list = if let YamlValue::List(list) = &self.value { list.as_slice() } else { &[] };
        list.iter()
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        if let YamlValue::Text(text) = &self.value { Some(text) } else { None }
    }
}
