//! The built-in scenarios.

use crate::CommandError;
use scenario::Experiment;

/// A built-in scenario.
#[derive(Debug)]
pub struct Example {
    /// The name that `longfat run` takes: the file's name without `.toml`.
    pub name: &'static str,
    /// The scenario file's text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(Example { name: $name, text: include_str!(concat!("../../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every scenario of the folder `scenarios/`. A test checks that none is missing.
pub const EXAMPLES: &[Example] = built_in![
    "call",
    "cc-primer",
    "home-line",
    "hsr-choice-of-t",
    "hsr-emulation",
    "hsr-train",
    "ipv6",
    "mtu",
    "operating-point",
    "overseas-office",
    "policer-or-shaper",
    "real-programs",
    "sdwan-faults",
    "sdwan-full",
    "sdwan-gateway",
    "sdwan-limiter",
    "web-pages"
];

/// Files that stages of the examples name, with their texts: all files of `scenarios/` that are not
/// scenarios.
const STAGE_FILES: &[(&str, &str)] = &[];

/// Returns the text of a file that an example's stage names.
///
/// # Errors
/// Fails when the file is not built in.
pub fn stage_file(name: &str) -> Result<String, String> {
    let found = STAGE_FILES.iter().find(|(file, _)| *file == name);
    found.map(|(_, text)| (*text).into()).ok_or_else(|| "the file is not built in".into())
}

/// Finds an example by its name, with or without `.toml`.
pub fn find(name: &str) -> Option<&'static Example> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXAMPLES.iter().find(|e| e.name == name)
}

/// Returns the names of all examples.
pub fn names() -> Vec<String> {
    EXAMPLES.iter().map(|e| e.name.to_string()).collect()
}

impl Example {
    /// Returns the scenario's description, a line or two.
    ///
    /// # Errors
    /// Fails when the scenario cannot be parsed, which a test rules out.
    pub fn description(&self) -> Result<String, CommandError> {
        let read = Experiment::parse_with(self.name, self.text, &[], &mut stage_file);
        read.map(|e| e.description).map_err(|e| CommandError::Scenario(Box::new(e)))
    }

    /// Returns the files that the scenario's stages name.
    pub fn files(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        STAGE_FILES.iter().filter(|(file, _)| self.text.contains(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_scenarios_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        let mut there: Vec<String> = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let text = fs::read_to_string(&path).unwrap();
            match find(&name).filter(|_| name.ends_with(".toml")) {
                Some(example) => assert_eq!(example.text, text, "{name}"),
                None => assert_eq!(stage_file(&name), Ok(text), "{name} is not in the lists of examples.rs"),
            }
            there.push(name);
        }
        assert_eq!(there.len(), EXAMPLES.len() + STAGE_FILES.len());
        for example in EXAMPLES {
            assert!(!example.description().unwrap().is_empty(), "{}", example.name);
        }
    }
}
