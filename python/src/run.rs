//! Runs scenarios. Python's lock is released meanwhile; ten times a second it is taken to check for Ctrl-C
//! and to report progress.

use crate::control::{ControlFault, PyControl};
use crate::errors::{from_command_error, raise};
use crate::load::LoadedScenario;
use crate::table::{RunSeries, SeriesTable};
use app::budget::{self, Budget};
use app::identity::run_id;
use app::load::Source;
use app::settings::RunSettings;
use app::summary::{SummaryOptions, run_summary};
use app::warn::of_scenario;
use congestion::Controller;
use experiment::{ControlMaker, Hooks, Order, Outcomes, Progress, RunJob};
use pyo3::prelude::*;
use result::{Clock, to_json};
use scenario::Experiment;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// The result of a scenario's runs.
#[pyclass(frozen, module = "longfat._native")]
pub struct RunOutput {
    json: String,
    series: RunSeries,
    notices: Vec<String>,
}

#[pymethods]
impl RunOutput {
    /// The output of `longfat run --json`.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// Messages of the kernel's runs, as printed by the command.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    /// The time series of all flows, one batch for each flow, repeat and variant. `variant`, `repeat` and
    /// `flow` select by index, as in the JSON, `repeat` from 0.
    #[pyo3(signature = (variant=None, repeat=None, flow=None))]
    fn flow_series(&self, variant: Option<usize>, repeat: Option<usize>, flow: Option<usize>) -> SeriesTable {
        self.series.flows(variant, repeat, flow)
    }

    /// The time series of all elements of the path, one batch for each element, repeat and variant.
    #[pyo3(signature = (variant=None, repeat=None, element=None))]
    fn element_series(
        &self,
        variant: Option<usize>,
        repeat: Option<usize>,
        element: Option<usize>,
    ) -> SeriesTable {
        self.series.elements(variant, repeat, element)
    }
}

/// Options of a run, like the command line's.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RunOptions {
    variants: Vec<String>,
    seed: Option<u64>,
    /// `None`: as many as the command makes by default.
    repeat: Option<u32>,
    jobs: Option<NonZeroUsize>,
    on: String,
    allow_tools: bool,
    user: Option<String>,
}

impl RunOptions {
    /// The runs of this experiment. With controls in Python (`own`) each variant runs once by default,
    /// because every ACK calls into Python.
    fn order(&self, py: Python<'_>, experiment: &Experiment, own: bool) -> PyResult<Order> {
        let clocks = match self.on.as_str() {
            "sim" => vec![Clock::Sim],
            "kernel" => vec![Clock::Kernel],
            "both" => vec![Clock::Sim, Clock::Kernel],
            other => {
                let text = format!("on={other:?}: must be \"sim\", \"kernel\" or \"both\"");
                return Err(raise(py, "UsageError", &text));
            }
        };
        let default_repeats = || if own { 1 } else { budget::repeats(experiment, &clocks) };
        let repeats = self.repeat.unwrap_or_else(default_repeats);
        let (seed, threads) = (self.seed, self.jobs);
        Ok(Order { clocks, repeats, seed, threads, keep_going: false })
    }
}

/// Runs a scenario. `progress` is called with the time played and the total time (milliseconds), the finished
/// runs and all runs. `controls`: factories of controllers by flow name.
///
/// Raises the package's `UsageError` and `RunError`, and whatever `progress` and signal handlers raise.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    loaded: &LoadedScenario,
    options: RunOptions,
    controls: Vec<(String, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let usage = |text: String| raise(py, "UsageError", &text);
    let mut experiment = loaded.read.experiment.clone();
    experiment::choose(&mut experiment, &options.variants).map_err(|e| usage(e.to_string()))?;
    let order = options.order(py, &experiment, !controls.is_empty())?;
    let single = budget::once(&order).filter(|_| options.repeat.is_none() && controls.is_empty());
    if order.clocks.contains(&Clock::Kernel) && !options.allow_tools {
        consent(py, loaded, &experiment)?;
    }
    let own = OwnControls { experiment: &experiment.clone(), controls, fault: ControlFault::default() };
    own.check(&order).map_err(usage)?;
    let thinned = budget::thin(&mut experiment, &order);
    let at_a_time = order.threads.map_or_else(experiment::cores, usize::from);
    Budget::of(&experiment, &order).check(at_a_time).map_err(|e| from_command_error(py, e))?;
    let mut warnings = of_scenario(&experiment);
    warnings.extend(thinned);
    warnings.extend(single);
    let settings = RunSettings::of(&loaded.overrides, &experiment, &order);
    let outcomes = run_experiment(py, &experiment, &order, &own, options.user.as_deref(), progress.as_ref())?;
    if let Some(failed) = outcomes.failed.first() {
        return Err(raise(py, "RunError", &failed.to_string()));
    }
    // Controllers written by the caller run in Python and exist only in this run.
    let summary_options =
        SummaryOptions { limitations: own.controls.is_empty(), ..SummaryOptions::of(&experiment, &order) };
    Ok(py.detach(|| {
        let mut run = run_summary(summary_options, &outcomes, warnings, !outcomes.is_complete());
        run.run_id = run_id(&experiment, &settings, &run);
        let notices = outcomes.notices.iter().map(|n| format!("kernel, {}: {}", n.variant, n.text)).collect();
        RunOutput { json: to_json(&run), notices, series: RunSeries::of(outcomes) }
    }))
}

/// Runs the experiment and checks for signals regularly. The first exception ends it.
fn run_experiment(
    py: Python<'_>,
    experiment: &Experiment,
    order: &Order,
    own: &OwnControls<'_>,
    user: Option<&str>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Outcomes> {
    let mut raised = None;
    let mut watch = |p: &Progress| {
        let reported = Python::attach(|py| {
            py.check_signals()?;
            own.fault.take().map_or(Ok(()), Err)?;
            let Some(progress) = progress else { return Ok(()) };
            progress.call1(py, (p.played_ms, p.duration_ms, p.finished, p.runs)).map(drop)
        });
        match reported {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                raised.get_or_insert(e);
                ControlFlow::Break(())
            }
        }
    };
    let make = |job: &RunJob, flow, _| own.make(job, flow);
    let controls = (!own.controls.is_empty()).then_some(&make as &ControlMaker<'_>);
    let outcomes = py.detach(|| {
        let hooks = Hooks { progress: Some(&mut watch), controls, user, ..Hooks::default() };
        experiment::run(experiment, order, hooks)
    });
    raised.or_else(|| own.fault.take()).map_or(Ok(outcomes), Err)
}

/// Factories of controls written in Python, by flow name.
struct OwnControls<'a> {
    experiment: &'a Experiment,
    controls: Vec<(String, Py<PyAny>)>,
    fault: ControlFault,
}

impl OwnControls<'_> {
    /// Checks that each flow exists and that all runs are simulated.
    fn check(&self, order: &Order) -> Result<(), String> {
        if !self.controls.is_empty() && order.clocks.contains(&Clock::Kernel) {
            return Err("controls=: the kernel runs its own congestion controls; use on=\"sim\"".into());
        }
        let flows = || self.experiment.variants.iter().flat_map(|v| &v.scenario.flows).map(|f| &f.name);
        match self.controls.iter().find(|(name, _)| !flows().any(|flow| flow == name)) {
            None => Ok(()),
            Some((name, _)) => {
                let known: BTreeSet<&String> = flows().collect();
                let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
                Err(format!("controls=: no flow is called `{name}`; the flows are: {}", known.join(", ")))
            }
        }
    }

    /// Creates the control for one end of a flow.
    fn make(&self, job: &RunJob, flow: usize) -> Option<Box<dyn Controller>> {
        let name = &self.experiment.variants[job.variant].scenario.flows[flow].name;
        let (_, factory) = self.controls.iter().find(|(of, _)| of == name)?;
        match Python::attach(|py| PyControl::make(py, factory, &self.fault)) {
            Ok(control) => Some(Box::new(control)),
            Err(e) => {
                self.fault.set(e);
                None
            }
        }
    }
}

/// Refuses programs that a scenario starts, unless the scenario is built in or the caller permits them.
fn consent(py: Python<'_>, loaded: &LoadedScenario, experiment: &Experiment) -> PyResult<()> {
    let names: Vec<String> = experiment.variants.iter().map(|v| v.name.clone()).collect();
    let lines = loaded.read.programs(&loaded.overrides, &names).map_err(|e| from_command_error(py, e))?;
    let program_lines = lines.iter().find(|line| !line.is_set);
    let Some(line) = program_lines.filter(|_| loaded.read.source != Source::BuiltIn) else { return Ok(()) };
    let text = format!(
        "nothing was run: this scenario starts programs on this machine ({}:{}: {}: {}); read it, then permit it with \
         allow_tools=True",
        line.file, line.line, line.key, line.command
    );
    Err(raise(py, "UsageError", &text))
}
