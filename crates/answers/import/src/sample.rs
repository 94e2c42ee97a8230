//! How the tests of readers import a text.

use crate::{Assumed, ImportError, ImportFormat, ImportSource, Imported, import};

/// Imports a text that has to look like `format`, called `name`; no file lies next to it, and nothing is assumed but defaults.
pub(crate) fn read(name: &str, text: &str, format: ImportFormat) -> Result<Imported, ImportError> {
    let beside = |_: &str| Err("no such file".to_string());
    let source = ImportSource { name, text, own_name: None, values: &[], beside: &beside };
    let assumed = Assumed { rtt: None, line: None, duration: None, cc: Default::default() };
    assert_eq!(ImportFormat::of(text), Some(format), "{text}");
    import(&source, None, &assumed)
}
