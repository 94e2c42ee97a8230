//! Sentences in both languages.

use serde::Serialize;

/// A sentence in both languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FitWords {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}
