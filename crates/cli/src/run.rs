//! `longfat run`.

use crate::args::RunArgs;
use crate::draw::{counted, plots};
use crate::load::load;
use crate::output::{Results, default_folder};
use crate::problem::CliProblem;
use crate::progress::{RunsBar, terminal};
use crate::provenance::Provenance;
use crate::tap::Folders;
use experiment::{CaptureSink, Hooks, Order, Outcomes, Progress, VariantOutcomes};
use report::{PlottedSeries, Shown};
use result::parquet::Sampled;
use result::{FlowSeries, Run, to_json};
use scenario::Experiment;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

/// Runs the scenario, prints and keeps what it yields.
pub fn run(args: &RunArgs) -> Result<ExitCode, CliProblem> {
    let (text, mut experiment) = load(&args.scenario, &args.set)?;
    experiment::choose(&mut experiment, &args.variant)
        .map_err(|e| CliProblem::Usage(format!("--variant: {e}")))?;
    let (started, begun) = (SystemTime::now(), Instant::now());
    let outcomes = play(args, &experiment)?;
    let elapsed = begun.elapsed().as_secs_f64();
    let mut run = outcomes.run();
    run.headline = report::headline(&run);
    let notices = outcomes.notices.iter().map(|n| format!("kernel, {}: {}", n.variant, n.text));
    let provenance = Provenance::new(
        args.scenario.display().to_string(),
        args.on.each(),
        outcomes.seed,
        args.repeat,
        started,
        elapsed,
        notices.collect(),
    );
    let sampled: Vec<Sampled> = outcomes.variants.iter().flat_map(sampled).collect();
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&experiment.name));
    let firsts = outcomes.variants.iter().map(|v| v.outcomes.first());
    let series: Vec<PlottedSeries> = firsts.map(|o| o.map(PlottedSeries::of).unwrap_or_default()).collect();
    let shown = [Shown { label: &experiment.name, run: &run, series: &series }];
    let page = report::page(&shown, args.drawn.lang.into());
    Results { run: &run, sampled: &sampled, scenario: &text, provenance: &provenance, page: &page }
        .write(&folder)?;
    let drawn = plots(&args.drawn, &shown)?;
    let plots = counted(&args.drawn, &drawn);
    let kept = format!("results in {} (open report.html)\n{plots}", folder.display());

    let series: Vec<&[FlowSeries]> = series.iter().map(|s| s.flows).collect();
    show(args, &run, &series, &kept)?;
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

/// A variant's repeats, counted from 1.
fn sampled(variant: &VariantOutcomes) -> impl Iterator<Item = Sampled<'_>> {
    let numbers = variant.repeats.iter().map(|r| r + 1);
    numbers.zip(&variant.outcomes).map(|(repeat, outcome)| Sampled { repeat, outcome })
}

/// Runs all that the arguments ask for, with a bar; the first failure of any run is the whole's.
fn play(args: &RunArgs, experiment: &Experiment) -> Result<Outcomes, CliProblem> {
    let order = Order {
        clocks: args.on.each().to_vec(),
        repeats: args.repeat,
        seed: args.seed,
        threads: args.jobs,
        keep_going: false,
    };
    let folders = args.pcap.as_ref().map(|folder| Folders { folder, stages: args.pcap_stages });
    let mut bar = RunsBar::new(!args.no_progress);
    let mut progress = |p: &Progress| {
        bar.show(p);
        ControlFlow::Continue(())
    };
    let captures = folders.as_ref().map(|f| f as &dyn CaptureSink);
    let mut outcomes = experiment::run(experiment, &order, Hooks { progress: Some(&mut progress), captures });
    bar.clear();
    outcomes.notices.iter().for_each(|n| eprintln!("kernel, {}: {}", n.variant, n.text));
    if outcomes.failed.is_empty() {
        return Ok(outcomes);
    }
    let first = outcomes.failed.remove(0);
    let folder = folders.map(|f| f.of(&order.label(experiment, &first.job)).display().to_string());
    Err(CliProblem::of_run(first.failure, folder.unwrap_or_default()))
}

fn show(args: &RunArgs, run: &Run, series: &[&[FlowSeries]], kept: &str) -> Result<(), CliProblem> {
    if args.json {
        crate::print(&to_json(run))?;
        eprint!("{kept}");
        return Ok(());
    }
    crate::print(&format!("{}\n{kept}", report::text(run, series, terminal())))
}
