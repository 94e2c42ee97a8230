//! Diagnoses, fits and plans, with the JSON output of the commands.

use crate::errors::{from_command_error, raise};
use crate::load::LoadedScenario;
use advise::{PlanError, PlanOptions};
use app::diagnose::{CaptureSource, diagnosed, joined};
use app::fit::observed;
use app::plan::Planned;
use capture::{CaptureReader, FilterTime, HostPrefix, PacketFilter};
use experiment::Progress;
use fit::{FitError, FitOptions, MadeFit};
use pyo3::prelude::*;
use result::ChangePlace;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use units::{Goal, Span};

/// Which packets are read, like the command line's options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FilterOptions {
    host: Vec<String>,
    port: Vec<u16>,
    from_s: Option<f64>,
    to_s: Option<f64>,
}

impl FilterOptions {
    /// Converts the options to a packet filter. Raises `UsageError`.
    pub fn filter(&self, py: Python<'_>) -> PyResult<PacketFilter> {
        let host = |text: &String| {
            text.parse::<HostPrefix>().map_err(|e| raise(py, "UsageError", &format!("host={text:?}: {e}")))
        };
        let hosts = self.host.iter().map(host).collect::<PyResult<_>>()?;
        let time = |s: f64| FilterTime::After(Span::from_secs_f64(s.clamp(0.0, 1e10)));
        Ok(PacketFilter {
            hosts,
            ports: self.port.clone(),
            from: self.from_s.map(time),
            to: self.to_s.map(time),
        })
    }
}

/// Reports the bytes read to Python. An exception there is kept until the capture has been read.
struct ReadReporter<'a> {
    callback: Option<&'a Py<PyAny>>,
    packets: u64,
    raised: Option<PyErr>,
}

impl ReadReporter<'_> {
    /// Packets between two checks for signals.
    const EVERY: u64 = 1 << 14;

    fn report(&mut self, done: u64, all: Option<u64>) {
        self.packets += 1;
        if self.raised.is_some() || !self.packets.is_multiple_of(ReadReporter::EVERY) {
            return;
        }
        let callback = Python::attach(|py| {
            py.check_signals()?;
            self.callback.map_or(Ok(()), |callback| callback.call1(py, (done, all)).map(drop))
        });
        self.raised = callback.err();
    }
}

/// Diagnoses a capture, a folder of captures read as one (`join`), two captures of both ends of a path, or
/// qlog files alone. `progress` is called with the bytes read and the total, if known.
#[pyfunction]
pub fn diagnose(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    join: bool,
    filter: FilterOptions,
    qlogs: Vec<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let filter = filter.filter(py)?;
    let capture = |e: &dyn std::fmt::Display| raise(py, "CaptureError", &e.to_string());
    let source = match &paths[..] {
        [] => {
            let d = py.detach(|| app::qlog::alone(&qlogs)).map_err(|e| from_command_error(py, e))?;
            return Ok(diagnosis::diagnosis_json(&d));
        }
        [here, there] => CaptureSource::BothEnds([here, there]),
        [dir] if join => {
            let (reader, _) = py.detach(|| joined(dir)).map_err(|e| from_command_error(py, e))?;
            CaptureSource::One(Box::new(reader))
        }
        [path, ..] => {
            let reader = py.detach(|| CaptureReader::open(path)).map_err(|e| capture(&e))?;
            CaptureSource::One(Box::new(reader))
        }
    };
    let mut reporter = ReadReporter { callback: progress.as_ref(), packets: 0, raised: None };
    let done =
        py.detach(|| diagnosed(source, filter, &qlogs, None, &mut |done, all| reporter.report(done, all)));
    let d = done.map_err(|e| from_command_error(py, e))?;
    match reporter.raised {
        Some(e) => Err(e),
        None => Ok(diagnosis::diagnosis_json(&d)),
    }
}

/// Reports the progress of simulated runs to Python and checks for Ctrl-C. The first exception ends the runs.
struct RunReporter<'a> {
    callback: Option<&'a Py<PyAny>>,
    raised: Option<PyErr>,
}

impl RunReporter<'_> {
    fn watch(&mut self, p: &Progress) -> ControlFlow<()> {
        let callback = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = self.callback else { return Ok(()) };
            callback.call1(py, (p.played_ms, p.duration_ms, p.finished, p.runs)).map(drop)
        });
        match callback {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.raised = Some(e);
                ControlFlow::Break(())
            }
        }
    }
}

/// A fit and its scenarios.
#[pyclass(frozen, module = "longfat._native")]
pub struct FitOutput(MadeFit);

#[pymethods]
impl FitOutput {
    /// The output of `longfat fit --json`.
    #[getter]
    fn json(&self) -> String {
        fit::to_json(&self.0.fit)
    }

    /// The scenario as the command writes it.
    #[getter]
    fn scenario(&self) -> &str {
        &self.0.fit.scenario
    }
}

/// Fits a scenario to a capture, iperf3's JSON, a log of `ss` or a result folder (`variant` selects one of
/// its variants).
#[pyfunction]
pub fn fit_path(
    py: Python<'_>,
    path: PathBuf,
    variant: Option<String>,
    filter: FilterOptions,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<FitOutput> {
    let filter = filter.filter(py)?;
    let mut reading = ReadReporter { callback: None, packets: 0, raised: None };
    let seen =
        py.detach(|| observed(&path, variant.as_deref(), filter, &mut |done, all| reading.report(done, all)));
    reading.raised.map_or(Ok(()), Err)?;
    let seen = seen.map_err(|e| from_command_error(py, e))?;
    let mut reporter = RunReporter { callback: progress.as_ref(), raised: None };
    let options = FitOptions { threads: jobs, ..FitOptions::default() };
    let made =
        py.detach(|| seen.and_then(|seen| fit::fit(&seen, &options, Some(&mut |p| reporter.watch(p)))));
    match (made, reporter.raised) {
        (Ok(made), _) => Ok(FitOutput(made)),
        (Err(FitError::Stopped), Some(e)) => Err(e),
        (Err(e), _) => Err(raise(py, "FitError", &e.to_string())),
    }
}

/// Options of a plan, like the command line's.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PlanArguments {
    variant: Option<String>,
    objective: Option<String>,
    only: Vec<String>,
    keep: Vec<String>,
    max_delay_s: Option<f64>,
    no_loss_for: Vec<String>,
    finalists: usize,
    repeat: u32,
    jobs: Option<NonZeroUsize>,
}

impl PlanArguments {
    fn to_options(&self, py: Python<'_>, goal: Goal) -> PyResult<PlanOptions> {
        let refused = |text: String| raise(py, "UsageError", &text);
        let actor = |name: &String| {
            let known = || ChangePlace::ACTORS.map(|p| p.name()).join(", ");
            ChangePlace::actor(name)
                .ok_or_else(|| refused(format!("only={name:?}: must be one of: {}", known())))
        };
        let objective = match &self.objective {
            Some(text) => {
                let known = || Goal::ALL.map(|g| g.name()).join(", ");
                let unknown = || refused(format!("objective={text:?}: must be one of: {}", known()));
                Goal::named(text).ok_or_else(unknown)?
            }
            None => goal,
        };
        Ok(PlanOptions {
            objective,
            only: self.only.iter().map(actor).collect::<PyResult<_>>()?,
            keep: self.keep.clone(),
            max_delay: self.max_delay_s.map(Span::from_secs_f64),
            no_loss_for: self.no_loss_for.clone(),
            finalists: self.finalists,
            repeats: self.repeat,
            threads: self.jobs,
        })
    }
}

/// Tries changes on a scenario, or on a fitted path. Returns the output of `longfat plan --json` and the
/// commands of the advised change.
#[pyfunction]
#[pyo3(signature = (loaded, fitted, options, progress))]
pub fn plan(
    py: Python<'_>,
    loaded: Option<&LoadedScenario>,
    fitted: Option<&FitOutput>,
    options: PlanArguments,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<String>)> {
    let planned = match (loaded, fitted) {
        (_, Some(fitted)) => Planned::of_fit(&fitted.0),
        (Some(loaded), None) => {
            let experiment = loaded.read.experiment.clone();
            Planned::of_scenario(experiment, options.variant.as_deref())
                .map_err(|e| from_command_error(py, e))?
        }
        (None, None) => return Err(raise(py, "UsageError", "plan() needs a scenario or a fit")),
    };
    let plan_options = options.to_options(py, planned.goal)?;
    let mut reporter = RunReporter { callback: progress.as_ref(), raised: None };
    let made = py.detach(|| planned.plan(&plan_options, Some(&mut |p: &Progress| reporter.watch(p))));
    match (made, reporter.raised) {
        (Ok(made), _) => Ok((advise::to_json(&made.plan), advise::commands(&made.plan, None))),
        (Err(PlanError::Stopped), Some(e)) => Err(e),
        (Err(e), _) => Err(raise(py, "PlanError", &e.to_string())),
    }
}
