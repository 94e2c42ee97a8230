//! Checks before the first run whether this machine has what all variants need on the kernel.

#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::problem::CliProblem;
use experiment::Order;
use result::Clock;
use scenario::{Experiment, Scenario};

/// Checks the requirements of all variants.
///
/// # Errors
/// Fails with a list of everything that is missing and the command that installs the packages.
pub fn check(experiment: &Experiment, order: &Order) -> Result<(), CliProblem> {
    if !order.clocks.contains(&Clock::Kernel) {
        return Ok(());
    }
    let scenarios: Vec<&Scenario> = experiment.variants.iter().map(|v| &v.scenario).collect();
    // Each missing requirement with the variants that need it.
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut packages: Vec<String> = Vec::new();
    for (variant, needs) in experiment.variants.iter().zip(lab::missing(&scenarios)) {
        for lab::MissingNeed { key, why, package } in needs {
            packages.extend(package);
            let text = if key.is_empty() { why } else { format!("{key}: {why}") };
            match found.iter_mut().find(|(t, _)| *t == text) {
                Some((_, variants)) => variants.push(&variant.name),
                None => found.push((text, vec![&variant.name])),
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let all = experiment.variants.len();
    let line = |(text, variants): (String, Vec<&str>)| {
        let needed_by = if variants.len() == all { "all variants".into() } else { variants.join(", ") };
        format!("\n  {needed_by}: {text}")
    };
    let lines: String = found.into_iter().map(line).collect();
    let install = lab::install_command(packages.iter().map(String::as_str));
    let install = install.map_or_else(String::new, |command| format!("\n  to install: {command}"));
    Err(CliProblem::usage(format!("nothing was run: --on kernel lacks on this machine:{lines}{install}")))
}
