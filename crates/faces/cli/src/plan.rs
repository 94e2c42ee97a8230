//! `longfat plan`: finds the changes that make a scenario's flows faster.

use crate::args::PlanArgs;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load::load;
use crate::problem::CliProblem;
use crate::progress::{RunsBar, terminal};
use ::fit::FitError;
use advise::{Plan, PlanError, PlanOptions};
use app::fit::is_observed;
use app::output::write_file;
use app::plan::Planned;
use capture::PacketFilter;
use experiment::Progress;
use std::process::ExitCode;

/// Tries cures on the scenario, and prints the plan and its commands.
pub fn plan(args: &PlanArgs) -> Result<ExitCode, CliProblem> {
    let planned = match is_observed(&args.scenario) {
        true => match from_measurement(args)? {
            Ok(planned) => planned,
            Err(e) => return crate::fit::no_fit(&args.scenario, &e),
        },
        false => from_scenario(args)?,
    };
    let options = PlanOptions {
        objective: args.objective.unwrap_or(planned.goal),
        only: args.only.clone(),
        keep: args.keep.clone(),
        max_delay: args.max_delay,
        no_loss_for: args.no_loss_for.clone(),
        finalists: args.finalists as usize,
        repeats: args.repeat,
        threads: args.jobs,
    };
    lab::catch_interrupts();
    let mut bar = RunsBar::new(!args.no_progress);
    let mut progress = |p: &Progress| bar.watch(p);
    let made = planned.plan(&options, Some(&mut progress));
    bar.clear();
    let mut made = match made {
        Ok(made) => made,
        Err(PlanError::Stopped) => {
            let signal = lab::interrupted().unwrap_or(2);
            return Ok(ExitCode::from(128 + signal as u8));
        }
        Err(e) => return Err(CliProblem::usage(e.to_string())),
    };
    if let Some(count) = args.prove {
        prove(&planned.scenarios[0], &mut made, count as usize)?;
    }
    let plan = made.plan;
    let commands = commands(args, &plan)?;
    if let Some(file) = &args.svg {
        let file = write_file(file, advise::pareto_svg(&plan).as_bytes())?;
        eprint_escaped!("{}\n", file.display());
    }
    if let Some(file) = &args.html {
        let file = write_file(file, advise::page(&plan).as_bytes())?;
        eprint_escaped!("{}\n", file.display());
    }
    if args.json {
        crate::print_json(&advise::to_json(&plan))?;
    } else {
        let text = advise::text(&plan, args.commands.as_deref(), terminal().width);
        crate::print(&format!("{text}{commands}"))?;
    }
    Ok(if plan.advised.is_some() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[cfg(target_os = "linux")]
use crate::prove::prove;

#[cfg(not(target_os = "linux"))]
fn prove(_: &scenario::Scenario, _: &mut advise::FinishedPlan, _: usize) -> Result<(), CliProblem> {
    Err(CliProblem::Lab(Box::new(lab::LabError)))
}

/// Plans for a variant of a scenario file.
fn from_scenario(args: &PlanArgs) -> Result<Planned, CliProblem> {
    let experiment = load(&args.scenario, &args.set, args.variant.as_slice(), args.allow_files)?.experiment;
    Ok(Planned::of_scenario(experiment, args.variant.as_deref())?)
}

/// Plans for the scenario fitted to a measurement, and for those that fit nearly as well.
fn from_measurement(args: &PlanArgs) -> Result<Result<Planned, FitError>, CliProblem> {
    if !args.set.is_empty() {
        let why = "--set needs a scenario; `longfat fit` writes one from this measurement";
        return Err(CliProblem::usage(why.into()));
    }
    if args.variant.is_some() && !args.scenario.is_dir() {
        let why = "--variant needs a scenario or a result folder; a capture has no variants";
        return Err(CliProblem::usage(why.into()));
    }
    let source = (args.scenario.as_path(), args.variant.as_deref());
    let made = crate::fit::made(source, PacketFilter::default(), args.jobs, !args.no_progress)?;
    Ok(made.map(|made| {
        let planned = Planned::of_fit(&made);
        // The plan itself begins with the headline of a bad fit.
        if planned.distrust.is_none() {
            eprint_escaped!("{}\n", made.fit.headline);
        }
        planned
    }))
}

/// Formats the commands of the cure given by --commands, else of the advised cure.
fn commands(args: &PlanArgs, plan: &Plan) -> Result<String, CliProblem> {
    match (advise::commands(plan, args.commands.as_deref()), &args.commands) {
        (Some(text), _) => Ok(format!("\n{text}")),
        (None, None) => Ok(String::new()),
        (None, Some(name)) => {
            let known: Vec<&str> = plan.cures.iter().chain(&plan.screened).map(|c| c.name.as_str()).collect();
            Err(CliProblem::usage(format!(
                "--commands {name}: no such cure; there are: {}",
                known.join(", ")
            )))
        }
    }
}
