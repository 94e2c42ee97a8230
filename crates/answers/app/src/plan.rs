//! Selects what a plan makes faster, and makes the plan.

use crate::CommandError;
use crate::fit::distrust;
use advise::{FinishedPlan, PlanError, PlanOptions};
use experiment::Watcher;
use fit::MadeFit;
use scenario::{Experiment, Scenario, Variant};
use units::Goal;

/// The subject of a plan.
pub struct Planned {
    /// The variant's name.
    pub name: String,
    /// The names of the other variants, if the user named none.
    pub other_variants: Vec<String>,
    /// Scenarios that are equally likely; the first is the reference.
    pub scenarios: Vec<Scenario>,
    /// The goal that cures are judged by unless the user states another.
    pub goal: Goal,
    /// Why the scenarios do not behave as the real path does, as a sentence.
    pub distrust: Option<String>,
}

impl Planned {
    /// Selects a variant of a scenario: the one called `name`, or the baseline, or the first.
    ///
    /// # Errors
    /// Fails when no variant is called `name`.
    pub fn of_scenario(experiment: Experiment, name: Option<&str>) -> Result<Planned, CommandError> {
        let stated = experiment.goal.first().copied();
        let mut other_variants: Vec<String> = match name {
            Some(_) => Vec::new(),
            None => experiment.variants.iter().map(|v| v.name.clone()).collect(),
        };
        let Variant { name, scenario } = variant(experiment, name)?;
        other_variants.retain(|other| *other != name);
        // This variant's flows may have another purpose than those of the scenario's first variant.
        let goal = stated.unwrap_or_else(|| scenario.default_goals()[0]);
        Ok(Planned { name, other_variants, scenarios: vec![scenario], goal, distrust: None })
    }

    /// Takes the scenario fitted to a measurement, and the alternatives that fit nearly as well.
    pub fn of_fit(made: &MadeFit) -> Planned {
        Planned {
            name: "fit".into(),
            other_variants: Vec::new(),
            scenarios: std::iter::once(&made.scenario).chain(&made.alternatives).cloned().collect(),
            goal: Goal::Goodput,
            distrust: distrust(&made.fit),
        }
    }

    /// Makes the plan. It advises nothing if the scenarios do not behave as the real path does.
    ///
    /// # Errors
    /// Fails with a [`PlanError`].
    pub fn plan(
        &self,
        options: &PlanOptions,
        watch: Option<&mut Watcher<'_>>,
    ) -> Result<FinishedPlan, PlanError> {
        let mut made = advise::plan(&self.name, &self.scenarios, options, watch)?;
        made.plan.other_variants.clone_from(&self.other_variants);
        if let Some(why) = &self.distrust {
            made.plan.distrusted(why);
        }
        Ok(made)
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
