//! `longfat run`.

use crate::args::RunArgs;
use crate::draw::{counted, plots};
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load::load;
use crate::output::{Results, default_folder, file_name};
use crate::parallel::in_parallel;
use crate::plan::{Job, choose, jobs, seeds};
use crate::problem::Problem;
use crate::progress::{Bar, Progress, terminal};
use crate::provenance::Provenance;
use crate::tap::{PcapTap, captures};
use report::{Series, Shown};
use result::parquet::Sampled;
use result::{Clock, FlowSeries, Outcome, Run, SCHEMA, combine, concat, to_json};
use scenario::{Experiment, Variant};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};
use units::Time;

/// Runs the scenario, prints and keeps what it yields.
pub fn run(args: &RunArgs) -> Result<ExitCode, Problem> {
    let (text, mut experiment) = load(&args.scenario, &args.set)?;
    choose(&mut experiment, &args.variant)?;
    let (started, begun) = (SystemTime::now(), Instant::now());
    let mut notices = Vec::new();
    let played: Vec<Vec<Vec<Outcome>>> = args
        .on
        .each()
        .iter()
        .map(|&on| play(args, on, &experiment, &mut notices))
        .collect::<Result<_, _>>()?;
    let outcomes = interleave(played);
    let elapsed = begun.elapsed().as_secs_f64();

    let of = |v: &Variant| seeds(v, args.seed, args.repeat);
    // Each variant once for each clock.
    let clocks = args.on.each().len();
    let variants = experiment.variants.iter().flat_map(|v| std::iter::repeat_n(v, clocks));
    let summaries = variants.zip(&outcomes).map(|(v, repeats)| combine(repeats, &of(v)));
    let seed = experiment.variants.first().map_or(0, |v| of(v)[0]);
    let name = experiment.name.clone();
    let run = Run {
        schema: SCHEMA.into(),
        scenario: name,
        description: experiment.description.clone(),
        seed,
        variants: summaries.collect(),
    };
    let provenance = Provenance::new(
        args.scenario.display().to_string(),
        args.on.each(),
        seed,
        args.repeat,
        started,
        elapsed,
        notices,
    );
    let sampled: Vec<Sampled> = outcomes
        .iter()
        .flat_map(|o| (1..).zip(o))
        .map(|(repeat, outcome)| Sampled { repeat, outcome })
        .collect();
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&experiment.name));
    let series: Vec<Series> =
        outcomes.iter().map(|repeats| repeats.first().map(Series::of).unwrap_or_default()).collect();
    let shown = [Shown { label: &experiment.name, run: &run, series: &series }];
    let page = report::page(&shown, args.drawn.lang.into());
    Results { run: &run, sampled: &sampled, scenario: &text, provenance: &provenance, page: &page }
        .write(&folder)?;
    let drawn = plots(&args.drawn, &shown)?;
    let plots = counted(&args.drawn, &drawn);
    let kept = format!("results in {} (open report.html)\n{plots}", folder.display());

    show(args, &run, &outcomes, &kept)?;
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

fn show(args: &RunArgs, run: &Run, outcomes: &[Vec<Outcome>], kept: &str) -> Result<(), Problem> {
    if args.json {
        crate::print(&to_json(run))?;
        eprint!("{kept}");
        return Ok(());
    }
    let series: Vec<&[FlowSeries]> =
        outcomes.iter().map(|repeats| repeats.first().map_or(&[][..], |o| &o.flow_series)).collect();
    crate::print(&format!("{}\n{kept}", report::text(run, &series, terminal())))
}

/// For each variant its outcomes on the first clock, then those on the next.
fn interleave(clocks: Vec<Vec<Vec<Outcome>>>) -> Vec<Vec<Outcome>> {
    let mut clocks: Vec<_> = clocks.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let next: Vec<Vec<Outcome>> = clocks.iter_mut().filter_map(Iterator::next).collect();
        if next.is_empty() {
            return all;
        }
        all.extend(next);
    }
}

/// Runs everything on one clock; for each variant the outcomes of its repeats.
fn play(
    args: &RunArgs,
    clock: Clock,
    experiment: &Experiment,
    notices: &mut Vec<String>,
) -> Result<Vec<Vec<Outcome>>, Problem> {
    let variants = &experiment.variants;
    let jobs = jobs(variants, args.seed, args.repeat);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    // Two runs in real time at once would disturb each other.
    let threads = if clock == Clock::Kernel { 1 } else { args.jobs.map_or_else(cores, usize::from) };
    let progress = Progress::new(jobs.iter().map(|j| variants[j.variant].scenario.duration));
    let mut bar = Bar::new(!args.no_progress);
    let told = Mutex::new(Vec::new());
    let failed = AtomicBool::new(false);
    let work = |i: usize| {
        // What cannot run once will not run a second time.
        if failed.load(Relaxed) {
            return None;
        }
        let mut report = |now| progress.at(i, now);
        let run = One { args, clock, variant: &variants[jobs[i].variant], job: &jobs[i] };
        let done = run.play(&mut report, &told);
        progress.finish(i);
        failed.fetch_or(done.is_err(), Relaxed);
        Some(done)
    };
    let outcomes = in_parallel(jobs.len(), threads, work, || bar.show(&progress));
    bar.clear();
    let told = told.into_inner().unwrap_or_default();
    told.iter().for_each(|text| eprintln!("{text}"));
    notices.extend(told);
    if failed.into_inner() {
        let first = outcomes.into_iter().flatten().find_map(Result::err);
        return Err(first.unwrap_or(Problem::Usage("a run failed".into())));
    }
    let outcomes = outcomes.into_iter().flatten();
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

/// One run.
struct One<'a> {
    args: &'a RunArgs,
    clock: Clock,
    variant: &'a Variant,
    job: &'a Job,
}

impl One<'_> {
    /// Plays it, captured when asked; what the lab has to tell goes to `told`.
    fn play(&self, progress: &mut dyn FnMut(Time), told: &Mutex<Vec<String>>) -> Result<Outcome, Problem> {
        let folder = self.args.pcap.as_ref().map(|dir| dir.join(self.folder()));
        let named = |e| Problem::Io(folder.as_deref().unwrap_or(Path::new("")).display().to_string(), e);
        let scenario = &self.variant.scenario;
        let (name, seed, only_flow) = (&self.variant.name, self.job.seed, self.job.flow);
        let stages = self.args.pcap_stages;
        if self.clock == Clock::Kernel {
            let pcap = folder.as_ref().map(|f| captures(f, scenario, stages)).transpose().map_err(named)?;
            let mut notice = |text: &str| {
                told.lock().unwrap_or_else(PoisonError::into_inner).push(format!("kernel, {name}: {text}"));
            };
            let options = lab::Options {
                seed,
                only_flow,
                progress: Some(&mut *progress),
                notice: Some(&mut notice),
                pcap,
                stop: None,
            };
            return lab::run(name, scenario, options).map_err(|e| Problem::Lab(Box::new(e)));
        }
        let mut tap =
            folder.as_ref().map(|f| PcapTap::create(f, scenario, stages)).transpose().map_err(named)?;
        let seen = tap.as_mut().map(|tap| tap as &mut dyn sim::Tap);
        let options = sim::Options { seed, only_flow, tap: seen, progress: Some(progress) };
        let outcome = sim::run(name, scenario, options);
        tap.map_or(Ok(()), PcapTap::finish).map_err(named)?;
        Ok(outcome)
    }

    /// `<variant>[-clock][-repeatN][-<flow>]`: each run has files of its own.
    fn folder(&self) -> String {
        let mut name = self.variant.name.clone();
        if self.args.on.each().len() > 1 {
            name += &format!("-{}", self.clock.name());
        }
        if self.args.repeat > 1 {
            name += &format!("-repeat{}", self.job.repeat + 1);
        }
        if let Some(flow) = self.job.flow {
            name += &format!("-{}", self.variant.scenario.flows[flow].name);
        }
        file_name(&name)
    }
}
