//! `longfat shell`: runs a program inside a scenario on the real kernel.

use crate::args::ShellArgs;
use crate::consent;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load;
use crate::problem::CliProblem;
use lab::{Serve, ShellOptions};
use path::StageLimit;
use scenario::Scenario;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

/// Runs the program inside the scenario and returns its exit code.
pub fn shell(args: &ShellArgs) -> Result<ExitCode, CliProblem> {
    if args.command.is_empty() && args.scenario == Path::new("-") {
        let text =
            "the shell reads standard input itself: give the scenario as a file, or a command after --";
        return Err(CliProblem::usage(text.into()));
    }
    let source = load::source(&args.scenario)?;
    let names = source.variant_names()?;
    let chosen = args.variant.as_ref().or(names.first());
    let chosen: Vec<String> = chosen.into_iter().cloned().collect();
    let mut loaded = source.parsed(&args.set, &chosen, args.allow_files)?;
    let variant = loaded.experiment.variants.remove(0);
    let scenario = &variant.scenario;
    // Only --flows starts the scenario's programs.
    if args.flows && !args.allow_tools {
        let chosen = [variant.name.clone()];
        consent::ask(&loaded.programs(&args.set, &chosen)?, &loaded.source)?;
    }
    if args.variant.is_none() && names.len() > 1 {
        eprint_escaped!(
            "longfat: variant {}; choose another with --variant: {}\n",
            variant.name,
            names[1..].join(", ")
        );
    }
    let host = match &args.host {
        Some(name) => find(scenario, "--host", name)?,
        None => scenario.flows.first().map_or(scenario.links[0].between[0], |f| f.from),
    };
    for (from, to) in directions_without_limit(scenario, host) {
        let name = |h: usize| &scenario.hosts[h].name;
        eprint_escaped!(
            "longfat: nothing limits the rate from {} to {}: that direction runs at this machine's speed\n",
            name(from),
            name(to)
        );
    }
    let serve = args.serve.iter().map(|text| serve(scenario, text)).collect::<Result<_, _>>()?;
    if args.command.is_empty() && io::stdin().is_terminal() {
        eprint_escaped!("{}", greeting(scenario, &variant.name, host));
    }
    let mut notice = |text: &str| eprint_escaped!("longfat: {text}\n");
    let options = ShellOptions {
        seed: args.seed.unwrap_or(scenario.seed),
        host,
        command: args.command.clone(),
        serve,
        flows: args.flows,
        user: args.user.clone(),
        writable: args.writable.clone(),
        notice: Some(&mut notice),
    };
    let code = lab::shell(scenario, options).map_err(|e| CliProblem::Lab(Box::new(e)))?;
    Ok(ExitCode::from(code as u8))
}

/// Returns the directions between `host` and each other host that have no rate limit although the opposite
/// direction has one, as (from, to). In a scenario of an upload this is the download.
fn directions_without_limit(scenario: &Scenario, host: usize) -> Vec<(usize, usize)> {
    let is_limited = |from: usize, to: usize| {
        let hops = scenario.route(from, to)?;
        let stages = hops.iter().flat_map(|hop| {
            let link = &scenario.links[hop.link];
            if hop.forward { &link.forward } else { &link.backward }
        });
        let mut written = stages.filter(|named| !named.assumed);
        Some(written.any(|named| named.stage.limit() != StageLimit::None))
    };
    let free = |other: usize| match [is_limited(host, other)?, is_limited(other, host)?] {
        [true, false] => Some((other, host)),
        [false, true] => Some((host, other)),
        _ => None,
    };
    (0..scenario.hosts.len()).filter(|&other| other != host).filter_map(free).collect()
}

fn find(scenario: &Scenario, option: &str, name: &str) -> Result<usize, CliProblem> {
    let unknown = || {
        let known: Vec<&str> = scenario.hosts.iter().map(|h| h.name.as_str()).collect();
        let list = known.join(", ");
        CliProblem::usage(format!("{option}: no such host: `{name}`; there are: {list}"))
    };
    scenario.hosts.iter().position(|h| h.name == name).ok_or_else(unknown)
}

/// Parses `HOST=COMMAND`; the command is run by /bin/sh.
fn serve(scenario: &Scenario, text: &str) -> Result<Serve, CliProblem> {
    let Some((host, command)) = text.split_once('=').filter(|(_, c)| !c.trim().is_empty()) else {
        let text = format!("--serve: `{text}` is not HOST=COMMAND, for example server='iperf3 -s'");
        return Err(CliProblem::usage(text));
    };
    let host = find(scenario, "--serve", host)?;
    Ok(Serve { host, command: vec!["/bin/sh".into(), "-c".into(), command.into()] })
}

/// Formats the greeting of an interactive shell: the present host, the other hosts, and how to leave.
fn greeting(scenario: &Scenario, variant: &str, host: usize) -> String {
    let named = |h: usize| format!("{} ({})", scenario.hosts[h].name, scenario.address(h));
    let others: Vec<String> = (0..scenario.hosts.len()).filter(|&h| h != host).map(named).collect();
    format!(
        "{}, variant {variant}: you are on {}\nother hosts: {}\nleave with: exit\n",
        scenario.name,
        named(host),
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Experiment;

    #[test]
    fn only_a_direction_whose_opposite_is_limited_is_named() {
        let free = |forward: &str, backward: &str| {
            let text = format!(
                "[links.wan]\nbetween = [\"client\", \"server\"]\nforward = [{forward}]\nbackward = [{backward}]\n\
                 [flows.f]\nfrom = \"client\"\nto = \"server\""
            );
            let e = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
            directions_without_limit(&e.variants[0].scenario, 0)
        };
        let policer =
            r#"{ kind = "policer", rate = "10Mbit/s", burst = "9kB" }, { kind = "delay", delay = "5ms" }"#;
        let delay = r#"{ kind = "delay", delay = "5ms" }"#;
        assert_eq!(free(policer, delay), [(1, 0)], "a download");
        assert_eq!(free(delay, policer), [(0, 1)]);
        assert_eq!(free(policer, policer), []);
        assert_eq!(free(delay, delay), []);
    }
}
