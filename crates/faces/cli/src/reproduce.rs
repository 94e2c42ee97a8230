//! `longfat reproduce`: repeats published studies.

use crate::args::ReproduceArgs;
use crate::escape::eprint_escaped;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load::read_scenario_file;
use crate::problem::CliProblem;
use crate::progress::{RunsBar, terminal};
use crate::regular;
use app::examples;
use app::output::write_file;
use app::reproduce::{ReproduceError, ReproduceOptions, Reproduction, STUDIES, Selection, Study};
use experiment::Progress;
use result::Clock;
use scenario::{RefusalCause, ScenarioRequest};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest study file that is read, bytes.
const MAX_STUDY_BYTES: u64 = 1 << 20;
/// The largest file of --from that is read, bytes.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// Runs studies, and prints the published numbers next to ours, and the verdicts.
pub fn reproduce(args: &ReproduceArgs) -> Result<ExitCode, CliProblem> {
    if !args.from.is_empty() {
        return finish(args, &saved(&args.from)?);
    }
    let selected = select(args.study.as_deref())?;
    if args.list {
        return list(&selected.studies);
    }
    let source = |name: &str| text_of(selected.folder.as_deref(), name);
    if args.on.each().contains(&Clock::Kernel) && selected.folder.is_some() {
        refuse_programs(&selected.studies, &source)?;
    }
    let options = ReproduceOptions {
        clocks: args.on.each().to_vec(),
        threads: args.jobs,
        max_repeats: args.most_repeats,
    };
    lab::catch_interrupts();
    let mut bar = RunsBar::new(!args.no_progress);
    let mut progress = |p: &Progress| bar.watch(p);
    let made = app::reproduce::reproduce(&selected.studies, &options, &source, Some(&mut progress));
    bar.clear();
    let made = match made {
        Ok(made) => made,
        Err(ReproduceError::Stopped) => {
            let signal = lab::interrupted().unwrap_or(2);
            return Ok(ExitCode::from(128 + signal as u8));
        }
        Err(ReproduceError::Scenario(e)) => return Err(CliProblem::scenario(e)),
        Err(ReproduceError::Missing(what)) => return Err(CliProblem::usage(what)),
    };
    finish(args, &made)
}

/// Reads the saved results of earlier runs.
fn saved(files: &[PathBuf]) -> Result<Reproduction, CliProblem> {
    let mut all = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let text =
            regular::read_text_limited(file, MAX_JSON_BYTES).map_err(|e| CliProblem::io(name.clone(), e))?;
        all.push(app::reproduce::read_json(&text).map_err(|why| CliProblem::result(name, why))?);
    }
    app::reproduce::joined(all).map_err(|why| CliProblem::usage(format!("--from: {why}")))
}

/// Shows the results; the exit code is 1 if a claim does not hold.
fn finish(args: &ReproduceArgs, made: &Reproduction) -> Result<ExitCode, CliProblem> {
    show(args, made)?;
    let fails = made.counts.iter().any(|c| c.does_not_hold > 0);
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn show(args: &ReproduceArgs, made: &Reproduction) -> Result<(), CliProblem> {
    if let Some(file) = &args.html {
        let file = write_file(file, app::reproduce::page(made).as_bytes())?;
        eprint_escaped!("{}\n", file.display());
    }
    if let Some(file) = &args.markdown {
        let file = write_file(file, app::reproduce::markdown(made).as_bytes())?;
        eprint_escaped!("{}\n", file.display());
    }
    if args.json {
        crate::print_json(&app::reproduce::to_json(made))
    } else {
        crate::print(&app::reproduce::text(made, terminal().width))
    }
}

struct SelectedStudies {
    studies: Vec<(Study, Selection)>,
    /// Folder of the study's file; `None` for a built-in study.
    folder: Option<PathBuf>,
}

/// Returns the studies that the argument `[STUDY[/TABLE]]` selects.
fn select(argument: Option<&str>) -> Result<SelectedStudies, CliProblem> {
    let Some(argument) = argument else {
        let all = STUDIES.iter().map(|(name, text)| Ok((built_in(name, text)?, Selection::default())));
        return Ok(SelectedStudies { studies: all.collect::<Result<_, CliProblem>>()?, folder: None });
    };
    let file = argument.rfind(".toml").map(|at| &argument[..at + ".toml".len()]);
    let (study, table, folder) = match file {
        Some(file) => {
            let path = Path::new(file);
            let text = regular::read_text_limited(path, MAX_STUDY_BYTES)
                .map_err(|e| CliProblem::io(file.into(), e))?;
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            (read(&name, file, &text)?, argument[file.len()..].strip_prefix('/'), Some(folder))
        }
        None => {
            let (name, table) = argument.split_once('/').map_or((argument, None), |(n, t)| (n, Some(t)));
            let Some((name, text)) = STUDIES.iter().find(|(known, _)| *known == name) else {
                return Err(unknown("study", name, STUDIES.map(|(known, _)| known.to_string()).to_vec()));
            };
            (built_in(name, text)?, table, None)
        }
    };
    if let Some(table) = table.filter(|t| study.table(t).is_none()) {
        let known = study.tables.iter().map(|t| t.name.clone()).collect();
        return Err(unknown("table", table, known));
    }
    let selection = Selection { table: table.map(str::to_string) };
    Ok(SelectedStudies { studies: vec![(study, selection)], folder })
}

fn unknown(what: &'static str, name: &str, known: Vec<String>) -> CliProblem {
    let cause = RefusalCause::UnknownName { what, name: name.into(), known };
    let help = cause.help().map(|help| format!("; {help}")).unwrap_or_default();
    CliProblem::usage(format!("{cause}{help}"))
}

fn built_in(name: &str, text: &str) -> Result<Study, CliProblem> {
    read(name, &format!("{name}.toml"), text)
}

fn read(name: &str, file: &str, text: &str) -> Result<Study, CliProblem> {
    Study::parse(name, file, text).map_err(|e| CliProblem::scenario(Box::new(e)))
}

/// Returns the text of a scenario: a file next to the study's file, else a built-in example.
fn text_of(folder: Option<&Path>, name: &str) -> Result<String, String> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let sibling = folder.map(|folder| read_scenario_file(folder, &format!("{name}.toml"), false));
    match (sibling, examples::find(name)) {
        (Some(Ok(text)), _) => Ok(text),
        (_, Some(example)) => Ok(example.text.into()),
        (Some(Err(why)), None) => Err(why),
        (None, None) => Err("no such built-in scenario".into()),
    }
}

/// Refuses a study whose scenarios or overrides start a program on the kernel: a study file may come from an
/// untrusted source, and so may the scenarios next to it.
fn refuse_programs(
    studies: &[(Study, Selection)],
    source: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(), CliProblem> {
    for table in studies.iter().flat_map(|(study, _)| &study.tables) {
        for row in &table.rows {
            let Some(name) = table.scenario_of(row) else { continue };
            let Ok(text) = source(name) else { continue };
            let sets = table.overrides_of(row);
            let variants = row.variant.as_slice();
            let requested = ScenarioRequest {
                file: name,
                text: &text,
                sets: &sets,
                variants,
                ..ScenarioRequest::default()
            };
            let lines = requested.programs().map_err(|e| CliProblem::scenario(Box::new(e)))?;
            if let Some(line) = lines.first() {
                let why = format!(
                    "nothing was run: {}.{} starts a program ({}: `{}`), which a study must not; `longfat run {name} --on \
                     kernel` asks before it does",
                    table.name, row.name, line.key, line.command
                );
                return Err(CliProblem::usage(why));
            }
        }
    }
    Ok(())
}

/// Lists studies with name, title and tables.
fn list(studies: &[(Study, Selection)]) -> Result<ExitCode, CliProblem> {
    let mut text = String::new();
    for (study, _) in studies {
        let runs: usize = study.tables.iter().map(|t| t.rows.len()).sum();
        let tables: Vec<&str> = study.tables.iter().map(|t| t.name.as_str()).collect();
        let line = format!(
            "{} ({}). {} claims, {runs} rows in {}",
            study.title,
            study.source,
            study.claims.len(),
            tables.join(", ")
        );
        text += &report::wrap(&line, terminal().width.max(60), &format!("{:18}  ", study.name));
    }
    crate::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
