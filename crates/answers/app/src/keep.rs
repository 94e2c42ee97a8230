//! Runs that are finished, kept in the result folder until all are: what a failure, Ctrl-C or a power cut ends goes on
//! with `--resume`.
//!
//! `runs/order.json` says of what they are; a run is a file, named by its place in the order. They are for the same
//! program alone, and go when the experiment is complete.

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
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Of what the kept runs are.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KeptOrder {
    /// The program, to the commit where that is known: another one may simulate otherwise.
    program: String,
    /// The scenario file's text.
    text: String,
    /// A number of all that it became, files that its stages name among it (FNV-1a).
    digest: u64,
    settings: RunSettings,
}

/// The kept runs of one experiment.
pub struct KeptRuns {
    folder: PathBuf,
    order: KeptOrder,
    /// The first that went wrong in keeping; the runs themselves go on.
    lost: Mutex<Option<io::Error>>,
}

impl KeptRuns {
    /// Those in a result folder, be there any or none.
    pub fn new(results: &Path, text: &str, settings: &RunSettings, experiment: &Experiment) -> KeptRuns {
        let commit = option_env!("LONGFAT_COMMIT").unwrap_or_default();
        let order = KeptOrder {
            program: format!("{} {commit}", env!("CARGO_PKG_VERSION")),
            text: text.into(),
            digest: units::fnv1a(format!("{experiment:?}").as_bytes(), BASIS),
            settings: settings.clone(),
        };
        KeptRuns { folder: results.join(KEPT), order, lost: Mutex::default() }
    }

    /// What keeps the runs that are there from being gone on with; `None` where there are none.
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

    /// Those that are there and whole. A file that was cut short is none.
    pub fn load(&self, order: &Order, experiment: &Experiment) -> Vec<(RunJob, Outcome)> {
        let read = |job: RunJob| {
            let bytes = regular::read(&self.file(&job)).ok()?;
            Some((job, Unpacker(&bytes).outcome()?))
        };
        order.jobs(experiment).into_iter().filter_map(read).collect()
    }

    /// Begins to keep: without what is left of other runs, unless it is gone on with.
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

    /// Keeps one.
    pub fn keep(&self, job: &RunJob, outcome: &Outcome) {
        let mut bytes = Packer::default();
        bytes.outcome(outcome);
        if let Err(e) = regular::write(&self.file(job), &bytes.0) {
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
        }
    }

    /// Why runs could not be kept, as a warning for the user; given once.
    pub fn take_warning(&self) -> Option<String> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(format!("runs cannot be kept in {}: {lost}", self.folder.display()))
    }

    /// All is done: they go, and the folder with them when nothing else is in it.
    pub fn clear(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|e| e.path());
        let ours = |path: &PathBuf| {
            path.extension().is_some_and(|e| e == EXTENSION) || path.file_name().is_some_and(|n| n == ORDER)
        };
        // What cannot be removed is overwritten by the next run, or belongs to somebody else.
        entries.filter(ours).for_each(|path| drop(fs::remove_file(path)));
        drop(fs::remove_dir(&self.folder));
    }

    /// As [`KeptRuns::clear`]; the result folder goes too when it is empty.
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
