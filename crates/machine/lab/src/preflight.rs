//! Checks before a run on the kernel what this machine lacks.
//!
//! Networks are created and dropped again, eBPF programs loaded and unloaded. Programs of flows are only
//! looked up.

use crate::LabError;
use crate::controls::{Controls, requests};
use crate::network::LabNetwork;
use crate::plan::FlowPlan;
use crate::user_namespace::try_in_user_namespace;
use crate::{packages, relay, tool};
use congestion::Control;
use linux::privilege::can_create_namespaces;
use scenario::Scenario;

/// A requirement that this machine does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingNeed {
    /// The scenario's key that needs it; empty for what every run needs.
    pub key: String,
    /// What is missing, and what would help.
    pub why: String,
    /// The Debian package that contains it, if it is a program; see [`crate::install_command`].
    pub package: Option<String>,
}

/// Returns all unmet requirements of each scenario; an empty list if it can run.
pub fn missing(scenarios: &[&Scenario]) -> Vec<Vec<MissingNeed>> {
    let mut known: Vec<(Control, Option<String>)> = Vec::new();
    scenarios.iter().map(|scenario| missing_needs(scenario, &mut known)).collect()
}

fn missing_needs(scenario: &Scenario, known: &mut Vec<(Control, Option<String>)>) -> Vec<MissingNeed> {
    let mut list = Vec::new();
    if let Err(e) = check_network(scenario) {
        list.push(need(String::new(), e));
    }
    for (who, control) in requests(scenario, None) {
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
    list.extend(packages::absent_programs(scenario, None).into_iter().map(|absent| MissingNeed {
        key: absent.key(),
        why: absent.description(),
        package: absent.package,
    }));
    if list.is_empty()
        && let Err(e) = check_flows(scenario)
    {
        list.push(need(String::new(), e));
    }
    list
}

/// Creates the scenario's network and drops it, in a user namespace if this process lacks the privileges.
fn check_network(scenario: &Scenario) -> Result<(), LabError> {
    let build = || LabNetwork::build(scenario).map(drop);
    if can_create_namespaces() { build() } else { try_in_user_namespace(build) }
}

/// Checks whether the scenario's flows can run at the same time.
fn check_flows(scenario: &Scenario) -> Result<(), LabError> {
    let controls = Controls::load(&requests(scenario, None))?;
    let flows = scenario.flows.len();
    let runs: Vec<Option<usize>> =
        if scenario.one_at_a_time { (0..flows).map(Some).collect() } else { vec![None] };
    runs.into_iter().try_for_each(|only| {
        let plan = FlowPlan::new(scenario, only, &controls)?;
        tool::check(scenario, &plan)?;
        relay::check(scenario, &plan)
    })
}

/// Converts an error to a requirement. The error's own key takes precedence over `key`.
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
    fn every_missing_program_is_reported_with_its_key() {
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
            let need = all[0].iter().find(|need| need.key == key).expect("a requirement with this key");
            assert!(need.why.starts_with("program `no"), "{need:?}");
        }
    }
}
