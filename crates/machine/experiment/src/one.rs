//! One run of one variant.

use crate::{Failure, RunJob};
use congestion::Controller;
use result::{Clock, Outcome};
use scenario::Variant;
use std::io;
use std::ops::ControlFlow;
use transport::Side;
use units::Time;

/// Who is given what daemons of a variant's hosts answered after its run on the kernel.
pub type Shown<'a> = dyn Fn(&str, &str) + Sync + 'a;

/// Makes the controller of one end of a flow in a run: the flow is an index of the scenario's. `None`: the one that the
/// scenario names.
pub type ControlMaker<'a> = dyn Fn(&RunJob, usize, Side) -> Option<Box<dyn Controller>> + Sync + 'a;

/// Takes captures of runs: the caller's, who alone knows where they go.
pub trait CaptureSink: Sync {
    /// What looks on while a run is simulated; `None` where this one is not captured.
    ///
    /// # Errors
    /// It cannot be begun; the run then fails with [`Failure::Capture`].
    fn simulated(&self, run: &Captured<'_>) -> io::Result<Option<Box<dyn CaptureTap + '_>>>;

    /// The files that a run on the kernel is written to; `None`, as unless told, where it is not captured.
    ///
    /// # Errors
    /// As above.
    #[cfg(target_os = "linux")]
    fn on_kernel(&self, run: &Captured<'_>) -> io::Result<Option<lab::Captures>> {
        let _ = run;
        Ok(None)
    }

    /// The run on the kernel that files were last given for is over, and they are whole. Not called for one that failed or
    /// was ended.
    ///
    /// # Errors
    /// They cannot be kept; the run then fails with [`Failure::Capture`].
    #[cfg(target_os = "linux")]
    fn finished_on_kernel(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A run that is about to begin, as a [`CaptureSink`] sees it.
pub struct Captured<'a> {
    /// Which of the experiment's runs.
    pub job: &'a RunJob,
    /// What it is called, as in [`crate::Order::label`].
    pub label: &'a str,
    /// What it runs.
    pub variant: &'a Variant,
}

/// Looks on while a run is simulated, and ends what it wrote when the run is over.
pub trait CaptureTap: sim::Tap {
    /// The run is over. Not called for a run that the caller ended.
    ///
    /// # Errors
    /// The first that happened at any time.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// How a run ended.
pub(crate) enum Ended {
    Done(Box<Outcome>),
    Failed(Failure),
    /// Before its time, or before it began, because the caller or another run's failure ended it.
    Stopped,
}

/// Simulates one variant with this seed: all of its flows, or the one with this index alone; with restless hosts or
/// with such as are never late; with `controls` in place of the scenario's. `progress` is told the virtual time now and then; its `Break` ends the run, which then has no outcome.
pub fn simulate(
    variant: &Variant,
    seed: u64,
    only_flow: Option<usize>,
    unrest: bool,
    tap: Option<&mut dyn sim::Tap>,
    controls: Option<&sim::OwnControls<'_>>,
    progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Option<Outcome> {
    let mut ended = false;
    let mut watched = |now| {
        let told = progress(now);
        ended |= told.is_break();
        told
    };
    let tap = tap.map(|tap| tap as &mut dyn sim::Tap);
    let options = sim::SimOptions { seed, only_flow, unrest, tap, progress: Some(&mut watched), controls };
    let outcome = sim::run(&variant.name, &variant.scenario, options);
    (!ended).then_some(outcome)
}

/// One run of an experiment, with what it needs.
pub(crate) struct One<'a> {
    pub run: Captured<'a>,
    pub captures: Option<&'a dyn CaptureSink>,
    pub controls: Option<&'a ControlMaker<'a>>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // what only the lab reads
    pub user: Option<&'a str>,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // the same
    pub shown: Option<&'a Shown<'a>>,
}

impl One<'_> {
    /// Plays it; what the lab has to tell goes to `notice`.
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
        let made = self.controls.map(|make| move |flow, side| make(job, flow, side));
        let own = made.as_ref().map(|made| made as &sim::OwnControls<'_>);
        let Some(outcome) = simulate(variant, job.seed, job.flow, job.unrest, seen, own, progress) else {
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
