//! Captures diagnosed, paths fitted to them, and what would be faster: what the commands print as JSON.

use crate::errors::{of_command, raise};
use crate::load::LoadedScenario;
use advise::{PlanError, PlanWish};
use app::diagnose::{CaptureSource, diagnosed, joined};
use app::fit::observed;
use app::plan::Planned;
use capture::{CaptureReader, FilterTime, HostPrefix, PacketFilter};
use experiment::Progress;
use fit::{FitError, FitWish, MadeFit};
use pyo3::prelude::*;
use result::ChangePlace;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use units::{Goal, Span};

/// Which packets are read, as the command line's options have it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FilterWish {
    host: Vec<String>,
    port: Vec<u16>,
    /// Seconds after the first packet.
    from_s: Option<f64>,
    to_s: Option<f64>,
}

impl FilterWish {
    /// What is read.
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

/// Tells of bytes that are read; what is raised meanwhile is raised when they are.
struct ReadTeller<'a> {
    told: Option<&'a Py<PyAny>>,
    packets: u64,
    raised: Option<PyErr>,
}

impl ReadTeller<'_> {
    /// Packets between two looks at signals.
    const EVERY: u64 = 1 << 14;

    fn tell(&mut self, done: u64, all: Option<u64>) {
        self.packets += 1;
        if self.raised.is_some() || !self.packets.is_multiple_of(ReadTeller::EVERY) {
            return;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.told.map_or(Ok(()), |told| told.call1(py, (done, all)).map(drop))
        });
        self.raised = told.err();
    }
}

/// Diagnoses a capture, a folder of them read as one (`join`), two of both ends of a path, or what endpoints wrote down
/// of themselves (`qlogs`) alone. `progress` is called with the bytes that are read and, where it is known, all.
#[pyfunction]
pub fn diagnose(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    join: bool,
    filter: FilterWish,
    qlogs: Vec<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let filter = filter.filter(py)?;
    let capture = |e: &dyn std::fmt::Display| raise(py, "CaptureError", &e.to_string());
    let source = match &paths[..] {
        [] => {
            let d = py.detach(|| app::qlog::alone(&qlogs)).map_err(|e| of_command(py, e))?;
            return Ok(diagnosis::diagnosis_json(&d));
        }
        [here, there] => CaptureSource::BothEnds([here, there]),
        [dir] if join => {
            let (reader, _) = py.detach(|| joined(dir)).map_err(|e| of_command(py, e))?;
            CaptureSource::One(Box::new(reader))
        }
        [path, ..] => {
            let reader = py.detach(|| CaptureReader::open(path)).map_err(|e| capture(&e))?;
            CaptureSource::One(Box::new(reader))
        }
    };
    let mut teller = ReadTeller { told: progress.as_ref(), packets: 0, raised: None };
    let done = py.detach(|| diagnosed(source, filter, &qlogs, None, &mut |done, all| teller.tell(done, all)));
    let d = done.map_err(|e| of_command(py, e))?;
    match teller.raised {
        Some(e) => Err(e),
        None => Ok(diagnosis::diagnosis_json(&d)),
    }
}

/// Tells how far simulated runs are, and looks for Ctrl-C; the first exception ends them.
struct RunTeller<'a> {
    told: Option<&'a Py<PyAny>>,
    raised: Option<PyErr>,
}

impl RunTeller<'_> {
    fn watch(&mut self, p: &Progress) -> ControlFlow<()> {
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(told) = self.told else { return Ok(()) };
            told.call1(py, (p.played_ms, p.duration_ms, p.finished, p.runs)).map(drop)
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.raised = Some(e);
                ControlFlow::Break(())
            }
        }
    }
}

/// A fit and the scenarios that it stands for.
#[pyclass(frozen, module = "longfat._native")]
pub struct FitOutput(MadeFit);

#[pymethods]
impl FitOutput {
    /// What `longfat fit --json` prints.
    #[getter]
    fn json(&self) -> String {
        fit::to_json(&self.0.fit)
    }

    /// The scenario, as the command writes it.
    #[getter]
    fn scenario(&self) -> &str {
        &self.0.fit.scenario
    }
}

/// Fits a scenario to a capture, an iperf3 JSON, a log of `ss` or a result folder (of it the `variant`).
#[pyfunction]
pub fn fit_path(
    py: Python<'_>,
    path: PathBuf,
    variant: Option<String>,
    filter: FilterWish,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<FitOutput> {
    let filter = filter.filter(py)?;
    let mut reading = ReadTeller { told: None, packets: 0, raised: None };
    let seen =
        py.detach(|| observed(&path, variant.as_deref(), filter, &mut |done, all| reading.tell(done, all)));
    reading.raised.map_or(Ok(()), Err)?;
    let seen = seen.map_err(|e| of_command(py, e))?;
    let mut teller = RunTeller { told: progress.as_ref(), raised: None };
    let wish = FitWish { threads: jobs, ..FitWish::default() };
    let made = py.detach(|| seen.and_then(|seen| fit::fit(&seen, &wish, Some(&mut |p| teller.watch(p)))));
    match (made, teller.raised) {
        (Ok(made), _) => Ok(FitOutput(made)),
        (Err(FitError::Stopped), Some(e)) => Err(e),
        (Err(e), _) => Err(raise(py, "FitError", &e.to_string())),
    }
}

/// What is wished of a plan, as the command line's options have it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PlanAsked {
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

impl PlanAsked {
    fn wish(&self, py: Python<'_>, goal: Goal) -> PyResult<PlanWish> {
        let refused = |text: String| raise(py, "UsageError", &text);
        let actor = |name: &String| {
            let known = || ChangePlace::ACTORS.map(|p| p.name()).join(", ");
            ChangePlace::actor(name).ok_or_else(|| refused(format!("only={name:?}: there are: {}", known())))
        };
        let objective = match &self.objective {
            Some(text) => {
                let known = || Goal::ALL.map(|g| g.name()).join(", ");
                let unknown = || refused(format!("objective={text:?}: there are: {}", known()));
                Goal::named(text).ok_or_else(unknown)?
            }
            None => goal,
        };
        Ok(PlanWish {
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

/// Tries cures on a scenario, or on what was fitted to a capture: what `longfat plan --json` prints, and the commands of
/// the cure that is advised.
#[pyfunction]
#[pyo3(signature = (loaded, fitted, asked, progress))]
pub fn plan(
    py: Python<'_>,
    loaded: Option<&LoadedScenario>,
    fitted: Option<&FitOutput>,
    asked: PlanAsked,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<String>)> {
    let planned = match (loaded, fitted) {
        (_, Some(fitted)) => {
            let scenarios = std::iter::once(&fitted.0.scenario).chain(&fitted.0.alternatives);
            Planned { name: "fit".into(), scenarios: scenarios.cloned().collect(), goal: Goal::Goodput }
        }
        (Some(loaded), None) => {
            let experiment = loaded.read.experiment.clone();
            Planned::of_scenario(experiment, asked.variant.as_deref()).map_err(|e| of_command(py, e))?
        }
        (None, None) => return Err(raise(py, "UsageError", "a scenario or a fit is planned for")),
    };
    let wish = asked.wish(py, planned.goal)?;
    let mut teller = RunTeller { told: progress.as_ref(), raised: None };
    let made = py.detach(|| {
        advise::plan(&planned.name, &planned.scenarios, &wish, Some(&mut |p: &Progress| teller.watch(p)))
    });
    match (made, teller.raised) {
        (Ok(made), _) => Ok((advise::to_json(&made.plan), advise::commands(&made.plan, None))),
        (Err(PlanError::Stopped), Some(e)) => Err(e),
        (Err(e), _) => Err(raise(py, "PlanError", &e.to_string())),
    }
}
