//! How each part of a scenario is written in another program's file.

use serde::Serialize;

/// How a part was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFate {
    /// The file has the same effect.
    Carried,
    /// The file has a similar effect, described in `how`.
    Approximated,
    /// The file does not have the part.
    LeftOut,
}

/// A part of a scenario and how it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportedKey {
    /// The key, as `--set` takes it.
    pub key: String,
    /// How it was written.
    pub fate: ExportFate,
    /// Its equivalent in the file, or why there is none.
    pub how: String,
}

impl ExportedKey {
    /// `approximated: links.wan.forward.link.queue: …`.
    pub fn says(&self) -> String {
        let fate = match self.fate {
            ExportFate::Carried => "carried",
            ExportFate::Approximated => "approximated",
            ExportFate::LeftOut => "left out",
        };
        format!("{fate}: {}: {}", self.key, self.how)
    }
}

/// The parts below one key.
pub(super) struct Accounts<'a> {
    /// The prefix of the keys.
    pub path: String,
    pub list: &'a mut Vec<ExportedKey>,
}

impl Accounts<'_> {
    fn add(&mut self, key: &str, fate: ExportFate, how: String) {
        let key = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        self.list.push(ExportedKey { key, fate, how });
    }

    /// The file has the same effect; an empty `key` means the path itself.
    pub fn carried(&mut self, key: &str, how: impl Into<String>) {
        self.add(key, ExportFate::Carried, how.into());
    }

    /// The file has a similar effect.
    pub fn approximated(&mut self, key: &str, how: impl Into<String>) {
        self.add(key, ExportFate::Approximated, how.into());
    }

    /// Records that the file does not have the part.
    pub fn left_out(&mut self, key: &str, why: impl Into<String>) {
        self.add(key, ExportFate::LeftOut, why.into());
    }
}
