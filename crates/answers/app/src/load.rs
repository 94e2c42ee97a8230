//! Scenario files from disk or standard input.

use crate::examples::{self, Example};
use crate::{CommandError, regular};
use scenario::{AskedScenario, Experiment, ProgramLine, RefusalCause};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// Where a scenario comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// longfat itself.
    BuiltIn,
    /// Standard input.
    Stdin,
    /// A file; links are resolved.
    File(PathBuf),
}

/// A scenario that was read.
pub struct ReadScenario {
    /// Its text.
    pub text: String,
    /// What it says.
    pub experiment: Experiment,
    /// Where it comes from.
    pub source: Source,
    /// What the file is called in errors.
    pub name: String,
}

impl ReadScenario {
    /// The commands it has run on the kernel in these variants.
    pub fn programs(
        &self,
        overrides: &[String],
        variants: &[String],
    ) -> Result<Vec<ProgramLine>, CommandError> {
        let asked = AskedScenario {
            file: &self.name,
            text: &self.text,
            sets: overrides,
            variants,
            ..AskedScenario::default()
        };
        asked.programs().map_err(|e| CommandError::Scenario(Box::new(e)))
    }
}

/// The largest file that a scenario may name.
const MOST: u64 = 64 << 20;
const OUTSIDE: &str = "it lies outside the scenario's folder; --allow-files has it read all the same";

/// A scenario's text, not looked into yet.
pub struct ScenarioSource {
    /// What the file is called in errors.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where it comes from.
    pub source: Source,
    /// Where files that stages name lie.
    folder: PathBuf,
}

impl ScenarioSource {
    /// Reads the text. Where there is no such file, a built-in example of that name is taken.
    ///
    /// # Errors
    /// There is neither, or it cannot be read.
    pub fn read(path: &Path) -> Result<ScenarioSource, CommandError> {
        let (name, text, source) = if path == Path::new("-") {
            let mut text = String::new();
            let limit = scenario::MAX_BYTES as u64 + 1;
            let read = io::stdin().take(limit).read_to_string(&mut text);
            ("stdin".to_string(), read.map(|_| text), Source::Stdin)
        } else {
            let whole = fs::canonicalize(path);
            let text =
                whole.as_deref().map_or_else(|e| Err(io::Error::new(e.kind(), e.to_string())), read_text);
            (path.display().to_string(), text, Source::File(whole.unwrap_or_default()))
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        match text {
            Ok(text) => Ok(ScenarioSource { name, text, source, folder }),
            Err(e) if e.kind() == ErrorKind::NotFound => example(&name, e),
            Err(e) => Err(CommandError::Io(name, e)),
        }
    }

    /// The text of a file that a stage names: beside the scenario, or in folders there; `anywhere` reads others too.
    ///
    /// # Errors
    /// Why there is none.
    pub fn beside(&self, file: &str, anywhere: bool) -> Result<String, String> {
        match self.source {
            Source::BuiltIn => examples::beside(file),
            _ => read_beside(&self.folder, file, anywhere),
        }
    }

    /// The names of its variants.
    ///
    /// # Errors
    /// It is no TOML.
    pub fn variant_names(&self) -> Result<Vec<String>, CommandError> {
        let asked = AskedScenario { file: &self.name, text: &self.text, ..AskedScenario::default() };
        asked.variant_names().map_err(|e| CommandError::Scenario(Box::new(e)))
    }

    /// Reads what it says of `variants` (none: of all). `overrides` are the arguments of `--set`; `anywhere` as in
    /// [`ScenarioSource::beside`].
    ///
    /// # Errors
    /// The scenario is wrong, or there is no variant of a name.
    pub fn parsed(
        self,
        overrides: &[String],
        variants: &[String],
        anywhere: bool,
    ) -> Result<ReadScenario, CommandError> {
        let mut beside = |file: &str| self.beside(file, anywhere);
        let experiment = chosen(&self.name, &self.text, overrides, variants, &mut beside)?;
        Ok(ReadScenario { text: self.text, experiment, source: self.source, name: self.name })
    }
}

/// Reads and checks the scenario; its text too: [`ScenarioSource::read`] and [`ScenarioSource::parsed`].
///
/// # Errors
/// As both.
pub fn load(
    path: &Path,
    overrides: &[String],
    variants: &[String],
    anywhere: bool,
) -> Result<ReadScenario, CommandError> {
    ScenarioSource::read(path)?.parsed(overrides, variants, anywhere)
}

/// The `variants` (none: all) of a scenario that is called `file`; stages' files come through `read`.
///
/// # Errors
/// The scenario is wrong, or there is no variant of a name.
pub fn chosen(
    file: &str,
    text: &str,
    sets: &[String],
    variants: &[String],
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Experiment, CommandError> {
    let wrong = |e| CommandError::Scenario(Box::new(e));
    let asked = AskedScenario { file, text, sets, variants, ..AskedScenario::default() };
    if !variants.is_empty() {
        let unknown = |e| CommandError::Usage(format!("--variant: {e}"));
        experiment::known_variants(&asked.variant_names().map_err(wrong)?, variants).map_err(unknown)?;
    }
    asked.parse(read).map_err(wrong)
}

/// The built-in example called `name`; `missing` says that there is no such file.
fn example(name: &str, missing: io::Error) -> Result<ScenarioSource, CommandError> {
    let Some(Example { name: own, text }) = examples::find(name) else {
        let known = examples::names();
        let near = RefusalCause::UnknownName { what: "example", name: name.into(), known }.help();
        let help = near.filter(|help| help.starts_with("did you mean") && !name.contains('/'));
        let told = help.map_or_else(
            || missing.to_string(),
            |help| format!("{missing}; no built-in example is called so either: {help}"),
        );
        return Err(CommandError::Io(name.into(), io::Error::new(ErrorKind::NotFound, told)));
    };
    let (name, text) = (format!("{own}.toml"), text.to_string());
    Ok(ScenarioSource { name, text, source: Source::BuiltIn, folder: PathBuf::new() })
}

/// The text of the scenario's own file; links to it are resolved.
fn read_text(path: &Path) -> io::Result<String> {
    regular::read_text_most(path, MOST)
}

/// The text of a file that a scenario names. A scenario may come from anybody, and what it names could be anything that
/// this user may read.
pub fn read_beside(folder: &Path, file: &str, anywhere: bool) -> Result<String, String> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let whole = |path: &Path| fs::canonicalize(path).map_err(|e| e.to_string());
    // Links are resolved before it is looked where they lead.
    let within = whole(here)?;
    let path = whole(&here.join(file)).map_err(|e| {
        // Whether there is such a file elsewhere is nobody's business either.
        let leaves =
            Path::new(file).components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir));
        if leaves && !anywhere { OUTSIDE.to_string() } else { e }
    })?;
    if !anywhere && !path.starts_with(&within) {
        return Err(OUTSIDE.into());
    }
    regular::read_text_most(&path, MOST).map_err(|e| e.to_string())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_of_a_scenario_stay_in_its_folder() {
        let dir = std::env::temp_dir().join(format!("longfat-load-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        let mine = dir.join("mine");
        fs::create_dir_all(mine.join("traces")).unwrap();
        fs::write(mine.join("traces/a"), "12ms").unwrap();
        fs::write(dir.join("secret"), "s3cret").unwrap();
        symlink(dir.join("secret"), mine.join("link")).unwrap();
        symlink(mine.join("traces/a"), mine.join("inner")).unwrap();
        fs::write(mine.join("large"), "").unwrap();
        fs::File::create(mine.join("large")).unwrap().set_len(MOST + 1).unwrap();
        for file in ["traces/a", "./traces/../traces/a", "inner"] {
            assert_eq!(read_beside(&mine, file, false).as_deref(), Ok("12ms"), "{file}");
        }
        let secret = dir.join("secret").display().to_string();
        for file in ["link", "../secret", &secret, "/proc/self/environ", "/nowhere", "../nowhere"] {
            assert_eq!(read_beside(&mine, file, false), Err(OUTSIDE.into()), "{file}");
        }
        assert_eq!(read_beside(&mine, "link", true).as_deref(), Ok("s3cret"));
        assert!(read_beside(&mine, "none", false).unwrap_err().starts_with("No such file"));
        assert!(read_beside(&mine, "traces", false).unwrap_err().contains("is a folder"));
        assert!(read_beside(&mine, "large", false).unwrap_err().contains("more than"));
        assert!(read_beside(&mine, "/dev/zero", true).unwrap_err().contains("not a regular file"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
