//! Runs all runs of an experiment.

use crate::one::{Captured, ControlMaker, Ended, Shown, SingleRun};
use crate::parallel::{cores, in_parallel};
use crate::progress::RunGauge;
use crate::{CaptureSink, FailedRun, Notice, Order, Outcomes, Progress, RunJob};
use result::{Clock, Outcome};
use scenario::Experiment;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Called with the progress; `Break` stops the experiment.
pub type Watcher<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// Called with the outcome of a finished run.
pub type FinishedRun<'a> = dyn Fn(&RunJob, &Outcome) + Sync + 'a;

/// Hooks for the caller while runs are in progress.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Called on the caller's thread ten times a second and after each run. `Break` stops the experiment:
    /// runs in progress end soon and have no outcome, and no other run starts.
    pub progress: Option<&'a mut Watcher<'a>>,
    /// The user to run the flows' programs as on the kernel: `lab::LabOptions::user`.
    pub user: Option<&'a str>,
    /// Takes captures; without it nothing is captured.
    pub captures: Option<&'a dyn CaptureSink>,
    /// Called with the outcome of each run as soon as the run is over, on the thread that ran it.
    pub finished: Option<&'a FinishedRun<'a>>,
    /// Called after a run on the kernel with the variant's name and the status output of its hosts' daemons.
    /// Without it the daemons are not queried.
    pub shown: Option<&'a Shown<'a>>,
    /// Makes controllers that replace the scenario's in simulated runs. Runs on the kernel use the kernel's.
    pub controls: Option<&'a ControlMaker<'a>>,
    /// Runs of this order that are already finished. They are not run again; their outcomes are included in
    /// the result.
    pub done: Vec<(RunJob, Outcome)>,
}

/// Runs everything in the order and returns when it is over. The same experiment, order and simulator give
/// the same outcomes for any number of threads.
///
/// There is no overall error: see [`Outcomes::failed`] and [`Outcomes::stopped`].
pub fn run(experiment: &Experiment, order: &Order, mut hooks: Hooks<'_>) -> Outcomes {
    let mut outcomes = Outcomes::empty(experiment, order);
    let stop = AtomicBool::new(false);
    for (index, &clock) in order.clocks.iter().enumerate() {
        let jobs = order.jobs_on(clock, experiment);
        let kept: Vec<Option<Outcome>> = jobs.iter().map(|job| take_outcome(&mut hooks.done, job)).collect();
        let todo = jobs.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(job, _)| *job);
        let todo: Vec<RunJob> = todo.collect();
        let (captures, controls, finished, user) =
            (hooks.captures, hooks.controls, hooks.finished, hooks.user);
        let shown = hooks.shown;
        let player = ClockPlayer {
            experiment,
            order,
            captures,
            controls,
            user,
            finished,
            shown,
            stop: &stop,
            notices: Mutex::default(),
        };
        let mut ended = player.play(clock, &todo, &mut hooks.progress).into_iter();
        outcomes.notices.extend(player.notices.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut done = Vec::new();
        for (job, kept) in jobs.into_iter().zip(kept) {
            let kept = kept.map(|outcome| Ended::Done(Box::new(outcome)));
            match kept.or_else(|| ended.next()).unwrap_or(Ended::Stopped) {
                Ended::Done(outcome) => done.push((job, *outcome)),
                Ended::Stopped => outcomes.stopped.push(job),
                Ended::Failed(failure) => {
                    let variant = experiment.variants[job.variant].name.clone();
                    outcomes.failed.push(FailedRun { job, variant, failure });
                }
            }
        }
        outcomes.gather(experiment, (index, order.clocks.len()), done);
    }
    outcomes
}

/// Removes and returns the outcome of this run, if it exists.
fn take_outcome(done: &mut Vec<(RunJob, Outcome)>, job: &RunJob) -> Option<Outcome> {
    let at = done.iter().position(|(finished, _)| finished == job)?;
    Some(done.swap_remove(at).1)
}

/// Runs the jobs of one clock.
struct ClockPlayer<'a> {
    experiment: &'a Experiment,
    order: &'a Order,
    captures: Option<&'a dyn CaptureSink>,
    controls: Option<&'a ControlMaker<'a>>,
    user: Option<&'a str>,
    finished: Option<&'a FinishedRun<'a>>,
    shown: Option<&'a Shown<'a>>,
    /// Set to stop the runs in progress and to start no more.
    stop: &'a AtomicBool,
    notices: Mutex<Vec<Notice>>,
}

impl ClockPlayer<'_> {
    fn play(&self, clock: Clock, jobs: &[RunJob], progress: &mut Option<&mut Watcher<'_>>) -> Vec<Ended> {
        let variants = &self.experiment.variants;
        let gauge = RunGauge::new(clock, jobs.iter().map(|j| variants[j.variant].scenario.duration));
        // Two runs in real time at once would disturb each other.
        let threads =
            if clock == Clock::Kernel { 1 } else { self.order.threads.map_or_else(cores, usize::from) };
        // After a failure, runs in progress still continue to their end.
        let failed = AtomicBool::new(false);
        let work = |i: usize, pulse: &mut dyn FnMut()| {
            if self.stop.load(Relaxed) || failed.load(Relaxed) {
                return Ended::Stopped;
            }
            let ended = self.run_one(&jobs[i], &mut |now| {
                gauge.at(i, now);
                pulse();
                if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if let (Some(finished), Ended::Done(outcome)) = (self.finished, &ended) {
                finished(&jobs[i], outcome);
            }
            gauge.finish(i);
            failed.fetch_or(matches!(ended, Ended::Failed(_)) && !self.order.keep_going, Relaxed);
            ended
        };
        let tick = || {
            if let Some(progress) = progress
                && progress(&gauge.read()).is_break()
            {
                self.stop.store(true, Relaxed);
            }
        };
        let ended = in_parallel(jobs.len(), threads, work, tick);
        self.stop.fetch_or(failed.into_inner(), Relaxed);
        ended
    }

    fn run_one(&self, job: &RunJob, progress: &mut dyn FnMut(units::Time) -> ControlFlow<()>) -> Ended {
        let variant = &self.experiment.variants[job.variant];
        let label = self.order.label(self.experiment, job);
        let run = Captured { job, label: &label, variant };
        let mut notice = |text: &str| {
            let notice = Notice { variant: variant.name.clone(), text: text.into() };
            self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
        };
        let (captures, controls, user, shown) = (self.captures, self.controls, self.user, self.shown);
        SingleRun { run, captures, controls, user, shown }.play(progress, &mut notice)
    }
}
