//! `longfat report`: the page and the plots of results that are already there.

use crate::args::ReportArgs;
use crate::draw::{counted, plots};
use crate::escape::tell;
use crate::identity::ids_of_page;
use crate::problem::CliProblem;
use crate::regular;
use app::folder::NAMES;
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
/// What a sweep's folder has.
const SWEEP: &str = "sweep.json";

/// A result folder, read.
pub struct Folder {
    label: String,
    /// Its summary.
    pub run: Run,
    /// Its series, in the summary's order; empty where there are none.
    pub series: Vec<Kept>,
    /// What the repeats of each variant have in common, in that order; empty where nobody asked for it.
    bands: Vec<Option<Bands>>,
}

/// Writes the page, and plots when asked.
pub fn report(args: &ReportArgs) -> Result<ExitCode, CliProblem> {
    let paths: Vec<PathBuf> = args.results.iter().map(|r| folder_of(r)).collect();
    let is_sweep = |path: &PathBuf| path.join(SWEEP).is_file() && !path.join("result.json").is_file();
    if let Some(swept) = paths.iter().find(|path| is_sweep(path)) {
        return of_sweep(args, swept);
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
    let beside = match &paths[..] {
        [path] => path.join(PAGE),
        _ => PAGE.into(),
    };
    let file = args.output.clone().unwrap_or(beside);
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

/// The page of a sweep's dataset.
fn of_sweep(args: &ReportArgs, folder: &Path) -> Result<ExitCode, CliProblem> {
    if args.results.len() > 1 {
        let text = format!("{} is a sweep: its page has no other beside it", folder.display());
        return Err(CliProblem::usage(text));
    }
    let told = PanicTold::of(folder);
    let read = ShownSweep::read(folder).map_err(CliProblem::usage)?;
    drop(told);
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

/// Refuses to write the page over a file that it is made of.
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
            let text =
                format!("{} is a file of the result itself: the page would replace it", file.display());
            Err(CliProblem::usage(text))
        }
        false => Ok(()),
    }
}

/// A result is named by its folder or by the `result.json` in it.
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
    /// Reads one; `label` is what to call it, `with_bands` asks for what its repeats have in common.
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
        // A summary alone is a result too: the page then has its table.
        let (flows, elements) = (file(FLOWS.name)?, file(ELEMENTS.name)?);
        let [resent, responses] = [file("retransmissions.parquet")?, file("responses.parquet")?];
        let broken = |e: String| CliProblem::result(path.display().to_string(), e);
        let _told = PanicTold::of(path);
        let all =
            [(FLOWS, &flows), (ELEMENTS, &elements), (RETRANSMISSIONS, &resent), (RESPONSES, &responses)];
        for (of, bytes) in all.into_iter().chain([(STATES, &file(STATES.name)?)]) {
            bytes.iter().try_for_each(|b| check_run_id(of, b, &run)).map_err(|e| broken(e.to_string()))?;
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

    /// What plots are made of.
    fn plotted(&self) -> Vec<PlottedSeries<'_>> {
        let bands = |i: usize| self.bands.get(i).and_then(Option::as_ref);
        let all = self.series.iter().enumerate();
        all.map(|(i, series)| PlottedSeries { bands: bands(i), ..plotted(series) }).collect()
    }
}

/// What the repeats of each variant have in common: variant by variant, so that not all series are in memory at once.
fn read_bands(flows: &[u8], elements: &[u8], run: &Run) -> Result<Vec<Option<Bands>>, SeriesError> {
    if run.variants.iter().all(|v| v.repeats.is_none()) {
        return Ok(Vec::new());
    }
    let files = RepeatFiles::open(flows, elements, run)?;
    let of = |(i, variant): (usize, &VariantResult)| {
        let repeats = match &variant.repeats {
            Some(repeats) if !repeats.identical => files.read(i)?,
            _ => Vec::new(),
        };
        Ok(Bands::of(variant, &repeats.iter().map(plotted).collect::<Vec<_>>()))
    };
    run.variants.iter().enumerate().map(of).collect()
}

/// While it lives, a panic is told as damage of a folder's files, and ends the program with exit code 2: what reads
/// Parquet panics at some of it (`tables`), and a release build has no other way back.
struct PanicTold;

impl PanicTold {
    fn of(folder: &Path) -> PanicTold {
        let folder = folder.display().to_string();
        std::panic::set_hook(Box::new(move |_| {
            let why = "a Parquet file in it is damaged: run again, or remove it".into();
            tell!("{}", CliProblem::result(folder.clone(), why));
            std::process::exit(2)
        }));
        PanicTold
    }
}

impl Drop for PanicTold {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
    }
}

/// Whether a file that is there says that it is of this run; `ids` tells of which runs it is.
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
            "{name} is not of the run that result.json is of ({:?}): the folder holds files of two runs, or {name} \
             was changed; remove it, or run again",
            run.run_id
        )),
    }
}

/// What to call each folder: as many of its last parts as tell it from the others.
fn labels(paths: &[PathBuf]) -> Result<Vec<String>, CliProblem> {
    let whole = |f: &PathBuf| fs::canonicalize(f).map_err(|e| CliProblem::io(f.display().to_string(), e));
    let whole: Vec<PathBuf> = paths.iter().map(whole).collect::<Result<_, _>>()?;
    if let Some(i) = (1..whole.len()).find(|&i| whole[..i].contains(&whole[i])) {
        return Err(CliProblem::usage(format!("{} is named twice", paths[i].display())));
    }
    let last = |path: &Path, n: usize| -> String {
        let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        parts[parts.len().saturating_sub(n)..].join("/")
    };
    let deepest = whole.iter().map(|p| p.components().count()).max().unwrap_or(1);
    let named = |n| -> Vec<String> { whole.iter().map(|p| last(p, n)).collect() };
    let apart = |names: &Vec<String>| (1..names.len()).all(|i| !names[..i].contains(&names[i]));
    Ok((1..deepest).map(named).find(apart).unwrap_or_else(|| named(deepest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_on_damage_ends_with_2() {
        if std::env::var_os("REPORT_PANICS").is_some() {
            let _told = PanicTold::of(Path::new("a\u{1b}b"));
            panic!("on purpose");
        }
        let test = ["report::tests::what_panics_on_damage_ends_with_2", "--exact", "--nocapture"];
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let out = again.args(test).env("REPORT_PANICS", "1").output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: a\\u{1b}b: a Parquet file in it is damaged"), "{said}");
        // It holds no longer than it lives.
        drop(PanicTold::of(Path::new("a")));
        assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    }
}
