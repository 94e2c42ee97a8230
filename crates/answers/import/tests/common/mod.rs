//! Any text, imported: an error in words, or a scenario that its own text reads back to, and findings whose lines are
//! lines of the text. The text up to the first NUL is the file, what follows is the file that it may name.

use import::{Assumed, ImportError, ImportFormat, ImportSource, import};

/// Imports `data` as `format` and as what it looks like.
pub fn check(format: ImportFormat, data: &str) {
    let (text, other) = data.split_once('\0').unwrap_or((data, "0\n1\n5\n"));
    let beside = |name: &str| {
        if name.len() % 3 == 0 { Err("no such file".to_string()) } else { Ok(other.to_string()) }
    };
    let own_name = text.len().is_multiple_of(2).then_some("fuzz.txt");
    let source = ImportSource { name: "fuzz.txt", text, own_name, values: &[], beside: &beside };
    let assumed = Assumed { rtt: None, line: None, duration: None, cc: Default::default() };
    for format in [Some(format), None] {
        match import(&source, format, &assumed) {
            Ok(imported) => {
                let lines = text.lines().count().max(1);
                let notes = imported.not_understood.iter().map(|n| n.line);
                assert!(notes.chain(imported.lint.iter().map(|l| l.line)).all(|l| (1..=lines).contains(&l)));
                assert!(imported.understood <= imported.lines);
                // Words of the file are quoted.
                let number = |w: &str| ["inf", "NaN"].contains(&w) && !text.contains(w);
                let finite = |told: &str| !told.split_whitespace().any(number);
                assert!(imported.lint.iter().all(|l| !l.text.is_empty() && finite(&l.text)));
                assert!(!imported.to_json().is_empty());
            }
            Err(ImportError::NoScenario(why)) => assert!(!why.contains("reads back differently"), "{why}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
