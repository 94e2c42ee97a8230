//! Sentences in the languages that longfat speaks.

use serde::Serialize;

/// What is said, in the languages that longfat speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FitWords {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}
