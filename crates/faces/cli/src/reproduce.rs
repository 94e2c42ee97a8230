//! `longfat reproduce`.

use crate::args::ReproduceArgs;
use crate::escape::tell;
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::load::read_beside;
use crate::problem::CliProblem;
use crate::progress::{RunsBar, terminal};
use crate::regular;
use app::examples;
use app::output::write_file;
use app::reproduce::{PlayError, PlayWish, Reproduction, STUDIES, Selection, Study};
use experiment::Progress;
use result::Clock;
use scenario::{AskedScenario, RefusalCause};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest file of a study, bytes.
const MOST: u64 = 1 << 20;
/// The largest JSON that is read, bytes.
const MOST_JSON: u64 = 64 << 20;

/// Runs studies, prints what is published beside ours, and the verdicts.
pub fn reproduce(args: &ReproduceArgs) -> Result<ExitCode, CliProblem> {
    if !args.from.is_empty() {
        return shown(args, &kept(&args.from)?);
    }
    let asked = asked(args.study.as_deref())?;
    if args.list {
        return list(&asked.studies);
    }
    let source = |name: &str| text_of(asked.folder.as_deref(), name);
    if args.on.each().contains(&Clock::Kernel) && asked.folder.is_some() {
        no_programs(&asked.studies, &source)?;
    }
    let wish =
        PlayWish { clocks: args.on.each().to_vec(), threads: args.jobs, most_repeats: args.most_repeats };
    lab::catch_interrupts();
    let mut bar = RunsBar::new(!args.no_progress);
    let mut progress = |p: &Progress| bar.watch(p);
    let made = app::reproduce::reproduce(&asked.studies, &wish, &source, Some(&mut progress));
    bar.clear();
    let made = match made {
        Ok(made) => made,
        Err(PlayError::Stopped) => {
            let signal = lab::interrupted().unwrap_or(2);
            return Ok(ExitCode::from(128 + signal as u8));
        }
        Err(PlayError::Scenario(e)) => return Err(CliProblem::scenario(e)),
        Err(PlayError::Missing(what)) => return Err(CliProblem::usage(what)),
    };
    shown(args, &made)
}

/// What earlier runs came to.
fn kept(files: &[PathBuf]) -> Result<Reproduction, CliProblem> {
    let mut all = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let text = regular::read_text_most(file, MOST_JSON).map_err(|e| CliProblem::io(name.clone(), e))?;
        all.push(app::reproduce::read_json(&text).map_err(|why| CliProblem::result(name, why))?);
    }
    app::reproduce::joined(all).map_err(|why| CliProblem::usage(format!("--from: {why}")))
}

/// Shows it; the exit code says whether a claim does not hold.
fn shown(args: &ReproduceArgs, made: &Reproduction) -> Result<ExitCode, CliProblem> {
    show(args, made)?;
    let fails = made.counts.iter().any(|c| c.does_not_hold > 0);
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn show(args: &ReproduceArgs, made: &Reproduction) -> Result<(), CliProblem> {
    if let Some(file) = &args.html {
        let file = write_file(file, app::reproduce::page(made).as_bytes())?;
        tell!("{}\n", file.display());
    }
    if let Some(file) = &args.markdown {
        let file = write_file(file, app::reproduce::markdown(made).as_bytes())?;
        tell!("{}\n", file.display());
    }
    if args.json {
        crate::print_json(&app::reproduce::to_json(made))
    } else {
        crate::print(&app::reproduce::text(made, terminal().width))
    }
}

/// What is to be run.
struct AskedStudies {
    studies: Vec<(Study, Selection)>,
    /// Where the study's file lies; `None`: it is built in.
    folder: Option<PathBuf>,
}

/// The studies of the argument `[STUDY[/TABLE]]`.
fn asked(argument: Option<&str>) -> Result<AskedStudies, CliProblem> {
    let Some(argument) = argument else {
        let all = STUDIES.iter().map(|(name, text)| Ok((built_in(name, text)?, Selection::default())));
        return Ok(AskedStudies { studies: all.collect::<Result<_, CliProblem>>()?, folder: None });
    };
    let file = argument.rfind(".toml").map(|at| &argument[..at + ".toml".len()]);
    let (study, table, folder) = match file {
        Some(file) => {
            let path = Path::new(file);
            let text = regular::read_text_most(path, MOST).map_err(|e| CliProblem::io(file.into(), e))?;
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
    Ok(AskedStudies { studies: vec![(study, selection)], folder })
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

/// The text of a scenario: beside the study's file, else built in.
fn text_of(folder: Option<&Path>, name: &str) -> Result<String, String> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let beside = folder.map(|folder| read_beside(folder, &format!("{name}.toml"), false));
    match (beside, examples::find(name)) {
        (Some(Ok(text)), _) => Ok(text),
        (_, Some(example)) => Ok(example.text.into()),
        (Some(Err(why)), None) => Err(why),
        (None, None) => Err("no such scenario is built in".into()),
    }
}

/// A study's file may come from anybody, and so may the scenarios beside it and what it overrides in them: on the kernel none of
/// them starts a program.
fn no_programs(
    studies: &[(Study, Selection)],
    source: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(), CliProblem> {
    for table in studies.iter().flat_map(|(study, _)| &study.tables) {
        for row in &table.rows {
            let Some(name) = table.scenario_of(row) else { continue };
            let Ok(text) = source(name) else { continue };
            let sets = table.overrides_of(row);
            let variants = row.variant.as_slice();
            let asked =
                AskedScenario { file: name, text: &text, sets: &sets, variants, ..AskedScenario::default() };
            let lines = asked.programs().map_err(|e| CliProblem::scenario(Box::new(e)))?;
            if let Some(line) = lines.first() {
                let why = format!(
                    "nothing was run: {}.{} starts a program ({}: `{}`), and a study may not; `longfat run {name} --on \
                     kernel` asks first",
                    table.name, row.name, line.key, line.command
                );
                return Err(CliProblem::usage(why));
            }
        }
    }
    Ok(())
}

/// Names, titles and tables.
fn list(studies: &[(Study, Selection)]) -> Result<ExitCode, CliProblem> {
    let mut told = String::new();
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
        told += &report::wrap(&line, terminal().width.max(60), &format!("{:18}  ", study.name));
    }
    crate::print(&told)?;
    Ok(ExitCode::SUCCESS)
}
