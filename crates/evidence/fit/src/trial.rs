//! Trials: simulated runs of a path with its flows.

use crate::error::FitError;
use crate::flows::FittedFlow;
use crate::listen::Listener;
use crate::path_model::FittedPath;
use crate::scenario_text::{PathShape, TrialFrame, scenario_text};
use experiment::{BatchRunner, CaptureSink};
use result::VariantResult;
use scenario::{Experiment, HostJitter, Scenario};

/// The scenario of a trial.
pub fn scenario(
    p: &FittedPath,
    flows: &[FittedFlow],
    frame: &TrialFrame,
    shape: PathShape,
) -> Result<Scenario, FitError> {
    let text = scenario_text(p, flows, frame, shape, &|_| String::new());
    let parsed = Experiment::parse("fit.toml", &text, &["sample=0s".into()]);
    let variant = parsed.map_err(|e| FitError::Failed(e.to_string()))?.variants.into_iter().next();
    let mut scenario = variant.ok_or(FitError::NoFlow)?.scenario;
    scenario.host_jitter = HostJitter::Always;
    Ok(scenario)
}

/// Runs scenarios and counts their packets.
pub struct TrialRunner<'a, 'w> {
    pub batches: BatchRunner<'a, 'w>,
    /// Data packets simulated so far.
    pub packets: u64,
}

impl TrialRunner<'_, '_> {
    /// Runs each scenario with this many seeds; returns the results by scenario, then by seed.
    pub fn run(
        &mut self,
        scenarios: Vec<Scenario>,
        seeds: u32,
        listener: Option<&Listener>,
    ) -> Result<Vec<Vec<VariantResult>>, FitError> {
        let captures = listener.map(|l| l as &dyn CaptureSink);
        let all = self.batches.run_captured(scenarios, seeds, captures)?;
        let sent = |v: &VariantResult| v.flows.iter().map(|f| f.sent_packets).sum::<u64>();
        self.packets += all.iter().flatten().map(sent).sum::<u64>();
        Ok(all)
    }
}
