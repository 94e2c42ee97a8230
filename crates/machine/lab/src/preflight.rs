//! What a run on the kernel needs and this machine lacks, asked before anything is run.
//!
//! Asked by doing it: networks are made and dropped, programs for the kernel loaded and unloaded. Programs of flows are
//! only looked for.

use crate::LabError;
use crate::apart::try_apart;
use crate::controls::{Controls, wishes};
use crate::network::LabNetwork;
use crate::plan::FlowPlan;
use crate::{packages, relay, tool};
use congestion::Control;
use linux::privilege::may_build;
use scenario::Scenario;

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingNeed {
    /// The scenario's key that needs it; empty for what every run needs.
    pub key: String,
    /// What is missing, and what would do.
    pub why: String,
    /// The package of Debian that has it, where it is a program: [`crate::install_command`].
    pub package: Option<String>,
}

/// What each of these scenarios needs and does not find, all of it; empty lists where they can be run.
pub fn missing(scenarios: &[&Scenario]) -> Vec<Vec<MissingNeed>> {
    let mut known: Vec<(Control, Option<String>)> = Vec::new();
    scenarios.iter().map(|scenario| of_one(scenario, &mut known)).collect()
}

fn of_one(scenario: &Scenario, known: &mut Vec<(Control, Option<String>)>) -> Vec<MissingNeed> {
    let mut list = Vec::new();
    if let Err(e) = network(scenario) {
        list.push(need(String::new(), e));
    }
    for (who, control) in wishes(scenario, None) {
        let at = known.iter().position(|(c, _)| *c == control).unwrap_or_else(|| {
            let loaded = Controls::load(&[(who.clone(), control)]);
            known.push((control, loaded.err().map(|e| need(String::new(), e).why)));
            known.len() - 1
        });
        if let Some(why) = &known[at].1 {
            let key = match who.split_once(' ') {
                Some((what, name)) => format!("{what}s.{name}.cc"),
                None => who,
            };
            list.push(MissingNeed { key, why: why.clone(), package: None });
        }
    }
    list.extend(packages::absent(scenario, None).into_iter().map(|absent| MissingNeed {
        key: absent.key(),
        why: absent.lacks(),
        package: absent.package,
    }));
    if list.is_empty()
        && let Err(e) = together(scenario)
    {
        list.push(need(String::new(), e));
    }
    list
}

/// Makes the scenario's network, in a user namespace where this process may not make one, and drops it.
fn network(scenario: &Scenario) -> Result<(), LabError> {
    let build = || LabNetwork::build(scenario).map(drop);
    if may_build() { build() } else { try_apart(build) }
}

/// What its flows cannot do beside each other.
fn together(scenario: &Scenario) -> Result<(), LabError> {
    let controls = Controls::load(&wishes(scenario, None))?;
    let flows = scenario.flows.len();
    let runs: Vec<Option<usize>> =
        if scenario.one_at_a_time { (0..flows).map(Some).collect() } else { vec![None] };
    runs.into_iter().try_for_each(|only| {
        let plan = FlowPlan::new(scenario, only, &controls)?;
        tool::check(scenario, &plan)?;
        relay::check(scenario, &plan)
    })
}

/// An error as what is missing; the key of its own, if it names one.
fn need(key: String, error: LabError) -> MissingNeed {
    let (key, why) = match error {
        LabError::Unsupported { key, why } => (key, format!("not on the kernel: {why}")),
        LabError::Congestion { wanted, why, .. } => (key, format!("congestion control {wanted}: {why}")),
        LabError::Program { what, .. } => (key, what),
        LabError::Relay { relay, what } => (format!("relays.{relay}.tool"), what),
        other => (key, other.to_string()),
    };
    MissingNeed { key, why, package: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Experiment;

    #[test]
    fn all_that_is_missing_is_told_with_its_key() {
        let text = r#"
            [links.l]
            between = ["a", "b"]
            [flows.f]
            from = "a"
            to = "b"
            tool = "nonesuch {to}"
            server = "nothing-of-that-name {port}"
            [flows.g]
            from = "b"
            to = "a"
            tool = "sh -c true"
            [flows.h]
            from = "a"
            to = "b"
        "#;
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        // Without privileges what every run needs is reported as well.
        let all = missing(&[&scenario, &scenario]);
        assert_eq!(all[0], all[1]);
        for key in ["flows.f.tool", "flows.f.server"] {
            let need = all[0].iter().find(|need| need.key == key).expect("a need");
            assert!(need.why.starts_with("there is no program `no"), "{need:?}");
        }
    }
}
