//! `longfat plan --prove`: measures the first cures on this machine's kernel. A cure is applied by the
//! printed commands if this kernel supports them, else by changing the scenario.

use crate::escape::eprint_escaped;
use crate::problem::CliProblem;
use advise::{CureOption, CureProof, FinishedPlan, Lever};
use lab::{LabError, LabOptions, LabScript};
use result::{LinuxSetting, Outcome, Platform, VariantResult};
use scenario::Scenario;
use units::Span;

/// Longest duration of a run on the kernel.
const MAX_DURATION: Span = Span::from_secs(20);
/// Number of measurements if other work on this machine disturbs them.
const MAX_TRIES: usize = 2;

/// A measured goodput, and reasons to distrust it.
struct KernelGoodput {
    mbps: f64,
    doubts: Vec<String>,
}

/// A cure as it is applied on the kernel.
struct KernelCure {
    scenario: Scenario,
    scripts: Vec<LabScript>,
    /// Whether the hosts' sysctls and routes choose the congestion controls, instead of the scenario.
    host_controls: bool,
    /// Commands that were run, each with its host.
    ran: Vec<String>,
    /// Steps that were applied by changing the scenario, with the reason.
    set: Vec<String>,
}

/// Cures whose commands are not enough on the kernel, and why the scenario is changed instead.
const BY_SCENARIO: [(&str, &str); 1] =
    [("bbr3", "a kernel's BBR is version 1 unless it was built otherwise")];
/// Printed command lines of proxies; there is one proxy per connection.
const MAX_PROXY_LINES: usize = 4;

/// Measures the scenario as it is and the first `count` finalists that this kernel supports, and adds the
/// results to the plan.
pub fn prove(scenario: &Scenario, made: &mut FinishedPlan, count: usize) -> Result<(), CliProblem> {
    let base = shortened(scenario);
    let now = measure(&KernelCure::none(&base))?;
    let now = now.map_err(|why| CliProblem::usage(format!("--prove: {why}")))?;
    let finalists = made.plan.cures.iter_mut().filter(|c| c.finalist);
    let mut proved = 0;
    for (cure, options) in finalists.zip(&made.options) {
        if proved == count {
            break;
        }
        let done = make(&base, options)?;
        let then = match measure(&done)? {
            Ok(then) => then,
            Err(why) => {
                eprint_escaped!("not proved: {}: {why}\n", cure.name);
                continue;
            }
        };
        proved += 1;
        let predicted = advise::cured(&base, options);
        cure.proof = Some(CureProof {
            kernel_now_mbps: now.mbps,
            kernel_mbps: then.mbps,
            predicted_mbps: simulated(&predicted),
            commands_run: done.ran,
            set: done.set,
            distrust: now.doubts.iter().chain(&then.doubts).cloned().collect(),
        });
    }
    Ok(())
}

/// Limits the duration to [`MAX_DURATION`], unless a measurement interval is given or a flow starts late or
/// has an end.
fn shortened(scenario: &Scenario) -> Scenario {
    let mut base = scenario.clone();
    let half = MAX_DURATION.as_nanos() / 2;
    let last = |f: &scenario::Flow| f.start.as_nanos() + f.stagger.as_nanos() * u64::from(f.count - 1);
    if base.measure.is_none() && base.flows.iter().all(|f| last(f) < half && !f.app.has_end()) {
        base.duration = base.duration.min(MAX_DURATION);
    }
    base
}

impl KernelCure {
    /// The scenario without any change.
    fn none(base: &Scenario) -> KernelCure {
        KernelCure {
            scenario: base.clone(),
            scripts: Vec::new(),
            host_controls: false,
            ran: Vec::new(),
            set: Vec::new(),
        }
    }
}

/// Chooses for each step of a cure commands that this kernel can run; a step without any changes the
/// scenario.
fn make(base: &Scenario, options: &[CureOption]) -> Result<KernelCure, CliProblem> {
    let lever = |o: &CureOption| advise::named(o.cure).map(|c| c.lever());
    let on_path = |o: &CureOption| matches!(lever(o), Some(Lever::Limiter | Lever::Queue));
    let all = options.iter().map(|o| scripts(base, o)).collect::<Result<Vec<_>, _>>()?;
    // A step that changes the path in the scenario builds on the earlier steps' changes there.
    let mixed = options.iter().zip(&all).any(|(o, scripts)| on_path(o) && scripts.is_err());
    let mut made = KernelCure::none(base);
    for (option, scripts) in options.iter().zip(all) {
        if lever(option) == Some(Lever::Relay) {
            (option.change)(&mut made.scenario);
            continue;
        }
        let scripts = scripts.and_then(|scripts| {
            if mixed && on_path(option) {
                Err("another step of the path has no commands here".into())
            } else {
                Ok(scripts)
            }
        });
        match scripts {
            Ok(scripts) => {
                made.host_controls |= lever(option) == Some(Lever::Control);
                if let Some(beneath) = &option.beneath {
                    beneath(&mut made.scenario);
                }
                for script in &scripts {
                    let host = &base.hosts[script.host].name;
                    made.ran.extend(script.lines.iter().map(|line| format!("{host}# {line}")));
                }
                made.scripts.extend(scripts);
            }
            Err(why) => {
                (option.change)(&mut made.scenario);
                made.set.push(format!("{}: {why}", option.title));
            }
        }
    }
    if made.host_controls {
        set_remaining_controls(&mut made);
    }
    made.ran.extend(proxies(&made.scenario)?);
    Ok(made)
}

/// Returns the command lines of a run's proxies, with the lab's ports. In the lab the sender opens the
/// connection, so the direction that a user sets with `--client-cc` is set with `--upstream-cc`.
fn proxies(scenario: &Scenario) -> Result<Vec<String>, CliProblem> {
    let all = lab::proxy_commands(scenario, None).map_err(|e| CliProblem::Lab(Box::new(e)))?;
    let line = |(host, line): &(usize, String)| format!("{}# {line}", scenario.hosts[*host].name);
    let mut lines: Vec<String> = all.iter().take(MAX_PROXY_LINES).map(line).collect();
    if all.len() > MAX_PROXY_LINES {
        lines.push(format!("and {} more, one per connection", all.len() - MAX_PROXY_LINES));
    }
    Ok(lines)
}

/// Returns for each host the first set of commands that this kernel can run, or the reason why there is none.
fn scripts(base: &Scenario, option: &CureOption) -> Result<Result<Vec<LabScript>, String>, CliProblem> {
    if let Some((_, why)) = BY_SCENARIO.iter().find(|(cure, _)| *cure == option.cure) {
        return Ok(Err(why.to_string()));
    }
    let index = |name: &str| base.hosts.iter().position(|h| h.name == name);
    let sets = option.remedies.iter().enumerate().flat_map(|(i, r)| r.commands.iter().map(move |c| (i, c)));
    let mut hosts: Vec<((usize, usize), Vec<LabScript>)> = Vec::new();
    for (remedy, set) in sets.filter(|(_, c)| c.platform == Platform::Linux) {
        let Some(host) = index(&set.at) else { continue };
        let towards = set.towards.as_deref().and_then(index);
        let script = LabScript { host, towards, lines: set.apply.clone() };
        let key = (host, remedy);
        match hosts.iter_mut().find(|(k, _)| *k == key) {
            Some((_, sets)) => sets.push(script),
            None => hosts.push((key, vec![script])),
        }
    }
    if hosts.is_empty() {
        return Ok(Err("it has no commands for a Linux host".into()));
    }
    let mut chosen = Vec::new();
    for (_, sets) in hosts {
        let tried = lab::try_scripts(base, &sets).map_err(|e| CliProblem::Lab(Box::new(e)))?;
        match sets.iter().zip(&tried).find(|(_, why)| why.is_none()) {
            Some((script, _)) => chosen.push(script.clone()),
            None => {
                let why = tried.into_iter().flatten().next().unwrap_or_default();
                return Ok(Err(format!("this kernel cannot: {}", why.lines().next().unwrap_or_default())));
            }
        }
    }
    Ok(Ok(chosen))
}

/// Sets the flows' congestion controls, by route to the receiver, on hosts where no command has set one.
fn set_remaining_controls(made: &mut KernelCure) {
    for flow in made.scenario.flows.iter().filter(|f| !f.app.is_datagrams()) {
        if made.scripts.iter().any(|s| s.host == flow.from && s.lines[0].contains("congestion_control")) {
            continue;
        }
        let v6 = made.scenario.address(flow.to).is_ipv6();
        let route = LinuxSetting::Route { name: "congctl", to: flow.cc.name().into(), v6 };
        made.scripts.push(LabScript { host: flow.from, towards: Some(flow.to), lines: route.apply() });
    }
}

/// Runs a cure on the kernel and returns the sum of the flows' goodputs, or the reason why this kernel cannot
/// run it. Flows that are compared one at a time run alone.
fn measure(made: &KernelCure) -> Result<Result<KernelGoodput, String>, CliProblem> {
    let s = &made.scenario;
    let flows: Vec<Option<usize>> =
        if s.one_at_a_time { (0..s.flows.len()).map(Some).collect() } else { vec![None] };
    let mut found = KernelGoodput { mbps: 0.0, doubts: Vec::new() };
    for only_flow in flows {
        let run = || {
            let options = LabOptions {
                seed: s.seed,
                only_flow,
                scripts: &made.scripts,
                host_controls: made.host_controls,
                ..LabOptions::default()
            };
            lab::run("proof", s, options)
        };
        let Outcome { variant, .. } = match lab::trusted(MAX_TRIES, run) {
            Ok(outcome) => outcome,
            Err(e @ (LabError::Congestion { .. } | LabError::Unsupported { .. })) => {
                return Ok(Err(e.to_string()));
            }
            Err(e) => return Err(CliProblem::Lab(Box::new(e))),
        };
        found.mbps += goodput(&variant);
        found.doubts.extend(report::distrust_of(&variant, report::Lang::En));
    }
    Ok(Ok(found))
}

fn simulated(s: &Scenario) -> f64 {
    let variant = scenario::Variant { name: "proof".into(), scenario: s.clone() };
    let flows: Vec<Option<usize>> =
        if s.one_at_a_time { (0..s.flows.len()).map(Some).collect() } else { vec![None] };
    let run = |only| {
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        experiment::simulate(&variant, s.seed, only, true, None, None, go_on)
    };
    flows.into_iter().filter_map(run).map(|o| goodput(&o.variant)).sum()
}

/// Sums the goodput of the flows that a plan compares, Mbit/s.
fn goodput(v: &VariantResult) -> f64 {
    v.compared_flows().map(|f| f.goodput_mbps).sum()
}
