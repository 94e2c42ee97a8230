//! From text to [`Experiment`]: TOML, overrides, one checked scenario per variant.

use crate::check::{self, Checked};
use crate::judged;
use crate::model::{Experiment, Variant};
use crate::overrides::{SetIn, apply_set, apply_variant, sets_top};
use crate::programs::ProgramLine;
use crate::stage::{self, Files};
use crate::tool::Tool;
use document::{
    DocumentError, Fault, NamedText, Node, Origin, RefusalCause, TomlTable, Value, check_name, parse,
};

const MOST_VARIANTS: usize = 1000;

impl Experiment {
    /// Reads the scenario `text`. `file` is its name, for errors and for the default of `name`;
    /// `sets` are `KEY=VALUE` overrides that every variant gets after its own.
    ///
    /// A stage that names a file (a trace) is an error; see [`Experiment::parse_with`].
    pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Experiment, DocumentError> {
        AskedScenario { file, text, sets, ..AskedScenario::default() }.experiment(&mut None)
    }

    /// [`Experiment::parse`] that also loads the files which stages name, through `read`: it is
    /// given a name as the scenario has it, and returns the text or why there is none.
    pub fn parse_with(
        file: &str,
        text: &str,
        sets: &[String],
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, DocumentError> {
        AskedScenario { file, text, sets, ..AskedScenario::default() }.experiment(&mut Some(read))
    }
}

/// What is asked for: a file, what it is overridden with, and which of its variants. Only these are read: what is wrong
/// with another variant, or does not fit it, is no error.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedScenario<'a> {
    /// The file's name, for errors and for the default of `name`.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
    /// `KEY=VALUE` overrides that every variant gets after its own; `variants.NAME.KEY=VALUE` is for one. Errors call one
    /// `--set KEY=VALUE`.
    pub sets: &'a [String],
    /// More of them, made after `sets`, from a sweep's axes. Errors call one `--vary KEY=VALUE`.
    pub varied: &'a [String],
    /// Names of variants; none: all.
    pub variants: &'a [String],
}

impl AskedScenario<'_> {
    /// The variants asked for, in the file's order. Files which stages name are loaded through `read`: it is given a name as
    /// the scenario has it, and returns the text or why there is none.
    ///
    /// # Errors
    /// The scenario is wrong, an override does not fit one of the variants, or there is no variant of a name.
    pub fn parse(
        &self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, DocumentError> {
        self.experiment(&mut Some(read))
    }

    /// The same where there are no files: a stage that names one is an error.
    ///
    /// # Errors
    /// As [`AskedScenario::parse`].
    pub fn parse_alone(&self) -> Result<Experiment, DocumentError> {
        self.experiment(&mut None)
    }

    /// The names of all variants of the file, in its order, asked for or not.
    ///
    /// # Errors
    /// The file is no TOML, or its variants have no names that can be.
    pub fn variant_names(&self) -> Result<Vec<String>, DocumentError> {
        let mut root = self.read()?;
        Ok(self.take_variants(&mut root)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The commands of the flows (`tool`, `server`) of the variants asked for, in their order, each once; iperf3, whose
    /// command lines are longfat's own, is none of them.
    ///
    /// # Errors
    /// As [`AskedScenario::parse`], of what can be told without checking values.
    pub fn programs(&self) -> Result<Vec<ProgramLine>, DocumentError> {
        let mut root = self.read()?;
        let variants = self.take_variants(&mut root)?;
        let known: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        let mut lines: Vec<ProgramLine> = Vec::new();
        for (variant, overrides) in self.chosen(&variants)? {
            let tree = self.overridden(&root, overrides, SetIn { variant, known: &known });
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
        for (name, overrides) in self.chosen(&variants)? {
            let of = SetIn { variant: name, known: &known };
            let Checked { scenario, description, goal } =
                self.variant(&root, overrides, of, files).map_err(|error| {
                    // A fault of the file itself is none of the variant's.
                    let bare = TomlTable::default();
                    let alone = overrides.entries.is_empty()
                        || self.variant(&root, &bare, of, files).err().as_ref() == Some(&error);
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

    /// Those of the file's variants that are asked for.
    fn chosen<'v>(
        &self,
        variants: &'v [(String, TomlTable)],
    ) -> Result<impl Iterator<Item = (&'v str, &'v TomlTable)>, DocumentError> {
        let unknown = self.variants.iter().find(|name| !variants.iter().any(|(own, _)| own == *name));
        if let Some(name) = unknown {
            let known = variants.iter().map(|(name, _)| name.clone()).collect();
            let cause = RefusalCause::UnknownName { what: "variant", name: name.clone(), known };
            return Err(DocumentError::in_argument("--variant", name, 0..name.len(), cause));
        }
        let is_asked = |name: &str| self.variants.is_empty() || self.variants.iter().any(|v| v == name);
        let asked: Vec<_> = variants.iter().filter(|(name, _)| is_asked(name)).collect();
        Ok(asked.into_iter().map(|(name, overrides)| (name.as_str(), overrides)))
    }

    /// Adds the commands of a variant's flows.
    fn add_programs(&self, tree: &Node, variant: &str, lines: &mut Vec<ProgramLine>) {
        let flows = tree.get("flows").and_then(Node::as_table);
        for (flow, node) in flows.iter().flat_map(|t| &t.entries) {
            for key in ["tool", "server"] {
                let Some(node) = node.get(key) else { continue };
                let Some(command) = node.as_text().filter(|text| !Tool::is_own(text)) else { continue };
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

    /// All overrides in the order in which they are made, each with the option that errors call it by.
    fn asked_sets(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.sets.iter().map(|set| ("--set", set)).chain(self.varied.iter().map(|set| ("--vary", set)))
    }

    /// The text that something was written in.
    fn source(&self, at: Origin) -> NamedText<'_> {
        let set = (at.source as usize).checked_sub(1).and_then(|n| self.asked_sets().nth(n));
        set.map_or_else(
            || NamedText::of_file(self.file, self.text),
            |(option, text)| NamedText::of_option(option, text),
        )
    }

    /// The file as a tree.
    fn read(&self) -> Result<TomlTable, DocumentError> {
        parse(self.text).map_err(|fault| self.error(fault, None))
    }

    /// Takes `[variants]` out of the tree: names and overrides.
    fn take_variants(&self, root: &mut TomlTable) -> Result<Vec<(String, TomlTable)>, DocumentError> {
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

    /// The variant that a file or an override names as the baseline.
    fn baseline(&self, root: &TomlTable, names: &[&str]) -> Result<Option<String>, DocumentError> {
        // Other overrides may fit the variants alone.
        let of = SetIn { variant: "", known: names };
        let tree = self.set_where(root.clone(), of, |text| sets_top(text, "baseline"));
        let tree = tree.map_err(|f| self.error(f, None))?;
        judged::baseline(&tree, names).map_err(|f| self.error(f, Some(&tree)))
    }

    /// The tree with a variant's overrides and every one that was asked for.
    fn overridden(&self, root: &TomlTable, overrides: &TomlTable, of: SetIn<'_>) -> Result<Node, Fault> {
        let mut table = root.clone();
        apply_variant(&mut table, overrides)?;
        self.set_where(table, of, |_| true)
    }

    /// The tree with those that were asked for and are wanted.
    fn set_where(
        &self,
        mut table: TomlTable,
        of: SetIn<'_>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Node, Fault> {
        for ((_, set), source) in self.asked_sets().zip(1..).filter(|((_, set), _)| wanted(set)) {
            apply_set(&mut table, set, source, of)?;
        }
        Ok(Node::root(table))
    }

    /// The same, read.
    fn variant(
        &self,
        root: &TomlTable,
        overrides: &TomlTable,
        of: SetIn<'_>,
        files: &mut Files<'_>,
    ) -> Result<Checked, DocumentError> {
        let tree = self.overridden(root, overrides, of).map_err(|f| self.error(f, None))?;
        let checked = check::scenario(&tree, &stem(self.file), files);
        checked.map_err(|f| self.error(f, Some(&tree)))
    }

    /// Gives a fault its file, line, column, key and excerpt.
    fn error(&self, mut fault: Fault, tree: Option<&Node>) -> DocumentError {
        fault.key = fault.key.or_else(|| tree?.key_at(fault.at?, &|path, list| stage::names_at(path, list)));
        self.source(fault.at.unwrap_or_default()).refuse(fault)
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
