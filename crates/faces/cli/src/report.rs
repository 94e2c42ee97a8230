//! `longfat report`: writes the page and the plots of saved results.

use crate::args::ReportArgs;
use crate::draw::{counted, plots};
use crate::escape::eprint_escaped;
use crate::identity::ids_of_page;
use crate::problem::CliProblem;
use crate::progress::terminal;
use crate::regular;
use app::folder::NAMES;
use app::measure::{measurement_file, read_measurements};
use app::output::write_file;
use app::sweep::ShownSweep;
use app::tables::{
    ELEMENTS, FLOWS, RESPONSES, RETRANSMISSIONS, RepeatFiles, STATES, SeriesError, VariantSeries as Kept,
    check_run_id, read_series,
};
use report::{Bands, PlottedSeries, Shown, page};
use result::{Run, VariantResult, read_json};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The page in a result's folder.
const PAGE: &str = "report.html";
/// The file that marks a sweep's folder.
const SWEEP: &str = "sweep.json";

/// The content of a result folder.
pub struct Folder {
    label: String,
    pub run: Run,
    /// Time series in the order of the run's variants; empty if the folder has none.
    pub series: Vec<Kept>,
    /// Bands over the repeats of each variant, in the same order; empty if not requested.
    bands: Vec<Option<Bands>>,
}

/// Writes the page, and the plots if requested.
pub fn report(args: &ReportArgs) -> Result<ExitCode, CliProblem> {
    let measured: Option<Vec<PathBuf>> = args.results.iter().map(|r| measurement_file(r)).collect();
    if let Some(files) = measured {
        return measurements(args, &files);
    }
    let paths: Vec<PathBuf> = args.results.iter().map(|r| folder_of(r)).collect();
    let is_sweep = |path: &PathBuf| path.join(SWEEP).is_file() && !path.join("result.json").is_file();
    if let Some(swept) = paths.iter().find(|path| is_sweep(path)) {
        return sweep_page(args, swept);
    }
    let labels = labels(&paths)?;
    let read = paths.iter().zip(labels).map(|(path, label)| Folder::read(path, label, true));
    let folders: Vec<Folder> = read.collect::<Result<_, _>>()?;
    let series: Vec<Vec<PlottedSeries>> = folders.iter().map(Folder::plotted).collect();
    let results: Vec<Shown> = folders
        .iter()
        .zip(&series)
        .map(|(f, series)| Shown { label: &f.label, run: &f.run, series })
        .collect();
    let default = match &paths[..] {
        [path] => path.join(PAGE),
        _ => PAGE.into(),
    };
    let file = args.output.clone().unwrap_or(default);
    not_an_input(&file, &paths)?;
    write_file(&file, page(&results, args.drawn.lang.into()).as_bytes())?;
    let drawn = plots(&args.drawn, &results)?;
    if args.json {
        let all: Vec<String> = [&file].into_iter().chain(&drawn).map(|f| f.display().to_string()).collect();
        crate::print_json(&format!("{}\n", serde_json::json!({ "files": all })))?;
    } else {
        crate::print(&format!("{}\n{}", file.display(), counted(&args.drawn, &drawn)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares two measurements, or writes the page of one.
fn measurements(args: &ReportArgs, files: &[PathBuf]) -> Result<ExitCode, CliProblem> {
    let read: Vec<_> = files.iter().map(|file| read_measurements(file)).collect::<Result<_, _>>()?;
    let write = |file: &Path, html: String| -> Result<(), CliProblem> {
        if files.iter().any(|input| input == file) {
            let text = format!("{} is the measurement: the page would overwrite it", file.display());
            return Err(CliProblem::usage(text));
        }
        Ok(write_file(file, html.as_bytes()).map(drop)?)
    };
    match &read[..] {
        [one] => {
            let default = files[0].with_file_name(PAGE);
            let file = args.output.clone().unwrap_or(default);
            write(&file, app::measure::page(one))?;
            match args.json {
                true => crate::print_json(&format!(
                    "{}\n",
                    serde_json::json!({ "files": [file.display().to_string()] })
                ))?,
                false => crate::print(&format!("{}\n", file.display()))?,
            }
        }
        [before, after] => {
            let comparison = app::measure::compare(before, after);
            if let Some(file) = &args.output {
                write(file, comparison.page())?;
            }
            match args.json {
                true => crate::print_json(&comparison.json())?,
                false => crate::print(&comparison.text(terminal().width))?,
            }
        }
        more => {
            let text = format!("{} measurements: one is shown, or two are compared", more.len());
            return Err(CliProblem::usage(text));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a sweep's dataset.
fn sweep_page(args: &ReportArgs, folder: &Path) -> Result<ExitCode, CliProblem> {
    if args.results.len() > 1 {
        let text = format!("{} is a sweep: it cannot be shown with other results", folder.display());
        return Err(CliProblem::usage(text));
    }
    let guard = DamageReport::of(folder);
    let read = ShownSweep::read(folder).map_err(CliProblem::usage)?;
    drop(guard);
    let file = args.output.clone().unwrap_or_else(|| folder.join(PAGE));
    not_an_input(&file, &[folder.into()])?;
    write_file(&file, app::sweep::page(&read).as_bytes())?;
    if args.json {
        let files = [file.display().to_string()];
        crate::print_json(&format!("{}\n", serde_json::json!({ "files": files })))?;
    } else {
        crate::print(&format!("{}\n", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to overwrite a file that the page is made of.
fn not_an_input(file: &Path, folders: &[PathBuf]) -> Result<(), CliProblem> {
    let whole = |path: &Path| {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(parent).ok()?.join(path.file_name()?))
    };
    let Some(target) = whole(file) else { return Ok(()) };
    let inputs = NAMES.into_iter().chain([SWEEP, "cells.parquet"]).filter(|name| *name != PAGE);
    let mut all = folders.iter().flat_map(|folder| inputs.clone().map(|name| folder.join(name)));
    match all.any(|input| whole(&input).is_some_and(|input| input == target)) {
        true => {
            let text = format!("{} is part of the result: the page would overwrite it", file.display());
            Err(CliProblem::usage(text))
        }
        false => Ok(()),
    }
}

/// Returns the folder of a result, which is given as the folder or as the `result.json` in it.
fn folder_of(path: &Path) -> PathBuf {
    let parent = || path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_some_and(|n| n == "result.json" || n == SWEEP) {
        parent().into()
    } else {
        path.into()
    }
}

fn plotted(series: &Kept) -> PlottedSeries<'_> {
    PlottedSeries { flows: &series.flows, elements: &series.elements, bands: None }
}

impl Folder {
    /// Reads a folder; `label` names it in the page, `with_bands` also reads the bands over its repeats.
    pub fn read(path: &Path, label: String, with_bands: bool) -> Result<Folder, CliProblem> {
        let result = path.join("result.json");
        let text =
            regular::read_text(&result).map_err(|e| CliProblem::io(result.display().to_string(), e))?;
        let run =
            read_json(&text).map_err(|e| CliProblem::result(result.display().to_string(), e.to_string()))?;
        let file = |name: &str| {
            let path = path.join(name);
            match regular::read(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                Err(e) => Err(CliProblem::io(path.display().to_string(), e)),
            }
        };
        // A folder with result.json alone gives a page with its table.
        let (flows, elements) = (file(FLOWS.name)?, file(ELEMENTS.name)?);
        let [resent, responses] = [file("retransmissions.parquet")?, file("responses.parquet")?];
        let broken = |e: String| CliProblem::result(path.display().to_string(), e);
        let _guard = DamageReport::of(path);
        let all =
            [(FLOWS, &flows), (ELEMENTS, &elements), (RETRANSMISSIONS, &resent), (RESPONSES, &responses)];
        for (table, bytes) in all.into_iter().chain([(STATES, &file(STATES.name)?)]) {
            bytes.iter().try_for_each(|b| check_run_id(table, b, &run)).map_err(|e| broken(e.to_string()))?;
        }
        same_run("provenance.json", file("provenance.json")?.as_deref(), &run, |text| {
            let run_id = |v: serde_json::Value| Some(vec![v.get("run_id")?.as_str()?.to_string()]);
            serde_json::from_str(text).ok().and_then(run_id).unwrap_or_default()
        })
        .map_err(broken)?;
        same_run(PAGE, file(PAGE)?.as_deref(), &run, |text| {
            ids_of_page(text).into_iter().map(String::from).collect()
        })
        .map_err(broken)?;
        let (mut series, mut bands) = (Vec::new(), Vec::new());
        if let (Some(flows), Some(elements)) = (flows, elements) {
            let broken = |e: SeriesError| broken(e.to_string());
            series = read_series(&flows, &elements, resent.as_deref(), responses.as_deref(), &run)
                .map_err(broken)?;
            if with_bands {
                bands = read_bands(&flows, &elements, &run).map_err(broken)?;
            }
        }
        Ok(Folder { label, run, series, bands })
    }

    /// Returns the series of each variant for the plots.
    fn plotted(&self) -> Vec<PlottedSeries<'_>> {
        let bands = |i: usize| self.bands.get(i).and_then(Option::as_ref);
        let all = self.series.iter().enumerate();
        all.map(|(i, series)| PlottedSeries { bands: bands(i), ..plotted(series) }).collect()
    }
}

/// Computes the bands over the repeats of each variant. One variant is read at a time, to limit memory.
fn read_bands(flows: &[u8], elements: &[u8], run: &Run) -> Result<Vec<Option<Bands>>, SeriesError> {
    if run.variants.iter().all(|v| v.repeats.is_none()) {
        return Ok(Vec::new());
    }
    let files = RepeatFiles::open(flows, elements, run)?;
    let bands_of = |(i, variant): (usize, &VariantResult)| {
        let repeats = match &variant.repeats {
            Some(repeats) if !repeats.identical => files.read(i)?,
            _ => Vec::new(),
        };
        Ok(Bands::of(variant, &repeats.iter().map(plotted).collect::<Vec<_>>()))
    };
    run.variants.iter().enumerate().map(bands_of).collect()
}

/// While this guard lives, a panic is reported as damage of a folder's files and ends the program with exit
/// code 2. The Parquet reader panics on some damaged files (`tables`), and a release build aborts on a panic.
struct DamageReport;

impl DamageReport {
    fn of(folder: &Path) -> DamageReport {
        let folder = folder.display().to_string();
        std::panic::set_hook(Box::new(move |_| {
            let why = "a Parquet file in this folder is damaged: run again, or remove the folder".into();
            eprint_escaped!("{}", CliProblem::result(folder.clone(), why));
            std::process::exit(2)
        }));
        DamageReport
    }
}

impl Drop for DamageReport {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
    }
}

/// Checks that a file, if it exists, belongs to this run; `ids` reads the run ids in the file.
fn same_run(
    name: &str,
    bytes: Option<&[u8]>,
    run: &Run,
    ids: impl Fn(&str) -> Vec<String>,
) -> Result<(), String> {
    let Some(bytes) = bytes else { return Ok(()) };
    let ids = ids(&String::from_utf8_lossy(bytes));
    match ids.contains(&run.run_id) || (run.run_id.is_empty() && ids.is_empty()) {
        true => Ok(()),
        false => Err(format!(
            "{name} belongs to another run than result.json ({:?}): the folder has files of two runs, or {name} \
             was changed; remove it, or run again",
            run.run_id
        )),
    }
}

/// Labels each folder with the shortest end of its path that is unique.
fn labels(paths: &[PathBuf]) -> Result<Vec<String>, CliProblem> {
    let whole = |f: &PathBuf| fs::canonicalize(f).map_err(|e| CliProblem::io(f.display().to_string(), e));
    let whole: Vec<PathBuf> = paths.iter().map(whole).collect::<Result<_, _>>()?;
    if let Some(i) = (1..whole.len()).find(|&i| whole[..i].contains(&whole[i])) {
        return Err(CliProblem::usage(format!("{} is given twice", paths[i].display())));
    }
    let last = |path: &Path, n: usize| -> String {
        let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        parts[parts.len().saturating_sub(n)..].join("/")
    };
    let deepest = whole.iter().map(|p| p.components().count()).max().unwrap_or(1);
    let named = |n| -> Vec<String> { whole.iter().map(|p| last(p, n)).collect() };
    let are_unique = |names: &Vec<String>| (1..names.len()).all(|i| !names[..i].contains(&names[i]));
    Ok((1..deepest).map(named).find(are_unique).unwrap_or_else(|| named(deepest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_a_damaged_file_ends_with_exit_code_2() {
        if std::env::var_os("REPORT_PANICS").is_some() {
            let _guard = DamageReport::of(Path::new("a\u{1b}b"));
            panic!("on purpose");
        }
        let test =
            ["report::tests::a_panic_on_a_damaged_file_ends_with_exit_code_2", "--exact", "--nocapture"];
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let out = again.args(test).env("REPORT_PANICS", "1").output().unwrap();
        let printed = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{printed}");
        assert!(
            printed.starts_with("error: a\\u{1b}b: a Parquet file in this folder is damaged"),
            "{printed}"
        );
        // After the guard is dropped, a panic is an ordinary panic.
        drop(DamageReport::of(Path::new("a")));
        assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    }
}
