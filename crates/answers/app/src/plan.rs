//! What is made faster.

use crate::CommandError;
use fit::MadeFit;
use scenario::{Experiment, Scenario, Variant};
use units::Goal;

/// What is planned for.
pub struct Planned {
    /// The variant's name.
    pub name: String,
    /// Equally likely; the first is the reference.
    pub scenarios: Vec<Scenario>,
    /// What it is judged by unless the user says otherwise.
    pub goal: Goal,
}

impl Planned {
    /// A scenario's variant: the one of that name, the baseline, or the first.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn of_scenario(experiment: Experiment, name: Option<&str>) -> Result<Planned, CommandError> {
        let stated = experiment.goal.first().copied();
        let Variant { name, scenario } = variant(experiment, name)?;
        // What this variant's flows are for, which need not be those of the first.
        let goal = stated.unwrap_or_else(|| scenario.usual_goals()[0]);
        Ok(Planned { name, scenarios: vec![scenario], goal })
    }

    /// What was fitted to what was measured, and what fits nearly as well.
    pub fn of_fit(made: MadeFit) -> Planned {
        let scenarios = std::iter::once(made.scenario).chain(made.alternatives).collect();
        Planned { name: "fit".into(), scenarios, goal: Goal::Goodput }
    }
}

/// The variant that is meant.
fn variant(experiment: Experiment, name: Option<&str>) -> Result<Variant, CommandError> {
    let wanted = name.or(experiment.baseline()).unwrap_or_default().to_string();
    let mut chosen = experiment;
    experiment::choose(&mut chosen, std::slice::from_ref(&wanted))
        .map_err(|e| CommandError::Usage(format!("--variant: {e}")))?;
    Ok(chosen.variants.remove(0))
}
