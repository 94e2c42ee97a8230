//! Converts the scenario's warnings to those of a result.

use result::RunWarning;
use scenario::{Experiment, ScenarioWarning};

/// The probable mistakes in the scenario, each as a sentence and as data.
pub fn warned(experiment: &Experiment) -> Vec<(String, RunWarning)> {
    let one = |w: ScenarioWarning| {
        let values = w.values.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        (w.text, RunWarning { kind: w.kind.into(), key: w.key, values, variants: w.variants })
    };
    experiment.warned().into_iter().map(one).collect()
}
