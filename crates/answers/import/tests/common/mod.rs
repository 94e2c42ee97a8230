//! Imports any text and checks the result: an error message, or a scenario that reads back from its own text
//! and findings with valid line numbers. The text up to the first NUL is the file; the rest is another file
//! that it may name.

use import::{Assumed, ImportError, ImportFormat, ImportSource, import};

/// Imports `data` as `format`, and as the format that it looks like.
pub fn check(format: ImportFormat, data: &str) {
    let (text, other) = data.split_once('\0').unwrap_or((data, "0\n1\n5\n"));
    let read_file = |name: &str| {
        if name.len() % 3 == 0 { Err("no such file".to_string()) } else { Ok(other.to_string()) }
    };
    let own_name = text.len().is_multiple_of(2).then_some("fuzz.txt");
    let source = ImportSource { name: "fuzz.txt", text, own_name, values: &[], read_file: &read_file };
    let assumed = Assumed { rtt: None, line: None, duration: None, cc: Default::default() };
    for format in [Some(format), None] {
        match import(&source, format, &assumed) {
            Ok(imported) => {
                let lines = text.lines().count().max(1);
                let notes = imported.not_understood.iter().map(|n| n.line);
                assert!(notes.chain(imported.lint.iter().map(|l| l.line)).all(|l| (1..=lines).contains(&l)));
                assert!(imported.understood <= imported.lines);
                // Findings may quote words of the file.
                let number = |w: &str| ["inf", "NaN"].contains(&w) && !text.contains(w);
                let is_finite = |text: &str| !text.split_whitespace().any(number);
                assert!(imported.lint.iter().all(|l| !l.text.is_empty() && is_finite(&l.text)));
                assert!(!imported.to_json().is_empty());
            }
            Err(ImportError::NoScenario(why)) => assert!(!why.contains("reads back differently"), "{why}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
