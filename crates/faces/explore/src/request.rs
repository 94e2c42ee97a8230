//! The questions of a page, and the refusals.

use result::Run;
use scenario::{DocumentError, Experiment, ScenarioRequest};
use serde::{Deserialize, Serialize};

/// A question of a page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum PageQuestion {
    /// Read a scenario, and list its sliders.
    Read(ScenarioText),
    /// Return the text of a scenario with its overrides applied.
    Toml(ScenarioText),
    /// Run a variant.
    Run(RunRequest),
    /// Diagnose a capture.
    Diagnose(CaptureRequest),
    /// Fit a scenario to a capture.
    Fit(CaptureFitRequest),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// Name of the capture's file; its content is not part of the JSON.
    pub file: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureFitRequest {
    /// Name of the capture's file; its content is not part of the JSON.
    pub file: String,
    /// Approximate limit on the simulated data packets.
    pub packets: u64,
}

/// A scenario with overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioText {
    /// Name of the file, which is the scenario's default name.
    pub file: String,
    /// Content of the file.
    pub text: String,
    /// Overrides in the syntax of `--set`.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Name of the variant; `None` is the first.
    #[serde(default)]
    pub variant: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    pub scenario: ScenarioText,
    /// `None`: the scenario's seed.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Run only this many seconds of the variant's duration.
    #[serde(default)]
    pub until_s: Option<f64>,
    /// Pinned results, which the headline compares the run with.
    #[serde(default)]
    pub pinned: Vec<PinnedRun>,
    /// Label of the run next to the pinned ones.
    #[serde(default)]
    pub label: String,
}

/// A result pinned in the page, without its series.
#[derive(Clone, Debug, Deserialize)]
pub struct PinnedRun {
    pub label: String,
    pub run: Run,
}

/// The answer to a question that cannot be answered.
#[derive(Debug, Serialize)]
pub struct Refusal {
    refused: Reason,
}

/// The reason of a refusal; an error in a scenario has its line and key.
#[derive(Debug, Default, Serialize)]
struct Reason {
    /// The message in one line.
    message: String,
    /// The message in Chinese, if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    zh: String,
    /// The message with the quoted line and a caret.
    text: String,
    /// Line of the file, from 1; 0 for an override.
    line: usize,
    /// The key in the syntax of `--set`.
    key: String,
}

impl Refusal {
    /// A refusal with a message in English only.
    pub fn plain(message: String) -> Refusal {
        Refusal::in_both(message, String::new())
    }

    /// A refusal with a message in English and Chinese.
    pub(crate) fn in_both(message: String, zh: String) -> Refusal {
        Refusal { refused: Reason { text: message.clone(), message, zh, ..Reason::default() } }
    }
}

impl From<DocumentError> for Refusal {
    fn from(e: DocumentError) -> Refusal {
        let line = if e.file().starts_with("--set") { 0 } else { e.line() };
        let why = Reason {
            message: e.to_string(),
            text: e.render(),
            line,
            key: e.key().into(),
            ..Reason::default()
        };
        Refusal { refused: why }
    }
}

impl ScenarioText {
    /// Returns the names of the variants.
    pub(crate) fn variants(&self) -> Result<Vec<String>, Refusal> {
        Ok(self.to_parse().variant_names()?)
    }

    /// Parses the requested variant, else the first. Overrides need not fit the other variants, and files
    /// that stages refer to do not exist.
    pub(crate) fn chosen(&self) -> Result<Experiment, Refusal> {
        let names = self.variants()?;
        let chosen = self.variant.as_ref().or(names.first());
        let chosen: Vec<String> = chosen.into_iter().cloned().collect();
        experiment::known_variants(&names, &chosen).map_err(|e| Refusal::plain(e.to_string()))?;
        Ok(ScenarioRequest { variants: &chosen, ..self.to_parse() }.parse_without_files()?)
    }

    /// Parses all variants; only the requested one if the overrides do not fit all of them.
    pub(crate) fn all(&self) -> Result<Experiment, Refusal> {
        self.to_parse().parse_without_files().or_else(|_| self.chosen())
    }

    fn to_parse(&self) -> ScenarioRequest<'_> {
        ScenarioRequest { file: &self.file, text: &self.text, sets: &self.sets, ..ScenarioRequest::default() }
    }
}
