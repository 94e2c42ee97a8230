//! Finished runs, kept in the result folder until all runs are finished, so that `--resume` continues after a
//! failure, Ctrl-C or a power cut.
//!
//! `runs/order.json` describes the experiment; each run is a file that is named by its position in the order.
//! Only the same version of longfat can resume them. They are removed when the experiment is complete.

use crate::CommandError;
use crate::folder::KEPT;
use crate::regular;
use crate::settings::RunSettings;
use experiment::{Order, RunJob};
use result::{Outcome, Packer, Unpacker};
use scenario::Experiment;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const ORDER: &str = "order.json";
const EXTENSION: &str = "run";
const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The experiment that the kept runs belong to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KeptOrder {
    /// The program's version, with its commit where that is known: another version may simulate differently.
    program: String,
    /// The scenario file's text.
    text: String,
    /// Hash (FNV-1a) of the parsed scenario, including the files that its stages name.
    digest: u64,
    settings: RunSettings,
}

/// The kept runs of an experiment.
pub struct KeptRuns {
    folder: PathBuf,
    order: KeptOrder,
    /// The first error in keeping runs. The runs themselves go on.
    error: Mutex<Option<io::Error>>,
}

impl KeptRuns {
    /// Looks into a result folder, which may have no kept runs.
    pub fn new(results: &Path, text: &str, settings: &RunSettings, experiment: &Experiment) -> KeptRuns {
        let commit = option_env!("LONGFAT_COMMIT").unwrap_or_default();
        let order = KeptOrder {
            program: format!("{} {commit}", env!("CARGO_PKG_VERSION")),
            text: text.into(),
            digest: units::fnv1a(format!("{experiment:?}").as_bytes(), FNV_OFFSET_BASIS),
            settings: settings.clone(),
        };
        KeptRuns { folder: results.join(KEPT), order, error: Mutex::default() }
    }

    /// Compares the folder's kept runs with this experiment. `None`: there are none; `Some(None)`: they can
    /// be resumed; `Some(Some(_))`: the reason why they cannot.
    pub fn difference(&self) -> Option<Option<String>> {
        let text = regular::read_text(&self.folder.join(ORDER)).ok()?;
        let Ok(there) = serde_json::from_str::<KeptOrder>(&text) else {
            return Some(Some(format!("{ORDER} cannot be read")));
        };
        let changed = |what: &str| format!("{what} has changed since");
        Some(match self.order.settings.difference(&there.settings) {
            Some(difference) => Some(difference),
            None if there.text != self.order.text => Some(changed("the scenario's text")),
            None if there.digest != self.order.digest => Some(changed("a file that the scenario names")),
            None if there.program != self.order.program => Some(changed("longfat")),
            None => None,
        })
    }

    /// Loads the runs that are kept and complete. A truncated file is ignored.
    pub fn load(&self, order: &Order, experiment: &Experiment) -> Vec<(RunJob, Outcome)> {
        let read = |job: RunJob| {
            let bytes = regular::read(&self.file(&job)).ok()?;
            Some((job, Unpacker(&bytes).outcome()?))
        };
        order.jobs(experiment).into_iter().filter_map(read).collect()
    }

    /// Prepares the folder. Unless `go_on` is set, runs kept earlier are removed.
    pub fn begin(&self, go_on: bool) -> Result<(), CommandError> {
        if !go_on {
            self.clear();
        }
        let text = result::to_json(&self.order);
        if fs::symlink_metadata(&self.folder).is_ok_and(|there| there.is_symlink()) {
            let what = format!("{} is a symbolic link, which is not followed", self.folder.display());
            return Err(CommandError::Usage(what));
        }
        let kept = fs::create_dir_all(&self.folder);
        let kept = kept.and_then(|()| regular::write(&self.folder.join(ORDER), text.as_bytes()));
        kept.map_err(|e| CommandError::Io(self.folder.display().to_string(), e))
    }

    /// Keeps a run.
    pub fn keep(&self, job: &RunJob, outcome: &Outcome) {
        let mut bytes = Packer::default();
        bytes.outcome(outcome);
        if let Err(e) = regular::write(&self.file(job), &bytes.0) {
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
        }
    }

    /// Returns, once, a warning that runs could not be kept.
    pub fn take_warning(&self) -> Option<String> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(format!("runs cannot be kept in {}: {error}", self.folder.display()))
    }

    /// Removes the kept runs, and their folder if it is then empty.
    pub fn clear(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|e| e.path());
        let ours = |path: &PathBuf| {
            path.extension().is_some_and(|e| e == EXTENSION) || path.file_name().is_some_and(|n| n == ORDER)
        };
        // A file that cannot be removed is overwritten by the next run, or belongs to someone else.
        entries.filter(ours).for_each(|path| drop(fs::remove_file(path)));
        drop(fs::remove_dir(&self.folder));
    }

    /// Removes the kept runs as [`KeptRuns::clear`] does, and the result folder if it is then empty.
    pub fn clear_all(&self) {
        self.clear();
        if let Some(results) = self.folder.parent() {
            drop(fs::remove_dir(results));
        }
    }

    fn file(&self, job: &RunJob) -> PathBuf {
        let flow = job.flow.map(|f| format!("-flow{f}")).unwrap_or_default();
        let name = format!("{}-variant{}-repeat{}{flow}", job.clock.name(), job.variant, job.repeat + 1);
        self.folder.join(name).with_extension(EXTENSION)
    }
}
