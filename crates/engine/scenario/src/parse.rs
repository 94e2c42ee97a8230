//! Parses a scenario text into an [`Experiment`]: TOML, overrides, one checked scenario per variant.

use crate::check::{self, Checked};
use crate::evaluation;
use crate::file::current_name;
use crate::model::{Experiment, Variant};
use crate::overrides::{OverrideScope, apply_set, apply_variant, sets_top_level};
use crate::programs::ProgramLine;
use crate::stage::{self, Files};
use crate::tool::Tool;
use document::{
    DocumentError, Fault, NamedText, Node, Origin, RefusalCause, TomlTable, Value, check_name, parse,
};

const MAX_VARIANTS: usize = 1000;

impl Experiment {
    /// Parses the scenario `text`. `file` is its name, for errors and for the default of `name`. `sets` are
    /// `KEY=VALUE` overrides that are applied to every variant, after the variant's own.
    ///
    /// # Errors
    /// Fails when the text is not a valid scenario, and when a stage names a file (a trace): see
    /// [`Experiment::parse_with`].
    pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Experiment, DocumentError> {
        ScenarioRequest { file, text, sets, ..ScenarioRequest::default() }.experiment(&mut None)
    }

    /// [`Experiment::parse`] with files: `read` gets the name of a stage's file as the scenario has it, and
    /// returns the text or the reason why it cannot be read.
    pub fn parse_with(
        file: &str,
        text: &str,
        sets: &[String],
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, DocumentError> {
        ScenarioRequest { file, text, sets, ..ScenarioRequest::default() }.experiment(&mut Some(read))
    }
}

/// A scenario text, its overrides, and the variants to read. The other variants are not checked: neither
/// their own errors nor overrides that do not fit them are reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScenarioRequest<'a> {
    /// The file's name, for errors and for the default of `name`.
    pub file: &'a str,
    pub text: &'a str,
    /// `KEY=VALUE` overrides that are applied to every variant, after the variant's own;
    /// `variants.NAME.KEY=VALUE` applies to one variant. Errors call an override `--set KEY=VALUE`.
    pub sets: &'a [String],
    /// Overrides from a sweep's axes, applied after `sets`. Errors call an override `--vary KEY=VALUE`.
    pub varied: &'a [String],
    /// Names of the variants to read; empty for all.
    pub variants: &'a [String],
}

impl ScenarioRequest<'_> {
    /// Parses the selected variants, in file order. `read` gets the name of a stage's file as the scenario
    /// has it, and returns the text or the reason why it cannot be read.
    ///
    /// # Errors
    /// Fails when the scenario is invalid, an override does not fit a selected variant, or a selected variant
    /// does not exist.
    pub fn parse(
        &self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, DocumentError> {
        self.experiment(&mut Some(read))
    }

    /// Parses the selected variants without access to files: a stage that names one is an error.
    ///
    /// # Errors
    /// Fails as [`ScenarioRequest::parse`] does.
    pub fn parse_without_files(&self) -> Result<Experiment, DocumentError> {
        self.experiment(&mut None)
    }

    /// The names of all variants of the file, in file order, selected or not.
    ///
    /// # Errors
    /// Fails when the file is not TOML or a variant has an invalid name.
    pub fn variant_names(&self) -> Result<Vec<String>, DocumentError> {
        let mut root = self.read()?;
        Ok(self.take_variants(&mut root)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The commands (`tool`, `server`) of the selected variants' flows, in order and without duplicates.
    /// iperf3 is left out, because longfat writes its command lines.
    ///
    /// # Errors
    /// Fails as [`ScenarioRequest::parse`] does, as far as errors can be found without checking values.
    pub fn programs(&self) -> Result<Vec<ProgramLine>, DocumentError> {
        let mut root = self.read()?;
        let variants = self.take_variants(&mut root)?;
        let known: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        let mut lines: Vec<ProgramLine> = Vec::new();
        for (variant, overrides) in self.selected(&variants)? {
            let tree = self.overridden(&root, overrides, OverrideScope { variant, known: &known });
            self.add_programs(&tree.map_err(|f| self.error(f, None))?, variant, &mut lines);
        }
        Ok(lines)
    }

    fn experiment(&self, files: &mut Files<'_>) -> Result<Experiment, DocumentError> {
        let mut root = self.read()?;
        let variants = self.take_variants(&mut root)?;
        let known: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        let mut experiment = Experiment {
            name: String::new(),
            description: String::new(),
            goal: Vec::new(),
            baseline: self.baseline(&root, &known)?,
            variants: Vec::new(),
        };
        for (name, overrides) in self.selected(&variants)? {
            let scope = OverrideScope { variant: name, known: &known };
            let Checked { scenario, description, goal } =
                self.variant(&root, overrides, scope, files).map_err(|error| {
                    // An error that exists without the variant's overrides is the file's, not the variant's.
                    let bare = TomlTable::default();
                    let alone = overrides.entries.is_empty()
                        || self.variant(&root, &bare, scope, files).err().as_ref() == Some(&error);
                    if alone { error } else { error.in_part("the variant", name) }
                })?;
            if experiment.variants.is_empty() {
                experiment.name = scenario.name.clone();
                experiment.description = description;
                experiment.goal = goal;
            }
            experiment.variants.push(Variant { name: name.into(), scenario });
        }
        Ok(experiment)
    }

    /// The variants of the file that are selected, in file order.
    fn selected<'v>(
        &self,
        variants: &'v [(String, TomlTable)],
    ) -> Result<impl Iterator<Item = (&'v str, &'v TomlTable)>, DocumentError> {
        let unknown = self.variants.iter().find(|name| !variants.iter().any(|(own, _)| own == *name));
        if let Some(name) = unknown {
            let known = variants.iter().map(|(name, _)| name.clone()).collect();
            let cause = RefusalCause::UnknownName { what: "variant", name: name.clone(), known };
            return Err(DocumentError::in_argument("--variant", name, 0..name.len(), cause));
        }
        let is_selected = |name: &str| self.variants.is_empty() || self.variants.iter().any(|v| v == name);
        let selected: Vec<_> = variants.iter().filter(|(name, _)| is_selected(name)).collect();
        Ok(selected.into_iter().map(|(name, overrides)| (name.as_str(), overrides)))
    }

    /// Adds the commands of a variant's flows to `lines`, or the variant's name to those that are there.
    fn add_programs(&self, tree: &Node, variant: &str, lines: &mut Vec<ProgramLine>) {
        let flows = tree.get("flows").and_then(Node::as_table);
        for (flow, node) in flows.iter().flat_map(|t| &t.entries) {
            for key in ["tool", "server"] {
                let Some(node) = node.get(key) else { continue };
                let Some(command) = node.as_text().filter(|text| !Tool::is_iperf3(text)) else { continue };
                let source = self.source(node.at);
                let line = ProgramLine {
                    variants: vec![variant.into()],
                    is_set: source.is_argument,
                    line: node.at.line_in(source.text),
                    file: source.name,
                    key: format!("flows.{}.{key}", flow.name),
                    command: command.into(),
                };
                let alike = |l: &&mut ProgramLine| {
                    (&l.file, l.line, &l.key, &l.command) == (&line.file, line.line, &line.key, &line.command)
                };
                match lines.iter_mut().find(alike) {
                    Some(known) => known.variants.push(variant.into()),
                    None => lines.push(line),
                }
            }
        }
    }

    /// All overrides in the order of application, each with the option that errors name.
    fn all_overrides(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.sets.iter().map(|set| ("--set", set)).chain(self.varied.iter().map(|set| ("--vary", set)))
    }

    /// The text that `at` points into: the file or an override.
    fn source(&self, at: Origin) -> NamedText<'_> {
        let set = (at.source as usize).checked_sub(1).and_then(|n| self.all_overrides().nth(n));
        set.map_or_else(
            || NamedText::of_file(self.file, self.text),
            |(option, text)| NamedText::of_option(option, text),
        )
    }

    /// Parses the file into a TOML tree.
    fn read(&self) -> Result<TomlTable, DocumentError> {
        let mut root = parse(self.text).map_err(|fault| self.error(fault, None))?;
        for old in 0..root.entries.len() {
            let name = current_name(&root.entries[old].0.name);
            // A file with both names is unchanged; the old name is then reported as unknown.
            if root.entries.iter().all(|(key, _)| key.name != name) {
                root.entries[old].0.name = name.into();
            }
        }
        Ok(root)
    }

    /// Removes `[variants]` from the tree and returns names and overrides.
    fn take_variants(&self, root: &mut TomlTable) -> Result<Vec<(String, TomlTable)>, DocumentError> {
        let fault = |cause, at| self.error(Fault::new(cause, at), None);
        let Some(node) = root.remove("variants") else { return Ok(vec![default_variant()]) };
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
            if variants.len() == MAX_VARIANTS {
                let allowed = format!("at most {MAX_VARIANTS} variants");
                return Err(fault(RefusalCause::OutOfRange { found: key.name, allowed }, key.at));
            }
            variants.push((key.name, table_of(node)?));
        }
        if variants.is_empty() {
            variants.push(default_variant());
        }
        check::check_size(root, variants.len()).map_err(|(found, most)| {
            let allowed = format!("at most {most} values in all variants together");
            self.error(RefusalCause::OutOfRange { found: format!("{found} values"), allowed }.into(), None)
        })?;
        Ok(variants)
    }

    /// The variant that the file or an override names as the baseline.
    fn baseline(&self, root: &TomlTable, names: &[&str]) -> Result<Option<String>, DocumentError> {
        // Only `baseline` is set: other overrides may fit no more than some of the variants.
        let scope = OverrideScope { variant: "", known: names };
        let tree = self.apply_matching(root.clone(), scope, |text| sets_top_level(text, "baseline"));
        let tree = tree.map_err(|f| self.error(f, None))?;
        evaluation::baseline(&tree, names).map_err(|f| self.error(f, Some(&tree)))
    }

    /// The tree with a variant's overrides, then all overrides of the request.
    fn overridden(
        &self,
        root: &TomlTable,
        overrides: &TomlTable,
        scope: OverrideScope<'_>,
    ) -> Result<Node, Fault> {
        let mut table = root.clone();
        apply_variant(&mut table, overrides)?;
        self.apply_matching(table, scope, |_| true)
    }

    /// The tree with those overrides of the request that `wanted` accepts.
    fn apply_matching(
        &self,
        mut table: TomlTable,
        scope: OverrideScope<'_>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Node, Fault> {
        for ((_, set), source) in self.all_overrides().zip(1..).filter(|((_, set), _)| wanted(set)) {
            apply_set(&mut table, set, source, scope)?;
        }
        Ok(Node::root(table))
    }

    /// Checks one variant with its overrides applied.
    fn variant(
        &self,
        root: &TomlTable,
        overrides: &TomlTable,
        scope: OverrideScope<'_>,
        files: &mut Files<'_>,
    ) -> Result<Checked, DocumentError> {
        let tree = self.overridden(root, overrides, scope).map_err(|f| self.error(f, None))?;
        let checked = check::scenario(&tree, &stem(self.file), files);
        checked.map_err(|f| self.error(f, Some(&tree)))
    }

    /// Adds file, line, column, key and excerpt to a fault.
    fn error(&self, mut fault: Fault, tree: Option<&Node>) -> DocumentError {
        fault.key = fault.key.or_else(|| tree?.key_at(fault.at?, &|path, list| stage::names_at(path, list)));
        self.source(fault.at.unwrap_or_default()).refuse(fault)
    }
}

/// The variant of a file without variants.
fn default_variant() -> (String, TomlTable) {
    ("default".into(), TomlTable::default())
}

/// Derives a scenario name from a file name: drops folders and `.toml`, replaces invalid characters.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let base = base.strip_suffix(".toml").unwrap_or(base);
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    let name: String = base.chars().map(fit).take(64).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "scenario".into() } else { name.into() }
}
