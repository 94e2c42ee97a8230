//! `longfat plan --prove`: the first cures on this machine's kernel, made with the commands that are printed wherever this
//! kernel has what they need, and as the scenario has them elsewhere.

use crate::escape::tell;
use crate::problem::CliProblem;
use advise::{CureOption, CureProof, Lever, MadePlan};
use lab::{LabError, LabOptions, LabScript};
use result::{LinuxSetting, Outcome, Platform, VariantResult};
use scenario::Scenario;
use units::Span;

/// No run on the kernel takes longer.
const LONGEST: Span = Span::from_secs(20);
/// What other work on this machine disturbed is measured again, up to this often.
const TRIES: usize = 2;

/// What was measured, and what speaks against it.
struct KernelGoodput {
    mbps: f64,
    doubts: Vec<String>,
}

/// A cure as it is made on the kernel.
struct Made {
    scenario: Scenario,
    scripts: Vec<LabScript>,
    /// Whether congestion controls come from the hosts.
    host_controls: bool,
    ran: Vec<String>,
    set: Vec<String>,
}

/// Cures whose commands do not make all of it here, and why they are set as the scenario has them.
const BY_SCENARIO: [(&str, &str); 1] =
    [("bbr3", "a kernel's BBR is version 1 unless it was built otherwise")];
/// So many of a proxy's command lines are told: one a connection there is.
const MOST_LINES: usize = 4;

/// Measures the first `count` finalists that this kernel can, and the scenario as it is; both are written into the plan.
pub fn prove(scenario: &Scenario, made: &mut MadePlan, count: usize) -> Result<(), CliProblem> {
    let base = shortened(scenario);
    let now = measure(&Made::of(&base))?;
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
                tell!("not proved: {}: {why}\n", cure.name);
                continue;
            }
        };
        proved += 1;
        let predicted = advise::cured(&base, options);
        cure.proof = Some(CureProof {
            kernel_now_mbps: now.mbps,
            kernel_mbps: then.mbps,
            predicted_mbps: simulated(&predicted),
            ran: done.ran,
            set: done.set,
            doubts: now.doubts.iter().chain(&then.doubts).cloned().collect(),
        });
    }
    Ok(())
}

/// For no longer than [`LONGEST`], unless something is measured or begins later.
fn shortened(scenario: &Scenario) -> Scenario {
    let mut base = scenario.clone();
    let half = LONGEST.as_nanos() / 2;
    let last = |f: &scenario::Flow| f.start.as_nanos() + f.stagger.as_nanos() * u64::from(f.count - 1);
    if base.measure.is_none() && base.flows.iter().all(|f| last(f) < half && !f.app.has_end()) {
        base.duration = base.duration.min(LONGEST);
    }
    base
}

impl Made {
    /// Nothing yet.
    fn of(base: &Scenario) -> Made {
        Made {
            scenario: base.clone(),
            scripts: Vec::new(),
            host_controls: false,
            ran: Vec::new(),
            set: Vec::new(),
        }
    }
}

/// Chooses for each step commands that this kernel can run; a step without any is set as the scenario has it.
fn make(base: &Scenario, options: &[CureOption]) -> Result<Made, CliProblem> {
    let lever = |o: &CureOption| advise::named(o.cure).map(|c| c.lever());
    let on_path = |o: &CureOption| matches!(lever(o), Some(Lever::Limiter | Lever::Queue));
    let all = options.iter().map(|o| scripts(base, o)).collect::<Result<Vec<_>, _>>()?;
    // What changes the path in the scenario counts on what the steps before it changed there.
    let mixed = options.iter().zip(&all).any(|(o, scripts)| on_path(o) && scripts.is_err());
    let mut made = Made::of(base);
    for (option, scripts) in options.iter().zip(all) {
        if lever(option) == Some(Lever::Relay) {
            (option.change)(&mut made.scenario);
            continue;
        }
        let scripts = scripts.and_then(|scripts| {
            if mixed && on_path(option) { Err("another step can only be set".into()) } else { Ok(scripts) }
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
        controls_of_others(&mut made);
    }
    made.ran.extend(proxies(&made.scenario)?);
    Ok(made)
}

/// The proxies that a run has, as they are started: what is printed for the cure, with the lab's ports. There who sends connects,
/// so what users get by `--client-cc` is onward, `--upstream-cc`.
fn proxies(scenario: &Scenario) -> Result<Vec<String>, CliProblem> {
    let all = lab::proxy_commands(scenario, None).map_err(|e| CliProblem::Lab(Box::new(e)))?;
    let line = |(host, line): &(usize, String)| format!("{}# {line}", scenario.hosts[*host].name);
    let mut lines: Vec<String> = all.iter().take(MOST_LINES).map(line).collect();
    if all.len() > MOST_LINES {
        lines.push(format!("and {} more, one a connection", all.len() - MOST_LINES));
    }
    Ok(lines)
}

/// For every host that the commands are for the first set that this kernel can run; else why there is none.
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
        return Ok(Err("it has no command for a host of the lab".into()));
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

/// Hosts whose control no command has set get that of their flows, on the route to the other end.
fn controls_of_others(made: &mut Made) {
    for flow in made.scenario.flows.iter().filter(|f| !f.app.is_datagrams()) {
        if made.scripts.iter().any(|s| s.host == flow.from && s.lines[0].contains("congestion_control")) {
            continue;
        }
        let v6 = made.scenario.address(flow.to).is_ipv6();
        let route = LinuxSetting::Route { name: "congctl", to: flow.cc.name().into(), v6 };
        made.scripts.push(LabScript { host: flow.from, towards: Some(flow.to), lines: route.apply() });
    }
}

/// Runs it on the kernel: the sum of the flows' goodputs, of those measured one at a time each alone; why this kernel
/// cannot.
fn measure(made: &Made) -> Result<Result<KernelGoodput, String>, CliProblem> {
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
        let Outcome { variant, .. } = match lab::trusted(TRIES, run) {
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

/// As a plan has it.
fn goodput(v: &VariantResult) -> f64 {
    v.compared_flows().map(|f| f.goodput_mbps).sum()
}
