//! The runs themselves: begun, gone on with, ended early, kept.

use crate::args::RunArgs;
use crate::budget;
use crate::escape::tell;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::preflight;
use crate::problem::CliProblem;
use crate::progress::RunsBar;
use crate::settings::{FolderState, RunSettings, state};
use app::keep::KeptRuns;
use app::tap::Folders;
use experiment::{CaptureSink, Hooks, Order, Outcomes, Progress, VariantOutcomes};
use scenario::Experiment;
use std::path::Path;

/// What is to be run, and where its results go.
pub struct Work<'a> {
    args: &'a RunArgs,
    experiment: &'a Experiment,
    /// How it is run.
    pub order: Order,
    /// What is asked for.
    pub settings: RunSettings,
    folder: &'a Path,
    kept: KeptRuns,
}

/// What came of it.
pub struct Worked {
    /// All that was finished.
    pub outcomes: Outcomes,
    /// What is not there, for people; `None` where all is.
    pub missing: Option<String>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What daemons answered after runs on the kernel, with the variant.
    pub answers: Vec<(String, String)>,
}

impl<'a> Work<'a> {
    /// These runs of the experiment.
    pub fn new(
        args: &'a RunArgs,
        text: &str,
        experiment: &'a Experiment,
        order: Order,
        folder: &'a Path,
    ) -> Work<'a> {
        let settings = RunSettings::of(&args.set, experiment, &order);
        let kept = KeptRuns::new(folder, text, &settings, experiment);
        Work { args, experiment, order, settings, folder, kept }
    }

    /// Whether `--resume` finds all runs there and done.
    ///
    /// # Errors
    /// The folder holds what is not to be replaced, or cannot be gone on with.
    pub fn is_done(&self, text: &str) -> Result<bool, CliProblem> {
        let folder = self.folder.display();
        let refused = |what: String| Err(CliProblem::usage(what));
        let (kept, before) = (self.kept.difference(), state(self.folder, text, &self.settings));
        if self.args.force {
            return Ok(false);
        }
        match (&kept, &before) {
            (Some(Some(why)), _) if self.args.resume => refused(format!(
                "--resume: the runs in {folder} are not of the same: {why}; without --resume all are run, --out \
                 DIR leaves these as they are"
            )),
            (_, FolderState::Other(why)) => refused(format!(
                "{folder} holds other results ({why}): --out DIR leaves them as they are, --force replaces them"
            )),
            (Some(Some(why)), FolderState::Empty) => refused(format!(
                "{folder} holds unfinished runs of other work ({why}): --out DIR leaves them as they are, --force \
                 replaces them"
            )),
            (None, FolderState::Same { complete: true }) => Ok(self.args.resume),
            (Some(None), _) if !self.args.resume => {
                tell!(
                    "longfat: {folder} holds runs of this that were ended early; --resume would go on with them\n"
                );
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Runs what is not there yet, with a bar. Without any result the first failure is the whole's.
    pub fn play(&self) -> Result<Worked, CliProblem> {
        preflight::check(self.experiment, &self.order)?;
        let jobs = self.order.jobs(self.experiment).len();
        let done = if self.args.resume { self.kept.load(&self.order, self.experiment) } else { Vec::new() };
        if self.args.resume {
            tell!("longfat: {} of {jobs} runs are there already\n", done.len());
        }
        // A single run has nothing to go on with.
        let keeps = jobs > 1;
        if keeps {
            self.kept.begin(self.args.resume)?;
        }
        let folders = self.args.pcap.as_ref().map(|folder| Folders::new(folder, self.args.pcap_stages));
        lab::catch_interrupts();
        let mut bar = RunsBar::new(!self.args.no_progress);
        let mut progress = |p: &Progress| bar.watch(p);
        let keep = |job: &_, outcome: &_| self.kept.keep(job, outcome);
        let answers = std::sync::Mutex::new(Vec::new());
        let shown = |variant: &str, text: &str| {
            let mut all = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            all.push((variant.to_string(), text.to_string()));
        };
        let hooks = Hooks {
            user: self.args.user.as_deref(),
            progress: Some(&mut progress),
            captures: folders.as_ref().map(|f| f as &dyn CaptureSink),
            finished: keeps.then_some(&keep),
            shown: self.args.show.then_some(&shown),
            done,
            ..Hooks::default()
        };
        let outcomes = experiment::run(self.experiment, &self.order, hooks);
        bar.clear();
        if let Some(warning) = self.kept.take_warning() {
            tell!("warning: {warning}\n");
        }
        for outcome in outcomes.variants.iter().flat_map(|v| &v.outcomes) {
            let deaths = report::deaths_of(&outcome.variant, report::Lang::En);
            deaths.iter().for_each(|death| tell!("error: {}: {death}\n", outcome.variant.name));
        }
        outcomes.notices.iter().for_each(|n| tell!("kernel, {}: {}\n", n.variant, n.text));
        let answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.ended(outcomes, folders.as_ref()).map(|worked| Worked { answers, ..worked })
    }

    fn ended(&self, mut outcomes: Outcomes, folders: Option<&Folders>) -> Result<Worked, CliProblem> {
        let signal = lab::interrupted().filter(|_| !outcomes.is_complete());
        let some = outcomes.variants.iter().any(|v| !v.outcomes.is_empty());
        let missing = missing(&outcomes, self.order.repeats);
        // What a signal ended may say so in its own way.
        let failed = if signal.is_some() { Vec::new() } else { std::mem::take(&mut outcomes.failed) };
        let mut problems: Vec<CliProblem> = Vec::new();
        for run in failed {
            let which = format!("{}, {}, repeat {}", run.variant, run.job.clock.name(), run.job.repeat + 1);
            let folder =
                folders.map(|f| f.of(&self.order.label(self.experiment, &run.job)).display().to_string());
            if some {
                tell!("{which}: ");
            }
            problems.push(CliProblem::of_run(run.failure, folder.unwrap_or_default()));
            if some && let Some(problem) = problems.last() {
                tell!("{problem}");
            }
        }
        if !some && !problems.is_empty() {
            if outcomes.apart.is_empty() {
                self.kept.clear_all();
            }
            return Err(problems.remove(0));
        }
        if !some && outcomes.apart.is_empty() {
            self.kept.clear_all();
        }
        Ok(Worked { outcomes, missing, signal, answers: Vec::new() })
    }

    /// All is written and complete: what was kept to go on with goes.
    pub fn clear(&self) {
        self.kept.clear();
    }
}

/// The runs that these arguments ask for. A capture is of one run unless the user says how many are to be captured.
pub fn order(args: &RunArgs, experiment: &Experiment) -> Order {
    let clocks = args.on.each().to_vec();
    let unasked = || if args.pcap.is_some() { 1 } else { budget::repeats(experiment, &clocks) };
    Order {
        repeats: args.repeat.unwrap_or_else(unasked),
        clocks,
        seed: args.seed,
        threads: args.jobs,
        keep_going: false,
    }
}

/// Which variants lack which repeats.
fn missing(outcomes: &Outcomes, repeats: u32) -> Option<String> {
    let both = outcomes.variants.iter().any(|v| v.clock != outcomes.variants[0].clock);
    let of = |v: &VariantOutcomes| {
        let (there, all) = (v.outcomes.len(), repeats.max(1) as usize);
        let clock = if both { format!(" ({})", v.clock.name()) } else { String::new() };
        let count = if all > 1 { format!(" {} of {all} repeats", all - there) } else { String::new() };
        (there < all).then(|| format!("{}{clock}{count}", v.variant))
    };
    let list: Vec<String> = outcomes.variants.iter().filter_map(of).collect();
    (!list.is_empty()).then(|| list.join(", "))
}
