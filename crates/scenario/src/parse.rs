//! From text to [`Experiment`]: TOML, overrides, one checked scenario per variant.

use crate::address::check_name;
use crate::check::{self, Checked};
use crate::de::Fault;
use crate::error::{Detail, RefusalCause, ScenarioError};
use crate::judged;
use crate::overrides::{apply_set, apply_variant};
use crate::programs::ProgramLine;
use crate::stage::Files;
use crate::tree::{Node, Origin, Reader, TomlTable, Value};
use crate::{Experiment, Tool, Variant};
use std::ops::Range;
use toml::de::DeTable;

/// The largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;

const MOST_VARIANTS: usize = 1000;

impl Experiment {
    /// Reads the scenario `text`. `file` is its name, for errors and for the default of `name`;
    /// `sets` are `KEY=VALUE` overrides that every variant gets after its own.
    ///
    /// A stage that names a file (a trace) is an error; see [`Experiment::parse_with`].
    pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Experiment, ScenarioError> {
        Texts { file, text, sets }.experiment(&mut None)
    }

    /// [`Experiment::parse`] that also loads the files which stages name, through `read`: it is
    /// given a name as the scenario has it, and returns the text or why there is none.
    pub fn parse_with(
        file: &str,
        text: &str,
        sets: &[String],
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, ScenarioError> {
        Texts { file, text, sets }.experiment(&mut Some(read))
    }
}

/// The commands of a scenario's flows (`tool`, `server`) in the order of the variants, each once; iperf3, whose command
/// lines are longfat's own, is none of them.
///
/// # Errors
/// As [`Experiment::parse`], of what can be told without checking values.
pub fn programs(file: &str, text: &str, sets: &[String]) -> Result<Vec<ProgramLine>, ScenarioError> {
    Texts { file, text, sets }.programs()
}

/// The texts an experiment is made of; an [`Origin`] tells which.
pub(crate) struct Texts<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub sets: &'a [String],
}

impl Texts<'_> {
    fn experiment(&self, files: &mut Files<'_>) -> Result<Experiment, ScenarioError> {
        let mut root = self.read()?;
        let variants = self.take_variants(&mut root)?;
        let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        let mut experiment = Experiment {
            name: String::new(),
            description: String::new(),
            goal: Vec::new(),
            baseline: self.baseline(&root, &names)?,
            variants: Vec::new(),
        };
        for (name, overrides) in &variants {
            let Checked { scenario, description, goal } =
                self.variant(&root, overrides, files).map_err(|error| {
                    // A fault of the file itself is none of the variant's.
                    let alone = overrides.entries.is_empty()
                        || self.variant(&root, &TomlTable::default(), files).err().as_ref() == Some(&error);
                    if alone { error } else { error.in_variant(name) }
                })?;
            if experiment.variants.is_empty() {
                experiment.name = scenario.name.clone();
                experiment.description = description;
                experiment.goal = goal;
            }
            experiment.variants.push(Variant { name: name.clone(), scenario });
        }
        Ok(experiment)
    }

    fn programs(&self) -> Result<Vec<ProgramLine>, ScenarioError> {
        let mut root = self.read()?;
        let mut lines: Vec<ProgramLine> = Vec::new();
        for (variant, overrides) in self.take_variants(&mut root)? {
            let tree = self.overridden(&root, &overrides).map_err(|f| self.error(f, None))?;
            let flows = tree.get("flows").and_then(Node::as_table);
            for (flow, node) in flows.iter().flat_map(|t| &t.entries) {
                for key in ["tool", "server"] {
                    let Some(node) = node.get(key) else { continue };
                    let Some(command) = node.as_text().filter(|text| !Tool::is_own(text)) else { continue };
                    let (file, text) = self.source(node.at);
                    let line = ProgramLine {
                        variants: vec![variant.clone()],
                        file,
                        is_set: node.at.source != 0,
                        line: Place::of(text, node.at.start as usize, node.at.end as usize).line,
                        key: format!("flows.{}.{key}", flow.name),
                        command: command.into(),
                    };
                    let alike = |l: &&mut ProgramLine| {
                        (&l.file, l.line, &l.key, &l.command)
                            == (&line.file, line.line, &line.key, &line.command)
                    };
                    match lines.iter_mut().find(alike) {
                        Some(known) => known.variants.push(variant.clone()),
                        None => lines.push(line),
                    }
                }
            }
        }
        Ok(lines)
    }

    /// The text that something was written in, and what it is called.
    fn source(&self, at: Origin) -> (String, &str) {
        match at.source {
            0 => (self.file.to_string(), self.text),
            n => (format!("--set {n}"), self.sets.get(n as usize - 1).map_or("", String::as_str)),
        }
    }

    /// The file as a tree, its size checked.
    pub fn read(&self) -> Result<TomlTable, ScenarioError> {
        if self.text.len() > MAX_BYTES {
            let cause = RefusalCause::FileTooLarge { bytes: self.text.len(), limit: MAX_BYTES };
            return Err(self.error(cause.into(), None));
        }
        // Editors on some systems begin a file with a byte order mark.
        let offset = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        let reader = Reader { source: 0, text: &self.text[offset..], offset };
        match DeTable::parse(reader.text) {
            Ok(table) => Ok(reader.table(table.get_ref(), false)),
            Err(e) => {
                let at = reader.origin(e.span().unwrap_or_default());
                let cause = RefusalCause::Syntax { message: e.message().trim().replace('\n', ", ") };
                Err(self.error(Fault::new(cause, at), None))
            }
        }
    }

    /// Takes `[variants]` out of the tree: names and overrides.
    fn take_variants(&self, root: &mut TomlTable) -> Result<Vec<(String, TomlTable)>, ScenarioError> {
        let fault = |cause, at| self.error(Fault::new(cause, at), None);
        let Some(node) = root.remove("variants") else { return Ok(vec![lone()]) };
        let table_of = |node: Node| match node.value {
            Value::Table(t) => Ok(t),
            v => {
                let expected = "a table of overrides by variant, for example [variants.slow]".into();
                Err(fault(RefusalCause::WrongType { found: v.kind().into(), expected }, node.at))
            }
        };
        let mut variants = Vec::new();
        for (key, node) in table_of(node)?.entries {
            check_name(&key.name, key.at).map_err(|f| self.error(f, None))?;
            if variants.len() == MOST_VARIANTS {
                let allowed = format!("at most {MOST_VARIANTS} variants");
                return Err(fault(RefusalCause::OutOfRange { found: key.name, allowed }, key.at));
            }
            variants.push((key.name, table_of(node)?));
        }
        if variants.is_empty() {
            variants.push(lone());
        }
        check::size(root, variants.len()).map_err(|(found, most)| {
            let allowed = format!("at most {most} values in all variants together");
            self.error(RefusalCause::OutOfRange { found: format!("{found} values"), allowed }.into(), None)
        })?;
        Ok(variants)
    }

    /// The variant that a file or a `--set` names as the baseline.
    fn baseline(&self, root: &TomlTable, names: &[&str]) -> Result<Option<String>, ScenarioError> {
        let tree = self.overridden(root, &TomlTable::default()).map_err(|f| self.error(f, None))?;
        judged::baseline(&tree, names).map_err(|f| self.error(f, Some(&tree)))
    }

    /// The tree with a variant's overrides and every `--set`.
    fn overridden(&self, root: &TomlTable, overrides: &TomlTable) -> Result<Node, Fault> {
        let mut table = root.clone();
        apply_variant(&mut table, overrides)?;
        for (set, source) in self.sets.iter().zip(1..) {
            apply_set(&mut table, set, source)?;
        }
        Ok(Node { value: Value::Table(table), at: Origin::default() })
    }

    /// The same, read.
    fn variant(
        &self,
        root: &TomlTable,
        overrides: &TomlTable,
        files: &mut Files<'_>,
    ) -> Result<Checked, ScenarioError> {
        let tree = self.overridden(root, overrides).map_err(|f| self.error(f, None))?;
        let checked = check::scenario(&tree, &stem(self.file), files);
        checked.map_err(|f| self.error(f, Some(&tree)))
    }

    /// Gives a fault its file, line, column, key and excerpt.
    pub fn error(&self, fault: Fault, tree: Option<&Node>) -> ScenarioError {
        let at = fault.at.unwrap_or_default();
        let (file, text) = self.source(at);
        let place = Place::of(text, at.start as usize, at.end as usize);
        let by_place = || tree.filter(|_| fault.at.is_some()).and_then(|t| t.key_at(at));
        let key = fault.key.clone().or_else(by_place).unwrap_or_default();
        let help = fault.cause.help().or_else(|| syntax_help(&fault.cause, &place));
        ScenarioError::new(Detail {
            cause: fault.cause,
            file,
            is_set: at.source != 0,
            line: place.line,
            column: place.column,
            key,
            variant: None,
            help,
            excerpt: place.excerpt,
            caret: place.caret,
        })
    }
}

impl ScenarioError {
    /// What is wrong with another argument that names things of a scenario: `argument` is what it is called, `at` the
    /// bytes of its `text` that are wrong.
    pub fn in_argument(argument: &str, text: &str, at: Range<usize>, cause: RefusalCause) -> ScenarioError {
        let place = Place::of(text, at.start, at.end);
        ScenarioError::new(Detail {
            help: cause.help(),
            cause,
            file: argument.into(),
            is_set: true,
            line: place.line,
            column: place.column,
            key: String::new(),
            variant: None,
            excerpt: place.excerpt,
            caret: place.caret,
        })
    }
}

/// The variant of a file without variants.
fn lone() -> (String, TomlTable) {
    ("default".into(), TomlTable::default())
}

/// A name made of a file's: without folders and `.toml`, and without what no name may have.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let base = base.strip_suffix(".toml").unwrap_or(base);
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    let name: String = base.chars().map(fit).take(64).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "scenario".into() } else { name.into() }
}

/// A quantity without quotes is the most common slip.
fn syntax_help(cause: &RefusalCause, place: &Place) -> Option<String> {
    let RefusalCause::Syntax { .. } = cause else { return None };
    let rest: String = place.excerpt.chars().skip(place.caret.0).collect();
    let value = rest.split([',', '}', ']']).next()?;
    let number = value.starts_with(|c: char| c.is_ascii_digit());
    let unit = value.contains(|c: char| c.is_ascii_alphabetic());
    (number && unit).then(|| "a value with a unit is a text in quotes: \"20Mbit/s\"".into())
}

/// A place in a text, for people.
struct Place {
    line: usize,
    column: usize,
    excerpt: String,
    caret: (usize, usize),
}

impl Place {
    /// The widest excerpt, in characters.
    const WIDTH: usize = 100;

    fn of(text: &str, start: usize, end: usize) -> Place {
        let floor = |mut n: usize| {
            n = n.min(text.len());
            while !text.is_char_boundary(n) {
                n -= 1;
            }
            n
        };
        let (start, end) = (floor(start), floor(end));
        let begin = text[..start].rfind('\n').map_or(0, |n| n + 1);
        let stop = text[start..].find(['\n', '\r']).map_or(text.len(), |n| start + n);
        let before = text[begin..start].chars().count();
        let width = text[start..end.clamp(start, stop)].chars().count().max(1);
        let long = text[begin..stop].chars().nth(Place::WIDTH).is_some();
        let skip = if long { before.saturating_sub(Place::WIDTH / 2) } else { 0 };
        let plain = |c: char| if units::is_unseen(c) { ' ' } else { c };
        let shown = text[begin..stop].chars().skip(skip).take(Place::WIDTH).map(plain);
        let mut excerpt: String = shown.collect();
        let mut caret = before - skip;
        if skip > 0 {
            excerpt.insert(0, '…');
            caret += 1;
        }
        if text[begin..stop].chars().nth(skip + Place::WIDTH).is_some() {
            excerpt.push('…');
        }
        let width = width.min((excerpt.chars().count()).saturating_sub(caret).max(1));
        let line = text[..start].matches('\n').count() + 1;
        Place { line, column: before + 1, excerpt: excerpt.trim_end().into(), caret: (caret, width) }
    }
}
