//! The scenarios that are built in.

use crate::CommandError;
use scenario::Experiment;

/// A scenario that is built in.
#[derive(Debug)]
pub struct Example {
    /// As `longfat run` takes it: the file's name without `.toml`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(Example { name: $name, text: include_str!(concat!("../../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every scenario of `scenarios/`: a test holds the two against each other.
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

/// Files that stages of examples name, with their texts: all that is in `scenarios/` besides.
const BESIDE: &[(&str, &str)] = &[];

/// The text of a file that an example's stage names.
///
/// # Errors
/// It is not built in.
pub fn beside(name: &str) -> Result<String, String> {
    let found = BESIDE.iter().find(|(file, _)| *file == name);
    found.map(|(_, text)| (*text).into()).ok_or_else(|| "it is not built in".into())
}

/// The example that is called so, be it with `.toml`.
pub fn find(name: &str) -> Option<&'static Example> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXAMPLES.iter().find(|e| e.name == name)
}

/// The names of all.
pub fn names() -> Vec<String> {
    EXAMPLES.iter().map(|e| e.name.to_string()).collect()
}

impl Example {
    /// What it is about, in a line or two.
    ///
    /// # Errors
    /// It cannot be read, which a test rules out.
    pub fn description(&self) -> Result<String, CommandError> {
        let read = Experiment::parse_with(self.name, self.text, &[], &mut beside);
        read.map(|e| e.description).map_err(|e| CommandError::Scenario(Box::new(e)))
    }

    /// The files that its stages name.
    pub fn files(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        BESIDE.iter().filter(|(file, _)| self.text.contains(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_scenarios_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        let mut there: Vec<String> = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let text = fs::read_to_string(&path).unwrap();
            match find(&name).filter(|_| name.ends_with(".toml")) {
                Some(example) => assert_eq!(example.text, text, "{name}"),
                None => assert_eq!(beside(&name), Ok(text), "{name} is not in the lists of examples.rs"),
            }
            there.push(name);
        }
        assert_eq!(there.len(), EXAMPLES.len() + BESIDE.len());
        for example in EXAMPLES {
            assert!(!example.description().unwrap().is_empty(), "{}", example.name);
        }
    }
}
