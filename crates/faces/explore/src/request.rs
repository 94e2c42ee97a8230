//! What a page asks, and how it is told that it cannot be.

use result::Run;
use scenario::{AskedScenario, DocumentError, Experiment};
use serde::{Deserialize, Serialize};

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum PageQuestion {
    /// What the scenario says, and what of it can be tuned.
    Read(ScenarioText),
    /// The scenario with its overrides as a file.
    Toml(ScenarioText),
    /// A run of one variant.
    Run(RunRequest),
    /// What limited the flows of a capture.
    Diagnose(CaptureRequest),
    /// A scenario that behaves as the path of a capture did.
    Fit(CaptureFitRequest),
}

/// A capture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// What its file is called; its bytes are read apart.
    pub file: String,
}

/// A capture, and how much is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureFitRequest {
    /// What its file is called; its bytes are read apart.
    pub file: String,
    /// Data packets that are simulated at most, about.
    pub packets: u64,
}

/// A scenario as the page has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioText {
    /// What its file is called: the default of its name.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// Overrides, as `--set` takes them.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Which variant; `None` is the first.
    #[serde(default)]
    pub variant: Option<String>,
}

/// A run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Of what.
    pub scenario: ScenarioText,
    /// Its seed; `None`: the scenario's.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Runs only so many seconds of the variant's duration: the same beginning.
    #[serde(default)]
    pub until_s: Option<f64>,
    /// Results that the story compares it with, and their labels.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// What to call it beside others.
    #[serde(default)]
    pub label: String,
}

/// A result that the page holds, without its series.
#[derive(Clone, Debug, Deserialize)]
pub struct Beside {
    /// What to call it.
    pub label: String,
    /// The summary.
    pub run: Run,
}

/// Why it cannot be done, as the page shows it.
#[derive(Debug, Serialize)]
pub struct Refusal {
    refused: Why,
}

/// Of a fault of a scenario its place; else only the words.
#[derive(Debug, Default, Serialize)]
struct Why {
    /// In a line.
    message: String,
    /// The same in Chinese, where it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    zh: String,
    /// Several lines, with the place in the text and a caret.
    text: String,
    /// Line of the file, from 1; 0 where it is in an override.
    line: usize,
    /// The key as `--set` takes it.
    key: String,
}

impl Refusal {
    /// In words alone.
    pub fn plain(message: String) -> Refusal {
        Refusal::in_both(message, String::new())
    }

    /// In words alone, English and Chinese.
    pub(crate) fn in_both(message: String, zh: String) -> Refusal {
        Refusal { refused: Why { text: message.clone(), message, zh, ..Why::default() } }
    }
}

impl From<DocumentError> for Refusal {
    fn from(e: DocumentError) -> Refusal {
        let line = if e.file().starts_with("--set") { 0 } else { e.line() };
        let why =
            Why { message: e.to_string(), text: e.render(), line, key: e.key().into(), ..Why::default() };
        Refusal { refused: why }
    }
}

impl ScenarioText {
    /// The names of its variants.
    pub(crate) fn variants(&self) -> Result<Vec<String>, Refusal> {
        Ok(self.asked().variant_names()?)
    }

    /// Reads the variant that is asked for, the first where none is; overrides need not fit the others. Files that stages
    /// name are not there.
    pub(crate) fn chosen(&self) -> Result<Experiment, Refusal> {
        let names = self.variants()?;
        let wanted = self.variant.as_ref().or(names.first());
        let wanted: Vec<String> = wanted.into_iter().cloned().collect();
        experiment::known_variants(&names, &wanted).map_err(|e| Refusal::plain(e.to_string()))?;
        Ok(AskedScenario { variants: &wanted, ..self.asked() }.parse_alone()?)
    }

    /// Reads all variants; only the one that is asked for where the overrides do not fit all of them.
    pub(crate) fn all(&self) -> Result<Experiment, Refusal> {
        self.asked().parse_alone().or_else(|_| self.chosen())
    }

    fn asked(&self) -> AskedScenario<'_> {
        AskedScenario { file: &self.file, text: &self.text, sets: &self.sets, ..AskedScenario::default() }
    }
}
