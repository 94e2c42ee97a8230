//! `longfat run`.

use crate::args::{Clock, RunArgs};
use crate::load::load;
use crate::output::{Results, default_folder, file_name};
use crate::parallel::in_parallel;
use crate::plan::{Job, choose, jobs, seeds};
use crate::problem::Problem;
use crate::progress::{Bar, Progress};
use crate::provenance::Provenance;
use crate::tap::PcapTap;
use report::Style;
use result::parquet::Sampled;
use result::{FlowSeries, Outcome, Run, SCHEMA, combine, concat, to_json};
use scenario::{Experiment, Variant};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

/// Runs the scenario, prints and keeps what it yields.
pub fn run(args: &RunArgs) -> Result<ExitCode, Problem> {
    if args.on == Clock::Kernel {
        return Err(Problem::Usage("--on kernel is not available yet; leave it out, or say --on sim".into()));
    }
    let (text, mut experiment) = load(&args.scenario, &args.set)?;
    choose(&mut experiment, &args.variant)?;
    let (started, clock) = (SystemTime::now(), Instant::now());
    let outcomes = simulate(args, &experiment)?;
    let elapsed = clock.elapsed().as_secs_f64();

    let of = |v: &Variant| seeds(v, args.seed, args.repeat);
    let summaries = experiment.variants.iter().zip(&outcomes).map(|(v, repeats)| combine(repeats, &of(v)));
    let seed = experiment.variants.first().map_or(0, |v| of(v)[0]);
    let name = experiment.name.clone();
    let run = Run { schema: SCHEMA.into(), scenario: name, seed, variants: summaries.collect() };
    let provenance =
        Provenance::new(args.scenario.display().to_string(), seed, args.repeat, started, elapsed);
    let sampled: Vec<Sampled> = outcomes
        .iter()
        .flat_map(|o| (1..).zip(o))
        .map(|(repeat, outcome)| Sampled { repeat, outcome })
        .collect();
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&experiment.name));
    Results { run: &run, sampled: &sampled, scenario: &text, provenance: &provenance }.write(&folder)?;

    show(args, &run, &outcomes, &folder)?;
    let idle: Vec<&str> = run
        .variants
        .iter()
        .filter(|v| !v.flows.is_empty() && v.flows.iter().all(|f| f.delivered_bytes == 0))
        .map(|v| v.name.as_str())
        .collect();
    if idle.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("nothing arrived in: {}", idle.join(", "));
    Ok(ExitCode::from(1))
}

fn show(args: &RunArgs, run: &Run, outcomes: &[Vec<Outcome>], folder: &Path) -> Result<(), Problem> {
    let kept = format!("results in {}\n", folder.display());
    if args.json {
        crate::print(&to_json(run))?;
        eprint!("{kept}");
        return Ok(());
    }
    let series: Vec<&[FlowSeries]> =
        outcomes.iter().map(|repeats| repeats.first().map_or(&[][..], |o| &o.flow_series)).collect();
    crate::print(&format!("{}\n{kept}", report::text(run, &series, style())))
}

/// As wide as the terminal; colour there, unless `NO_COLOR` (no-color.org) or a dumb terminal says no.
fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::default();
    }
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    let width = console::Term::stdout().size_checked().map_or(80, |(_, columns)| columns as usize);
    Style { width, color: !set("NO_COLOR") && !dumb }
}

/// Runs everything; for each variant the outcomes of its repeats.
fn simulate(args: &RunArgs, experiment: &Experiment) -> Result<Vec<Vec<Outcome>>, Problem> {
    let variants = &experiment.variants;
    let jobs = jobs(variants, args.seed, args.repeat);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.jobs.map_or_else(cores, usize::from);
    let progress = Progress::new(jobs.iter().map(|j| variants[j.variant].scenario.duration));
    let mut bar = Bar::new(!args.no_progress);
    let work = |i: usize| {
        let done = one(args, &variants[jobs[i].variant], &jobs[i], &mut |now| progress.at(i, now));
        progress.finish(i);
        done
    };
    let outcomes = in_parallel(jobs.len(), threads, work, || bar.show(&progress));
    bar.clear();
    let mut outcomes = jobs.iter().zip(outcomes).peekable();
    let mut gathered: Vec<Vec<Outcome>> = variants.iter().map(|_| Vec::new()).collect();
    while let Some((job, outcome)) = outcomes.next() {
        let outcome = outcome?;
        let Some(flow) = job.flow else {
            gathered[job.variant].push(outcome);
            continue;
        };
        let name = |flow: usize| variants[job.variant].scenario.flows[flow].name.clone();
        let mut parts = vec![(name(flow), outcome)];
        while let Some((next, outcome)) =
            outcomes.next_if(|(j, _)| (j.variant, j.repeat) == (job.variant, job.repeat))
        {
            parts.extend(next.flow.map(name).zip(Some(outcome?)));
        }
        gathered[job.variant].push(concat(parts));
    }
    Ok(gathered)
}

/// One run, captured when asked.
fn one(
    args: &RunArgs,
    variant: &Variant,
    job: &Job,
    progress: &mut dyn FnMut(units::Time),
) -> Result<Outcome, Problem> {
    let mut tap = match &args.pcap {
        Some(dir) => {
            let folder = pcap_folder(dir, variant, job, args.repeat);
            let tap = PcapTap::create(&folder, &variant.scenario);
            Some((tap.map_err(|e| Problem::Io(folder.display().to_string(), e))?, folder))
        }
        None => None,
    };
    let options = sim::Options {
        seed: job.seed,
        only_flow: job.flow,
        tap: tap.as_mut().map(|(tap, _)| tap as &mut dyn sim::Tap),
        progress: Some(progress),
    };
    let outcome = sim::run(&variant.name, &variant.scenario, options);
    if let Some((tap, folder)) = tap {
        tap.finish().map_err(|e| Problem::Io(folder.display().to_string(), e))?;
    }
    Ok(outcome)
}

/// `DIR/<variant>[-repeatN][-<flow>]`: each run has files of its own.
fn pcap_folder(dir: &Path, variant: &Variant, job: &Job, repeats: u32) -> PathBuf {
    let mut name = variant.name.clone();
    if repeats > 1 {
        name += &format!("-repeat{}", job.repeat + 1);
    }
    if let Some(flow) = job.flow {
        name += &format!("-{}", variant.scenario.flows[flow].name);
    }
    dir.join(file_name(&name))
}
