//! `longfat plan --prove`: the first cures on this machine's kernel, made with the commands that are printed wherever this
//! kernel has what they need, and as the scenario has them elsewhere.

use crate::problem::CliProblem;
use advise::{CureOption, CureProof, Lever, MadePlan, Platform};
use lab::{LabOptions, LabScript};
use result::{Outcome, VariantResult};
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

/// Measures the first `count` finalists, and the scenario as it is; both are written into the plan.
pub fn prove(scenario: &Scenario, made: &mut MadePlan, count: usize) -> Result<(), CliProblem> {
    let mut base = scenario.clone();
    base.duration = base.duration.min(LONGEST);
    let none = Made {
        scenario: base.clone(),
        scripts: Vec::new(),
        host_controls: false,
        ran: Vec::new(),
        set: Vec::new(),
    };
    let now = measure(&none)?;
    let finalists = made.plan.cures.iter_mut().filter(|c| c.finalist);
    for (cure, options) in finalists.zip(&made.options).take(count) {
        let done = make(&base, options)?;
        let then = measure(&done)?;
        let mut predicted = base.clone();
        options.iter().for_each(|o| (o.change)(&mut predicted));
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

/// Chooses for each step commands that this kernel can run; a step without any is set as the scenario has it.
fn make(base: &Scenario, options: &[CureOption]) -> Result<Made, CliProblem> {
    let mut made = Made {
        scenario: base.clone(),
        scripts: Vec::new(),
        host_controls: false,
        ran: Vec::new(),
        set: Vec::new(),
    };
    for option in options {
        match scripts(base, option)? {
            Ok(scripts) => {
                let lever = advise::named(option.cure).map(|c| c.lever());
                made.host_controls |= lever == Some(Lever::Control);
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
    Ok(made)
}

/// For every host that the commands are for the first set that this kernel can run; else why there is none.
fn scripts(base: &Scenario, option: &CureOption) -> Result<Result<Vec<LabScript>, String>, CliProblem> {
    let index = |name: &str| base.hosts.iter().position(|h| h.name == name);
    let linux = option.commands.iter().filter(|c| c.platform == Platform::Linux);
    let mut hosts: Vec<((usize, &str), Vec<LabScript>)> = Vec::new();
    for set in linux {
        let Some(host) = index(&set.at) else { continue };
        let towards = set.towards.as_deref().and_then(index);
        let script = LabScript { host, towards, lines: set.apply.clone() };
        let key = (host, set.purpose.as_str());
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
        let line = format!(
            "ip route replace $(ip -o route show to match $PEER | tail -n 1) congctl {}",
            flow.cc.name()
        );
        made.scripts.push(LabScript { host: flow.from, towards: Some(flow.to), lines: vec![line] });
    }
}

/// Runs it on the kernel: the sum of the flows' goodputs, of those measured one at a time each alone.
fn measure(made: &Made) -> Result<KernelGoodput, CliProblem> {
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
        let Outcome { variant, .. } = lab::trusted(TRIES, run).map_err(|e| CliProblem::Lab(Box::new(e)))?;
        found.mbps += goodput(&variant);
        found.doubts.extend(report::distrust_of(&variant, report::Lang::En));
    }
    Ok(found)
}

fn simulated(s: &Scenario) -> f64 {
    let variant = scenario::Variant { name: "proof".into(), scenario: s.clone() };
    let flows: Vec<Option<usize>> =
        if s.one_at_a_time { (0..s.flows.len()).map(Some).collect() } else { vec![None] };
    let run = |only| {
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        experiment::simulate(&variant, s.seed, only, true, None, go_on)
    };
    flows.into_iter().filter_map(run).map(|o| goodput(&o.variant)).sum()
}

/// As a plan has it.
fn goodput(v: &VariantResult) -> f64 {
    v.compared_flows().map(|f| f.goodput_mbps).sum()
}
