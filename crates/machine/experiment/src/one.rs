//! A single run of one variant.

use crate::{Failure, RunJob};
use congestion::Controller;
use result::{Clock, Outcome};
use scenario::Variant;
use std::io;
use std::ops::ControlFlow;
use transport::Side;
use units::Time;

/// Receives the variant's name and the status output of its hosts' daemons after a run on the kernel.
pub type Shown<'a> = dyn Fn(&str, &str) + Sync + 'a;

/// Makes the controller for one end of a flow in a run. The flow is an index into the scenario's flows.
/// Returns `None` to use the controller that the scenario names.
pub type ControlMaker<'a> = dyn Fn(&RunJob, usize, Side) -> Option<Box<dyn Controller>> + Sync + 'a;

/// Takes the captures of runs. The caller implements it and decides where they go.
pub trait CaptureSink: Sync {
    /// Returns the tap that observes a simulated run, or `None` to not capture this run.
    ///
    /// # Errors
    /// Fails if the capture cannot be started; the run then fails with [`Failure::Capture`].
    fn simulated(&self, run: &Captured<'_>) -> io::Result<Option<Box<dyn CaptureTap + '_>>>;

    /// Returns the files to capture a run on the kernel to, or `None` (the default) to not capture it.
    ///
    /// # Errors
    /// Fails as [`CaptureSink::simulated`] does.
    #[cfg(target_os = "linux")]
    fn on_kernel(&self, run: &Captured<'_>) -> io::Result<Option<lab::Captures>> {
        let _ = run;
        Ok(None)
    }

    /// Called when the run on the kernel that last received files is over and the files are complete. Not
    /// called for a run that failed or was stopped.
    ///
    /// # Errors
    /// Fails if the files cannot be kept; the run then fails with [`Failure::Capture`].
    #[cfg(target_os = "linux")]
    fn finished_on_kernel(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A run that is about to start, for a [`CaptureSink`].
pub struct Captured<'a> {
    /// The run within the experiment.
    pub job: &'a RunJob,
    /// The run's label, as in [`crate::Order::label`].
    pub label: &'a str,
    /// The variant to run.
    pub variant: &'a Variant,
}

/// Observes a simulated run and completes its output when the run is over.
pub trait CaptureTap: sim::Tap {
    /// Called when the run is over. Not called for a run that the caller stopped.
    ///
    /// # Errors
    /// Returns the first error of the whole run.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// How a run ended.
pub(crate) enum Ended {
    Done(Box<Outcome>),
    Failed(Failure),
    /// The caller, or another run's failure, stopped it before its end or before its start.
    Stopped,
}

/// Simulates one variant with this seed: all flows, or only the flow with index `only_flow`. `host_jitter`
/// simulates host jitter. `controls` replaces the scenario's controllers. `progress` is called regularly with
/// the virtual time; its `Break` stops the run, which then has no outcome.
pub fn simulate(
    variant: &Variant,
    seed: u64,
    only_flow: Option<usize>,
    host_jitter: bool,
    tap: Option<&mut dyn sim::Tap>,
    controls: Option<&sim::OwnControls<'_>>,
    progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Option<Outcome> {
    let mut ended = false;
    let mut watched = |now| {
        let step = progress(now);
        ended |= step.is_break();
        step
    };
    let tap = tap.map(|tap| tap as &mut dyn sim::Tap);
    let options =
        sim::SimOptions { seed, only_flow, host_jitter, tap, progress: Some(&mut watched), controls };
    let outcome = sim::run(&variant.name, &variant.scenario, options);
    (!ended).then_some(outcome)
}

/// A run of an experiment with everything it needs.
pub(crate) struct SingleRun<'a> {
    pub run: Captured<'a>,
    pub captures: Option<&'a dyn CaptureSink>,
    pub controls: Option<&'a ControlMaker<'a>>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // only the lab reads it
    pub user: Option<&'a str>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // only the lab reads it
    pub shown: Option<&'a Shown<'a>>,
}

impl SingleRun<'_> {
    /// Executes the run. Notices of the lab go to `notice`.
    pub fn play(
        &self,
        progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
        notice: &mut dyn FnMut(&str),
    ) -> Ended {
        match self.run.job.clock {
            Clock::Sim => self.simulate(progress).unwrap_or_else(|e| Ended::Failed(Failure::Capture(e))),
            Clock::Kernel => self.on_kernel(progress, notice).unwrap_or_else(Ended::Failed),
        }
    }

    fn simulate(&self, progress: &mut dyn FnMut(Time) -> ControlFlow<()>) -> io::Result<Ended> {
        let mut tap = match self.captures {
            Some(captures) => captures.simulated(&self.run)?,
            None => None,
        };
        let seen = tap.as_deref_mut().map(|tap| tap as &mut dyn sim::Tap);
        let Captured { job, variant, .. } = self.run;
        let maker = self.controls.map(|make| move |flow, side| make(job, flow, side));
        let own = maker.as_ref().map(|maker| maker as &sim::OwnControls<'_>);
        let Some(outcome) = simulate(variant, job.seed, job.flow, job.host_jitter, seen, own, progress)
        else {
            return Ok(Ended::Stopped);
        };
        tap.map_or(Ok(()), CaptureTap::finish)?;
        Ok(Ended::Done(Box::new(outcome)))
    }

    #[cfg(target_os = "linux")]
    fn on_kernel(
        &self,
        progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
        notice: &mut dyn FnMut(&str),
    ) -> Result<Ended, Failure> {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        let pcap = self.captures.map(|captures| captures.on_kernel(&self.run)).transpose();
        let pcap = pcap.map_err(Failure::Capture)?.flatten();
        let stop = AtomicBool::new(false);
        let mut watched = |now| {
            if progress(now).is_break() {
                stop.store(true, Relaxed);
            }
        };
        let Captured { job, variant, .. } = self.run;
        let mut answered = |text: &str| self.shown.into_iter().for_each(|shown| shown(&variant.name, text));
        let shown: &mut dyn FnMut(&str) = &mut answered;
        let options = lab::LabOptions {
            seed: job.seed,
            only_flow: job.flow,
            progress: Some(&mut watched),
            notice: Some(notice),
            pcap,
            user: self.user,
            scripts: &[],
            host_controls: false,
            shown: self.shown.map(|_| shown),
            stop: Some(&stop),
        };
        match lab::run(&variant.name, &variant.scenario, options) {
            Ok(outcome) => {
                self.captures.map_or(Ok(()), CaptureSink::finished_on_kernel).map_err(Failure::Capture)?;
                Ok(Ended::Done(Box::new(outcome)))
            }
            Err(lab::LabError::Stopped) => Ok(Ended::Stopped),
            Err(e) => Err(Failure::Lab(e)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn on_kernel(
        &self,
        _: &mut dyn FnMut(Time) -> ControlFlow<()>,
        _: &mut dyn FnMut(&str),
    ) -> Result<Ended, Failure> {
        Err(Failure::NoLab)
    }
}
