//! Reads scenario files, from disk, from standard input, or built in.

use crate::examples::{self, Example};
use crate::{CommandError, regular};
use scenario::{Experiment, ProgramLine, RefusalCause, ScenarioRequest};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// The origin of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Built into longfat.
    BuiltIn,
    Stdin,
    /// A file; the path has links resolved.
    File(PathBuf),
}

/// A scenario that was read and parsed.
pub struct ReadScenario {
    /// The scenario's text.
    pub text: String,
    /// The parsed scenario.
    pub experiment: Experiment,
    pub source: Source,
    /// The file's name in errors.
    pub name: String,
}

impl ReadScenario {
    /// Returns the commands that the scenario runs on the kernel in these variants.
    pub fn programs(
        &self,
        overrides: &[String],
        variants: &[String],
    ) -> Result<Vec<ProgramLine>, CommandError> {
        let request = ScenarioRequest {
            file: &self.name,
            text: &self.text,
            sets: overrides,
            variants,
            ..ScenarioRequest::default()
        };
        request.programs().map_err(|e| CommandError::Scenario(Box::new(e)))
    }
}

/// Size limit of a scenario and of the files it names, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
const OUTSIDE_FOLDER: &str = "it is outside the scenario's folder; --allow-files permits that";

/// The text of a scenario that is not parsed yet.
pub struct ScenarioSource {
    /// The file's name in errors.
    pub name: String,
    /// The scenario's text.
    pub text: String,
    pub source: Source,
    /// The folder in which files that stages name are looked up.
    folder: PathBuf,
}

impl ScenarioSource {
    /// Reads the text. Where the file does not exist, a built-in example of that name is used.
    ///
    /// # Errors
    /// Fails when there is neither a file nor an example, or the file cannot be read.
    pub fn read(path: &Path) -> Result<ScenarioSource, CommandError> {
        let (name, text, source) = if path == Path::new("-") {
            let mut text = String::new();
            let limit = scenario::MAX_BYTES as u64 + 1;
            let read = io::stdin().take(limit).read_to_string(&mut text);
            ("stdin".to_string(), read.map(|_| text), Source::Stdin)
        } else {
            let resolved = fs::canonicalize(path);
            let text =
                resolved.as_deref().map_or_else(|e| Err(io::Error::new(e.kind(), e.to_string())), read_text);
            (path.display().to_string(), text, Source::File(resolved.unwrap_or_default()))
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        match text {
            Ok(text) => Ok(ScenarioSource { name, text, source, folder }),
            Err(e) if e.kind() == ErrorKind::NotFound => example(&name, e),
            Err(e) => Err(CommandError::Io(name, e)),
        }
    }

    /// Reads a file that a stage names. It must be in the scenario's folder or below, unless `anywhere` is
    /// set.
    ///
    /// # Errors
    /// Fails with the reason why the file cannot be read.
    pub fn stage_file(&self, file: &str, anywhere: bool) -> Result<String, String> {
        match self.source {
            Source::BuiltIn => examples::stage_file(file),
            _ => read_scenario_file(&self.folder, file, anywhere),
        }
    }

    /// Returns the names of the scenario's variants.
    ///
    /// # Errors
    /// Fails when the text is not valid TOML.
    pub fn variant_names(&self) -> Result<Vec<String>, CommandError> {
        let request = ScenarioRequest { file: &self.name, text: &self.text, ..ScenarioRequest::default() };
        request.variant_names().map_err(|e| CommandError::Scenario(Box::new(e)))
    }

    /// Parses the given variants, or all if `variants` is empty. `overrides` are the arguments of `--set`;
    /// `anywhere` as in [`ScenarioSource::stage_file`].
    ///
    /// # Errors
    /// Fails when the scenario is wrong, or when it has no variant of a given name.
    pub fn parsed(
        self,
        overrides: &[String],
        variants: &[String],
        anywhere: bool,
    ) -> Result<ReadScenario, CommandError> {
        let mut stage_file = |file: &str| self.stage_file(file, anywhere);
        let experiment = chosen(&self.name, &self.text, overrides, variants, &mut stage_file)?;
        Ok(ReadScenario { text: self.text, experiment, source: self.source, name: self.name })
    }
}

/// Reads and parses a scenario: [`ScenarioSource::read`] and [`ScenarioSource::parsed`].
///
/// # Errors
/// Fails as these two do.
pub fn load(
    path: &Path,
    overrides: &[String],
    variants: &[String],
    anywhere: bool,
) -> Result<ReadScenario, CommandError> {
    ScenarioSource::read(path)?.parsed(overrides, variants, anywhere)
}

/// Parses the given variants of a scenario, or all if `variants` is empty. `file` is the scenario's name in
/// errors; `read` returns the files that stages name.
///
/// # Errors
/// Fails when the scenario is wrong, or when it has no variant of a given name.
pub fn chosen(
    file: &str,
    text: &str,
    sets: &[String],
    variants: &[String],
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Experiment, CommandError> {
    let wrong = |e| CommandError::Scenario(Box::new(e));
    let request = ScenarioRequest { file, text, sets, variants, ..ScenarioRequest::default() };
    if !variants.is_empty() {
        let unknown = |e| CommandError::Usage(format!("--variant: {e}"));
        experiment::known_variants(&request.variant_names().map_err(wrong)?, variants).map_err(unknown)?;
    }
    request.parse(read).map_err(wrong)
}

/// Returns the built-in example called `name`, or an error that contains `missing`, the error of the file.
fn example(name: &str, missing: io::Error) -> Result<ScenarioSource, CommandError> {
    let Some(Example { name: own, text }) = examples::find(name) else {
        let known = examples::names();
        let near = RefusalCause::UnknownName { what: "example", name: name.into(), known }.help();
        let help = near.filter(|help| help.starts_with("did you mean") && !name.contains('/'));
        let message = help.map_or_else(
            || missing.to_string(),
            |help| format!("{missing}, and no built-in example has that name: {help}"),
        );
        return Err(CommandError::Io(name.into(), io::Error::new(ErrorKind::NotFound, message)));
    };
    let (name, text) = (format!("{own}.toml"), text.to_string());
    Ok(ScenarioSource { name, text, source: Source::BuiltIn, folder: PathBuf::new() })
}

/// Reads the scenario's own file; links to it are followed.
fn read_text(path: &Path) -> io::Result<String> {
    regular::read_text_limited(path, MAX_FILE_BYTES)
}

/// Reads a file that a scenario names. The scenario may come from anyone, so the file must not be just any
/// file that this user may read.
pub fn read_scenario_file(folder: &Path, file: &str, anywhere: bool) -> Result<String, String> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let resolved = |path: &Path| fs::canonicalize(path).map_err(|e| e.to_string());
    // Resolve links before checking where the path leads.
    let within = resolved(here)?;
    let path = resolved(&here.join(file)).map_err(|e| {
        // Do not reveal whether a file outside the folder exists.
        let leaves =
            Path::new(file).components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir));
        if leaves && !anywhere { OUTSIDE_FOLDER.to_string() } else { e }
    })?;
    if !anywhere && !path.starts_with(&within) {
        return Err(OUTSIDE_FOLDER.into());
    }
    regular::read_text_limited(&path, MAX_FILE_BYTES).map_err(|e| e.to_string())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_outside_the_scenarios_folder_are_refused() {
        let dir = std::env::temp_dir().join(format!("longfat-load-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        let mine = dir.join("mine");
        fs::create_dir_all(mine.join("traces")).unwrap();
        fs::write(mine.join("traces/a"), "12ms").unwrap();
        fs::write(dir.join("secret"), "s3cret").unwrap();
        symlink(dir.join("secret"), mine.join("link")).unwrap();
        symlink(mine.join("traces/a"), mine.join("inner")).unwrap();
        fs::write(mine.join("large"), "").unwrap();
        fs::File::create(mine.join("large")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        for file in ["traces/a", "./traces/../traces/a", "inner"] {
            assert_eq!(read_scenario_file(&mine, file, false).as_deref(), Ok("12ms"), "{file}");
        }
        let secret = dir.join("secret").display().to_string();
        for file in ["link", "../secret", &secret, "/proc/self/environ", "/nowhere", "../nowhere"] {
            assert_eq!(read_scenario_file(&mine, file, false), Err(OUTSIDE_FOLDER.into()), "{file}");
        }
        assert_eq!(read_scenario_file(&mine, "link", true).as_deref(), Ok("s3cret"));
        assert!(read_scenario_file(&mine, "none", false).unwrap_err().starts_with("No such file"));
        assert!(read_scenario_file(&mine, "traces", false).unwrap_err().contains("is a folder"));
        assert!(read_scenario_file(&mine, "large", false).unwrap_err().contains("more than"));
        assert!(read_scenario_file(&mine, "/dev/zero", true).unwrap_err().contains("not a regular file"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
