//! Settings files, for callers without overrides.
//!
//! [`SettingsFile::parse`] parses the text and keeps positions, [`SettingsFile::read`] deserialises a value,
//! and [`SettingsFile::refuse`] makes an error for what the value's type cannot check.

use crate::cause::RefusalCause;
use crate::error::{DocumentError, NamedText};
use crate::fault::Fault;
use crate::key_path::key_path;
use crate::read::parse;
use crate::tree::Node;
use serde::de::DeserializeOwned;

/// A parsed TOML file with positions.
pub struct SettingsFile<'a> {
    text: NamedText<'a>,
    root: Node,
}

impl<'a> SettingsFile<'a> {
    /// Parses `text`; `file` is its name in errors.
    ///
    /// # Errors
    /// Fails when the text is not TOML or is larger than [`crate::MAX_BYTES`].
    pub fn parse(file: &'a str, text: &'a str) -> Result<SettingsFile<'a>, DocumentError> {
        let text = NamedText::of_file(file, text);
        match parse(text.text) {
            Ok(table) => Ok(SettingsFile { text, root: Node::root(table) }),
            Err(fault) => Err(text.refuse(fault)),
        }
    }

    /// Deserialises the file.
    ///
    /// # Errors
    /// Fails when the type does not accept a key or value; the error has its position.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        T::deserialize(&self.root).map_err(|mut fault| {
            fault.key = fault.key.or_else(|| self.root.key_at(fault.at?, &|_, _| Vec::new()));
            self.text.clone().refuse(fault)
        })
    }

    /// An error at the value at `path` (keys from the root, indexes of lists). If there is no such value the
    /// error points to the nearest enclosing one.
    pub fn refuse(&self, path: &[&str], cause: RefusalCause) -> DocumentError {
        let fault = Fault { cause, at: Some(self.root.place(path)), key: Some(key_path(path)) };
        self.text.clone().refuse(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use units::Rate;

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Limits {
        #[serde(default)]
        lines: BTreeMap<String, Rate>,
    }

    #[test]
    fn errors_have_position_and_key() {
        let error = |text: &str| {
            let e = SettingsFile::parse("a.toml", text).and_then(|file| file.read::<Limits>()).unwrap_err();
            e.to_string()
        };
        assert!(error("[lines]\nwan = 20").starts_with("a.toml:2:7: lines.wan: expected a text with a unit"));
        assert!(error("line = 1").starts_with("a.toml:1:1: line: unknown key `line` (did you mean `lines`?"));
        assert!(error("[lines\n").starts_with("a.toml:1:"));
        let text = "[lines]\nwan = \"20Mbit/s\"";
        let file = SettingsFile::parse("a.toml", text).expect("TOML");
        let limits: Limits = file.read().expect("fits");
        assert_eq!(limits.lines["wan"], Rate::from_bps(20_000_000));
        let cause = RefusalCause::Conflict { message: "no".into() };
        assert_eq!(file.refuse(&["lines", "wan"], cause).to_string(), "a.toml:2:7: lines.wan: no");
        let cause = RefusalCause::Conflict { message: "no".into() };
        assert_eq!(file.refuse(&["lines", "lan"], cause).line(), 1);
    }
}
