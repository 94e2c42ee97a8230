//! The learning environment: the worlds that `longfat.gym` steps.

use crate::errors::raise;
use crate::load::LoadedScenario;
use congestion::Control;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::world::{ActionSpace, SCHEMES, World, WorldError, WorldOptions, WorldStep, scheme};
use std::sync::{Mutex, PoisonError};
use units::Span;

/// A running world.
#[pyclass(frozen, module = "longfat._native")]
pub struct NativeWorld(Mutex<World>);

/// Result of a step: the observation's bytes, the reward, whether the flow is done, whether the time is over.
type Stepped<'py> = (Bound<'py, PyBytes>, f64, bool, bool);

fn refused(py: Python<'_>, e: &WorldError) -> PyErr {
    raise(py, "UsageError", &e.to_string())
}

/// An observation as float32 in native byte order.
fn bytes(seen: &[f32], out: &mut Vec<u8>) {
    seen.iter().for_each(|x| out.extend_from_slice(&x.to_ne_bytes()));
}

impl NativeWorld {
    fn with<R>(&self, look: impl FnOnce(&mut World) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl NativeWorld {
    /// Plays a scenario's variant until its flow is established. `step_s`: length of a step. `classic`: the
    /// control that sets the window alone.
    #[new]
    #[pyo3(signature = (loaded, *, variant, flow, seed, step_s, scheme, classic, host_jitter))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn new(
        py: Python<'_>,
        loaded: &LoadedScenario,
        variant: usize,
        flow: usize,
        seed: u64,
        step_s: f64,
        scheme: String,
        classic: Option<&str>,
        host_jitter: bool,
    ) -> PyResult<NativeWorld> {
        let Some(of) = loaded.read.experiment.variants.get(variant) else {
            return Err(raise(py, "UsageError", "no such variant"));
        };
        let known = |name: &str| {
            let unknown = || raise(py, "UsageError", &format!("no control is called `{name}`"));
            Control::named(name).ok_or_else(unknown)
        };
        let classic = classic.map(known).transpose()?;
        let step = Span::from_nanos((step_s * 1e9).clamp(0.0, 1e18) as u64);
        let mut scenario = of.scenario.clone();
        // Its time series are not used.
        scenario.sample = Span::ZERO;
        let options = WorldOptions { flow, seed, step, scheme, classic, host_jitter };
        let world = py.detach(|| World::new(scenario, options));
        world.map(|world| NativeWorld(Mutex::new(world))).map_err(|e| refused(py, &e))
    }

    /// The current observation.
    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut out = Vec::new();
        self.with(|world| bytes(world.observation(), &mut out));
        PyBytes::new(py, &out)
    }

    /// Executes an action (`None`: none) and plays a step.
    #[pyo3(signature = (action))]
    fn step<'py>(&self, py: Python<'py>, action: Option<Vec<f64>>) -> PyResult<Stepped<'py>> {
        let mut out = Vec::with_capacity(160);
        let done = self.with(|world| {
            let done = world.step(action.as_deref());
            bytes(world.observation(), &mut out);
            done
        });
        let WorldStep { reward, done, over } = done.map_err(|e| refused(py, &e))?;
        Ok((PyBytes::new(py, &out), reward, done, over))
    }

    /// The measurements of the last step, by name.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let f = self.with(|world| *world.figures());
        let all = PyDict::new(py);
        for (name, value) in f.named() {
            all.set_item(name, value)?;
        }
        all.set_item("delivered_bytes", self.with(|world| world.delivered_bytes()))?;
        Ok(all)
    }
}

/// Observations, rewards, done flags, over flags.
type SteppedWorlds<'py> = (Bound<'py, PyBytes>, Vec<f64>, Vec<bool>, Vec<bool>);

/// Steps several worlds with Python's lock released. Returns their observations, concatenated, and rewards,
/// done and over flags. Each action is `len` numbers of `actions`; without `actions`, none is executed.
#[pyfunction]
#[pyo3(signature = (worlds, actions, len))]
pub fn step_all<'py>(
    py: Python<'py>,
    worlds: Vec<Py<NativeWorld>>,
    actions: Option<Vec<f64>>,
    len: usize,
) -> PyResult<SteppedWorlds<'py>> {
    let count = worlds.len();
    let mut out = Vec::new();
    let (mut rewards, mut dones, mut overs) = (Vec::new(), Vec::new(), Vec::new());
    let stepped = py.detach(|| {
        for (i, world) in worlds.iter().enumerate() {
            let action = actions.as_ref().and_then(|all| all.get(i * len..(i + 1) * len));
            let step = world.get().with(|world| {
                let step = world.step(action);
                bytes(world.observation(), &mut out);
                step
            })?;
            rewards.push(step.reward);
            dones.push(step.done);
            overs.push(step.over);
        }
        Ok(())
    });
    stepped.map_err(|e: WorldError| refused(py, &e))?;
    debug_assert_eq!(rewards.len(), count);
    Ok((PyBytes::new(py, &out), rewards, dones, overs))
}

/// A scheme's description for Python.
type SchemeRow = (&'static str, &'static str, usize, usize, usize, usize, f64, f64);

/// The schemes: name, source, figures per step, number of steps observed, number of choices of a discrete
/// action (0: continuous), length of a continuous action, and its bounds.
#[pyfunction]
pub fn schemes() -> Vec<SchemeRow> {
    let all = SCHEMES.iter().map(|&(name, about, make)| {
        let s = make();
        let (choices, len, low, high) = match s.action_space() {
            ActionSpace::Box { len, low, high } => (0, len, low, high),
            ActionSpace::Discrete(choices) => (choices, 1, 0.0, choices as f64 - 1.0),
        };
        (name, about, s.features(), s.history(), choices, len, low, high)
    });
    debug_assert!(SCHEMES.iter().all(|(name, _, _)| scheme(name).is_some()));
    all.collect()
}
