//! Imports texts in the tests of readers.

use crate::{Assumed, ImportError, ImportFormat, ImportSource, Imported, import};

/// Imports a text that must look like `format`, from a file `name`. Other files are missing, and assumptions
/// are the defaults.
pub(crate) fn read(name: &str, text: &str, format: ImportFormat) -> Result<Imported, ImportError> {
    let read_file = |_: &str| Err("no such file".to_string());
    let source = ImportSource { name, text, own_name: None, values: &[], read_file: &read_file };
    let assumed = Assumed { rtt: None, line: None, duration: None, cc: Default::default() };
    assert_eq!(ImportFormat::of(text), Some(format), "{text}");
    import(&source, None, &assumed)
}
