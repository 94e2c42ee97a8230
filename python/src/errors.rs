//! Raises the exceptions of `longfat._errors`, which are written in Python so that type checkers see them.

use app::CommandError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::DocumentError;

/// Creates an exception of this class with this message.
pub fn raise(py: Python<'_>, class: &str, message: &str) -> PyErr {
    create(py, class, message, &PyDict::new(py))
}

/// Converts a command's error: scenario errors get their location, file errors become Python's [`OSError`].
pub fn from_command_error(py: Python<'_>, error: CommandError) -> PyErr {
    match error {
        CommandError::Scenario(e) => from_scenario_error(py, &e),
        CommandError::Io(file, e) => {
            let kind = std::io::Error::new(e.kind(), format!("{file}: {e}"));
            kind.into()
        }
        CommandError::Result(..) => raise(py, "ResultError", &error.to_string()),
        CommandError::Usage(text) => raise(py, "UsageError", &text),
    }
}

fn from_scenario_error(py: Python<'_>, e: &DocumentError) -> PyErr {
    let place = PyDict::new(py);
    let set = || -> PyResult<()> {
        place.set_item("file", e.file())?;
        place.set_item("line", e.line())?;
        place.set_item("column", e.column())?;
        place.set_item("key", e.key())?;
        place.set_item("variant", e.part())?;
        place.set_item("help", e.help())?;
        place.set_item("shown", e.render())
    };
    match set() {
        Ok(()) => create(py, "ScenarioError", &e.to_string(), &place),
        Err(e) => e,
    }
}

fn create(py: Python<'_>, class: &str, message: &str, more: &Bound<'_, PyDict>) -> PyErr {
    let make = || py.import("longfat._errors")?.getattr(class)?.call((message,), Some(more));
    make().map_or_else(|e| e, PyErr::from_value)
}
