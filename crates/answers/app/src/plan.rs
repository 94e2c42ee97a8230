//! Selects what a plan makes faster.

use crate::CommandError;
use fit::MadeFit;
use scenario::{Experiment, Scenario, Variant};
use units::Goal;

/// The subject of a plan.
pub struct Planned {
    /// The variant's name.
    pub name: String,
    /// Scenarios that are equally likely; the first is the reference.
    pub scenarios: Vec<Scenario>,
    /// The goal that cures are judged by unless the user states another.
    pub goal: Goal,
}

impl Planned {
    /// Selects a variant of a scenario: the one called `name`, or the baseline, or the first.
    ///
    /// # Errors
    /// Fails when no variant is called `name`.
    pub fn of_scenario(experiment: Experiment, name: Option<&str>) -> Result<Planned, CommandError> {
        let stated = experiment.goal.first().copied();
        let Variant { name, scenario } = variant(experiment, name)?;
        // This variant's flows may have another purpose than those of the scenario's first variant.
        let goal = stated.unwrap_or_else(|| scenario.default_goals()[0]);
        Ok(Planned { name, scenarios: vec![scenario], goal })
    }

    /// Takes the scenario fitted to a measurement, and the alternatives that fit nearly as well.
    pub fn of_fit(fit: MadeFit) -> Planned {
        let scenarios = std::iter::once(fit.scenario).chain(fit.alternatives).collect();
        Planned { name: "fit".into(), scenarios, goal: Goal::Goodput }
    }
}

/// Returns the variant called `name`, or the baseline, or the first.
fn variant(experiment: Experiment, name: Option<&str>) -> Result<Variant, CommandError> {
    let wanted = name.or(experiment.baseline()).unwrap_or_default().to_string();
    let mut chosen = experiment;
    experiment::choose(&mut chosen, std::slice::from_ref(&wanted))
        .map_err(|e| CommandError::Usage(format!("--variant: {e}")))?;
    Ok(chosen.variants.remove(0))
}
