//! Results of a cell, simulated or on this machine's kernel.

use crate::Cell;
use result::FlowResult;
use scenario::{Experiment, Scenario};

/// Result of a cell, on the kernel or simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Goodput of all flows, each over its own time, Mbit/s.
    pub goodput: f64,
    /// Largest goodput of the runs divided by the smallest; 1 for a single run.
    pub spread: f64,
    /// Retransmissions of all flows.
    pub retransmits: f64,
    /// Smoothed RTT, ms: mean over time and flows.
    pub rtt_ms: f64,
    /// 95th percentile of the smoothed RTT, ms; NaN if it was not measured.
    pub p95_ms: f64,
}

impl Outcome {
    /// Result of one run. RTTs come from the time series, which simulator and kernel both have.
    pub fn of(run: &result::Outcome) -> Outcome {
        let series = run.flow_series.iter().flat_map(|s| &s.srtt_ms);
        let rtts: Vec<f64> = series.flatten().copied().collect();
        Outcome {
            goodput: run.variant.flows.iter().map(FlowResult::own_goodput_mbps).sum(),
            spread: 1.0,
            retransmits: run.variant.flows.iter().map(|f| f.retransmitted_packets as f64).sum(),
            rtt_ms: rtts.iter().sum::<f64>() / rtts.len() as f64,
            p95_ms: quantile(&rtts, 0.95),
        }
    }

    /// Mean and spread of several runs.
    pub fn mean(runs: &[Outcome]) -> Outcome {
        let mean = |of: fn(&Outcome) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let goodputs = || runs.iter().map(|o| o.goodput);
        Outcome {
            goodput: mean(|o| o.goodput),
            spread: goodputs().fold(0.0, f64::max) / goodputs().fold(f64::INFINITY, f64::min),
            retransmits: mean(|o| o.retransmits),
            rtt_ms: mean(|o| o.rtt_ms),
            p95_ms: mean(|o| o.p95_ms),
        }
    }
}

impl Cell {
    fn checked(&self) -> Result<Scenario, String> {
        let text = self.scenario();
        let experiment = Experiment::parse("cell.toml", &text, &[]).map_err(|e| format!("{e}\n{text}"))?;
        let first = experiment.variants.into_iter().next();
        first.map(|v| v.scenario).ok_or_else(|| "no variant".into())
    }

    /// Simulates the cell: the mean of 20 seeds if it has random loss or delays, otherwise one run.
    ///
    /// # Errors
    /// Fails if the scenario does not parse.
    pub fn simulate(&self) -> Result<Outcome, String> {
        self.simulate_runs(20)
    }

    /// Simulates the cell: the mean of the first `most` seeds if it has random loss or delays, otherwise one
    /// run.
    ///
    /// # Errors
    /// Fails if the scenario does not parse.
    pub fn simulate_runs(&self, most: u64) -> Result<Outcome, String> {
        let scenario = self.checked()?;
        let seeds = if self.loss > 0.0 || self.path == "jitter" { most } else { 1 };
        let run =
            |seed| Outcome::of(&sim::run("sim", &scenario, sim::SimOptions { seed, ..Default::default() }));
        Ok(Outcome::mean(&(1..=seeds).map(run).collect::<Vec<_>>()))
    }

    /// Simulates repeats of the cell, with the host jitter of real machines.
    ///
    /// # Errors
    /// Fails if the scenario does not parse.
    pub fn simulate_repeats(&self, repeats: u64) -> Result<Vec<Outcome>, String> {
        Ok(with_host_jitter(&self.checked()?, repeats).map(|run| Outcome::of(&run)).collect())
    }

    /// Measures the cell on this machine's kernel, again if other work disturbs it. Random losses are the
    /// simulator's of this seed.
    ///
    /// # Errors
    /// Fails if the lab cannot run it; missing privileges are [`lab::LabError::Permission`].
    pub fn measure(&self, seed: u64, notice: &mut dyn FnMut(&str)) -> Result<Outcome, lab::LabError> {
        lab::trusted(MAX_TRIES, || self.measure_once(seed, notice)).map(|run| Outcome::of(&run))
    }

    /// Measures the cell on this machine's kernel once, even if disturbed.
    ///
    /// # Errors
    /// Fails like [`Cell::measure`].
    pub fn measure_once(
        &self,
        seed: u64,
        notice: &mut dyn FnMut(&str),
    ) -> Result<result::Outcome, lab::LabError> {
        let unsupported = |why| lab::LabError::Unsupported { key: self.line(), why };
        let scenario = self.checked().map_err(unsupported)?;
        lab::run("kernel", &scenario, lab::LabOptions { seed, notice: Some(notice), ..Default::default() })
    }
}

/// Simulates repeats, with the host jitter of real machines.
pub(crate) fn with_host_jitter(
    scenario: &Scenario,
    repeats: u64,
) -> impl Iterator<Item = result::Outcome> + '_ {
    let options = |seed| sim::SimOptions { seed, host_jitter: true, ..Default::default() };
    (1..=repeats).map(move |seed| sim::run("sim", scenario, options(seed)))
}

/// Maximum number of measurements of a cell.
const MAX_TRIES: usize = 3;

/// Relative error of the simulated goodput: +0.1 is 10 % too fast.
pub fn error(simulated: &Outcome, measured: &Outcome) -> f64 {
    simulated.goodput / measured.goodput - 1.0
}

/// The `q`-quantile of `values` (nearest rank).
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    v.get(((q * v.len() as f64).ceil() as usize).clamp(1, v.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// The share of `values` that are at most `most`.
pub fn share_within(values: &[f64], most: f64) -> f64 {
    values.iter().filter(|&&v| v <= most).count() as f64 / values.len() as f64
}
