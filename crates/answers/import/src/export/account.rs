//! What becomes of each part of a scenario in a file of another program.

use serde::Serialize;

/// What becomes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFate {
    /// The file does the same.
    Carried,
    /// The file does something near, which is shown with its number.
    Approximated,
    /// It is not in the file.
    LeftOut,
}

/// A part of a scenario and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportedKey {
    /// The key, as `--set` takes it.
    pub key: String,
    /// What becomes of it.
    pub fate: ExportFate,
    /// What stands in the file for it, or why nothing does.
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
    /// The key that names of parts are put behind.
    pub path: String,
    pub list: &'a mut Vec<ExportedKey>,
}

impl Accounts<'_> {
    fn add(&mut self, key: &str, fate: ExportFate, how: String) {
        let key = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        self.list.push(ExportedKey { key, fate, how });
    }

    /// The file does the same; an empty `key` is the path itself.
    pub fn carried(&mut self, key: &str, how: impl Into<String>) {
        self.add(key, ExportFate::Carried, how.into());
    }

    /// The file does something near.
    pub fn approximated(&mut self, key: &str, how: impl Into<String>) {
        self.add(key, ExportFate::Approximated, how.into());
    }

    /// It is not in the file.
    pub fn left_out(&mut self, key: &str, why: impl Into<String>) {
        self.add(key, ExportFate::LeftOut, why.into());
    }
}
