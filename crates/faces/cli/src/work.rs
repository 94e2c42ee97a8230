//! Runs an experiment: starts or resumes its runs, keeps finished ones and reports failures.

use crate::args::RunArgs;
use crate::budget;
use crate::escape::eprint_escaped;
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

/// The runs of an experiment and the folder for their results.
pub struct Work<'a> {
    args: &'a RunArgs,
    experiment: &'a Experiment,
    pub order: Order,
    pub settings: RunSettings,
    folder: &'a Path,
    kept: KeptRuns,
}

/// The result of [`Work::play`].
pub struct Worked {
    /// The finished runs.
    pub outcomes: Outcomes,
    /// A list of the missing runs; `None` if all are finished.
    pub missing: Option<String>,
    /// The signal that ended the runs.
    pub signal: Option<i32>,
    /// Output of the daemons' show commands after runs on the kernel, with the variant's name.
    pub answers: Vec<(String, String)>,
}

impl<'a> Work<'a> {
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

    /// Whether `--resume` has nothing left to run.
    ///
    /// # Errors
    /// Fails when the folder holds other results that must not be replaced, or unfinished runs that cannot be
    /// resumed.
    pub fn is_done(&self, text: &str) -> Result<bool, CliProblem> {
        let folder = self.folder.display();
        let refused = |what: String| Err(CliProblem::usage(what));
        let (kept, before) = (self.kept.difference(), state(self.folder, text, &self.settings));
        if self.args.force {
            return Ok(false);
        }
        match (&kept, &before) {
            (Some(Some(why)), _) if self.args.resume => refused(format!(
                "--resume: the runs in {folder} are of another scenario or other settings: {why}; omit --resume to run \
                 everything, or write elsewhere with --out DIR"
            )),
            (_, FolderState::Other(why)) => refused(format!(
                "{folder} holds other results ({why}): keep them with --out DIR, or replace them with --force"
            )),
            (Some(Some(why)), FolderState::Empty) => refused(format!(
                "{folder} holds unfinished runs of something else ({why}): keep them with --out DIR, or replace them with \
                 --force"
            )),
            (None, FolderState::Same { complete: true }) => Ok(self.args.resume),
            (Some(None), _) if !self.args.resume => {
                eprint_escaped!(
                    "longfat: {folder} holds finished runs of an interrupted command; --resume would keep them\n"
                );
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Runs what is missing, with a progress bar.
    ///
    /// # Errors
    /// Returns the first failure if no run succeeds.
    pub fn play(&self) -> Result<Worked, CliProblem> {
        preflight::check(self.experiment, &self.order)?;
        let jobs = self.order.jobs(self.experiment).len();
        let done = if self.args.resume { self.kept.load(&self.order, self.experiment) } else { Vec::new() };
        if self.args.resume {
            eprint_escaped!("longfat: {} of {jobs} runs are complete already\n", done.len());
        }
        // A single run has nothing to resume.
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
            eprint_escaped!("warning: {warning}\n");
        }
        for outcome in outcomes.variants.iter().flat_map(|v| &v.outcomes) {
            let deaths = report::deaths_of(&outcome.variant, report::Lang::En);
            deaths.iter().for_each(|death| eprint_escaped!("error: {}: {death}\n", outcome.variant.name));
        }
        outcomes.notices.iter().for_each(|n| eprint_escaped!("kernel, {}: {}\n", n.variant, n.text));
        let answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.ended(outcomes, folders.as_ref()).map(|worked| Worked { answers, ..worked })
    }

    fn ended(&self, mut outcomes: Outcomes, folders: Option<&Folders>) -> Result<Worked, CliProblem> {
        let signal = lab::interrupted().filter(|_| !outcomes.is_complete());
        let some = outcomes.variants.iter().any(|v| !v.outcomes.is_empty());
        let missing = missing(&outcomes, self.order.repeats);
        // Runs ended by a signal are reported as missing, not as failures.
        let failed = if signal.is_some() { Vec::new() } else { std::mem::take(&mut outcomes.failed) };
        let mut problems: Vec<CliProblem> = Vec::new();
        for run in failed {
            let which = format!("{}, {}, repeat {}", run.variant, run.job.clock.name(), run.job.repeat + 1);
            let folder =
                folders.map(|f| f.of(&self.order.label(self.experiment, &run.job)).display().to_string());
            if some {
                eprint_escaped!("{which}: ");
            }
            problems.push(CliProblem::of_run(run.failure, folder.unwrap_or_default()));
            if some && let Some(problem) = problems.last() {
                eprint_escaped!("{problem}");
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

    /// Removes the runs kept for `--resume`, once the results are complete and written.
    pub fn clear(&self) {
        self.kept.clear();
    }
}

/// Returns the order for these arguments. With --pcap one run is made unless --repeat is given.
pub fn order(args: &RunArgs, experiment: &Experiment) -> Order {
    let clocks = args.on.each().to_vec();
    let default_repeats = || if args.pcap.is_some() { 1 } else { budget::repeats(experiment, &clocks) };
    Order {
        repeats: args.repeat.unwrap_or_else(default_repeats),
        clocks,
        seed: args.seed,
        threads: args.jobs,
        keep_going: false,
    }
}

/// Lists the variants that lack repeats.
fn missing(outcomes: &Outcomes, repeats: u32) -> Option<String> {
    let both = outcomes.variants.iter().any(|v| v.clock != outcomes.variants[0].clock);
    let missing_of = |v: &VariantOutcomes| {
        let (finished, all) = (v.outcomes.len(), repeats.max(1) as usize);
        let clock = if both { format!(" ({})", v.clock.name()) } else { String::new() };
        let count = if all > 1 { format!(" {} of {all} repeats", all - finished) } else { String::new() };
        (finished < all).then(|| format!("{}{clock}{count}", v.variant))
    };
    let list: Vec<String> = outcomes.variants.iter().filter_map(missing_of).collect();
    (!list.is_empty()).then(|| list.join(", "))
}
