//! `longfat run`: runs a scenario, prints its table and writes its results.

use crate::args::{ClockArg, GroupArg, RunArgs};
use crate::budget::{self, Budget};
use crate::consent;
use crate::draw::{counted, plots};
use crate::escape::eprint_escaped;
use crate::identity::run_id;
use crate::load::{ReadScenario, load};
use crate::operating;
use crate::problem::CliProblem;
use crate::progress::terminal;
use crate::report::Folder;
use crate::router;
use crate::warn;
use crate::work::{Work, Worked, order};
use app::expect;
use app::folder::ResultFolder;
use app::names::default_folder;
use app::output::Results;
use app::provenance::Provenance;
use app::summary::{SummaryOptions, run_summary};
use app::tables::Sampled;
use experiment::VariantOutcomes;
use report::{Bands, PlottedSeries, Shown, Style};
use result::{Clock, FlowSeries, Outcome, Run, VariantResult, to_json};
use scenario::Experiment;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

pub fn run(args: &RunArgs) -> Result<ExitCode, CliProblem> {
    let loaded = load(&args.scenario, &args.set, &args.variant, args.allow_files)?;
    if let Some(flow) = &args.operating_point {
        return operating::operating(args, &loaded.experiment, flow.as_deref());
    }
    let order = order(args, &loaded.experiment);
    if order.clocks.contains(&Clock::Kernel) && !args.allow_tools {
        let names: Vec<String> = loaded.experiment.variants.iter().map(|v| v.name.clone()).collect();
        consent::ask(&loaded.programs(&args.set, &names)?, &loaded.source)?;
    }
    let ReadScenario { text, mut experiment, .. } = loaded;
    let expected = expect::read(&args.expect, &experiment)?;
    let thinned = budget::thin(&mut experiment, &order);
    let budget = Budget::of(&experiment, &order);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let cores = if args.on == ClockArg::Sim { order.threads.map_or_else(cores, usize::from) } else { 1 };
    budget.check(cores)?;
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&experiment.name));
    // No other process writes to the folder while it is claimed, and its files are replaced only once the new
    // ones are complete.
    let held = ResultFolder::claim(&folder)?;
    let single = budget::once(&order).filter(|_| args.repeat.is_none() && args.pcap.is_none());
    let work = Work::new(args, &text, &experiment, order, &folder);
    if work.is_done(&text)? {
        return show_again(args, &folder, &expected);
    }
    held.check_room(budget.disk())?;
    let mut warnings = warn::of_scenario(&experiment);
    warnings.extend(thinned);
    warnings.extend(single);
    warnings.iter().for_each(|(warning, _)| eprint_escaped!("warning: {warning}\n"));
    budget.notice(cores).iter().for_each(|line| eprint_escaped!("longfat: {line}\n"));
    let (started, timer) = (SystemTime::now(), Instant::now());
    let Worked { outcomes, missing, signal, answers } = work.play()?;
    let elapsed = timer.elapsed().as_secs_f64();
    if let Some(missing) = &missing {
        let kind = if signal.is_some() { "ended-early" } else { "run-failed" };
        let warning = warn::warning(kind, "", &[("missing", missing.clone())]);
        eprint_escaped!("warning: {}; --resume continues\n", warning.0);
        warnings.push(warning);
    }
    let printed = warnings.len();
    let mut run =
        run_summary(SummaryOptions::of(&experiment, &work.order), &outcomes, warnings, missing.is_some());
    run.warnings[printed..].iter().for_each(|untrusted| eprint_escaped!("warning: {untrusted}\n"));
    run.expectations = expect::hold(&expected, &run);
    if run.variants.is_empty() {
        return Ok(exit_code(args, &run, signal));
    }
    run.run_id = run_id(&experiment, &work.settings, &run);
    let notices = outcomes.notices.iter().map(|n| format!("kernel, {}: {}", n.variant, n.text));
    let provenance = Provenance::new(
        args.scenario.display().to_string(),
        work.settings.clone(),
        started,
        elapsed,
        notices.collect(),
        run.run_id.clone(),
    );
    let sampled: Vec<Sampled> = outcomes.variants.iter().flat_map(sampled).collect();
    // Like `run.variants`, without variants that have no finished repeat.
    let finished: Vec<&[Outcome]> =
        outcomes.variants.iter().map(|v| &v.outcomes[..]).filter(|o| !o.is_empty()).collect();
    let bands: Vec<Option<Bands>> = finished.iter().zip(&run.variants).map(|(o, v)| bands(v, o)).collect();
    let series: Vec<PlottedSeries> = finished
        .iter()
        .zip(&bands)
        .map(|(outcomes, bands)| PlottedSeries { bands: bands.as_ref(), ..PlottedSeries::of(&outcomes[0]) })
        .collect();
    let shown = [Shown { label: &experiment.name, run: &run, series: &series }];
    let page = report::page(&shown, args.drawn.lang.into());
    let results =
        Results { run: &run, sampled: &sampled, scenario: &text, provenance: &provenance, page: &page };
    held.publish(|new| results.write(new, &folder))?;
    if !run.partial {
        work.clear();
    }
    let drawn = plots(&args.drawn, &shown)?;
    let plots = counted(&args.drawn, &drawn);
    let shown_text = router_view(args, &experiment, &run, &answers);
    let kept = format!("results in {} (open report.html)\n{plots}", folder.display());
    let series: Vec<&[FlowSeries]> = series.iter().map(|s| s.flows).collect();
    show(args, &run, &series, &format!("{shown_text}{kept}"))?;
    Ok(exit_code(args, &run, signal))
}

/// Returns the text of `--show`.
fn router_view(args: &RunArgs, experiment: &Experiment, run: &Run, answers: &[(String, String)]) -> String {
    let mut text = String::new();
    for result in run.variants.iter().filter(|_| args.show) {
        if let Some(variant) = experiment.variants.iter().find(|v| v.name == result.name) {
            text += &router::counters(&variant.scenario, result);
        }
    }
    for (variant, answer) in answers {
        text += &format!("variant {variant}, kernel\n\n{answer}");
    }
    text
}

/// Shows the complete results of a folder again, and checks them against the present `--expect`.
fn show_again(args: &RunArgs, folder: &Path, expected: &[expect::Expected]) -> Result<ExitCode, CliProblem> {
    let Folder { mut run, series, .. } = Folder::read(folder, String::new(), false)?;
    run.expectations = expect::hold(expected, &run);
    run.warnings.iter().for_each(|warning| eprint_escaped!("warning: {warning}\n"));
    let series: Vec<&[FlowSeries]> = series.iter().map(|s| &s.flows[..]).collect();
    let kept = format!("all runs are complete already: {} is unchanged\n", folder.display());
    show(args, &run, &series, &kept)?;
    Ok(exit_code(args, &run, None))
}

/// Returns the exit code, and prints the variants in which nothing arrived.
fn exit_code(args: &RunArgs, run: &Run, signal: Option<i32>) -> ExitCode {
    let idle = |v: &&VariantResult| !v.flows.is_empty() && v.flows.iter().all(|f| f.delivered_bytes == 0);
    let idle: Vec<&str> = run.variants.iter().filter(idle).map(|v| v.name.as_str()).collect();
    if !idle.is_empty() {
        eprint_escaped!("no data arrived in: {}\n", idle.join(", "));
    }
    let untrusted = args.strict && run.variants.iter().any(|v| v.trust.as_ref().is_some_and(|t| !t.reliable));
    // After a component has died, the numbers are not those of this scenario.
    let died = run.variants.iter().any(|v| v.trust.as_ref().is_some_and(|t| !t.dead_components.is_empty()));
    let unmet = untrusted || died || run.expectations.iter().any(|e| !e.met);
    match signal {
        // The convention of shells.
        Some(signal) => ExitCode::from(128 + signal as u8),
        None if run.partial || unmet || !idle.is_empty() => ExitCode::from(1),
        None => ExitCode::SUCCESS,
    }
}

/// Returns the bands over a variant's repeats.
fn bands(variant: &VariantResult, repeats: &[Outcome]) -> Option<Bands> {
    Bands::of(variant, &repeats.iter().map(PlottedSeries::of).collect::<Vec<_>>())
}

/// Returns a variant's repeats, numbered from 1.
fn sampled(variant: &VariantOutcomes) -> impl Iterator<Item = Sampled<'_>> {
    let numbers = variant.repeats.iter().map(|r| r + 1);
    numbers.zip(&variant.outcomes).map(|(repeat, outcome)| Sampled { repeat, outcome })
}

fn show(args: &RunArgs, run: &Run, series: &[&[FlowSeries]], kept: &str) -> Result<(), CliProblem> {
    let expectations = expect::lines(&run.expectations);
    if args.json {
        crate::print_json(&to_json(run))?;
        eprint_escaped!("{expectations}{kept}");
        return Ok(());
    }
    let style = Style { grouping: GroupArg::grouping(args.group), ..terminal() };
    let gap = if expectations.is_empty() { "" } else { "\n" };
    crate::print(&format!("{}\n{expectations}{gap}{kept}", report::text(run, series, style)))
}
