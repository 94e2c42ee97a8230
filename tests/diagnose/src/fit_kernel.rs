//! Scores fits on the kernel: a case of the corpus and its predictions run in the lab, in real time, as root.
//! Kept runs score another fit later.

use crate::fit::{FitRow, figures, fitted, fitted_to, row_without_fit};
use crate::lab::captured_at;
use crate::{Case, play};
use ::fit::MadeFit;
use capture::CaptureReader;
use scenario::Scenario;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The command that prints the sender's connections five times a second, as a user would type it.
const SS_LOG: &str = "while sleep 0.2; do date +%s.%N; ss -tinO; done > $0 2> /dev/null\n";

/// Attempts at a run, in case other work on this machine disturbs it.
const ATTEMPTS: usize = 2;

/// The kernel's runs of a case: the capture, and the results of the true path in the order in which they are
/// requested.
struct KernelRuns {
    capture: PathBuf,
    truths: PathBuf,
    known: VecDeque<[f64; 2]>,
    used: Vec<[f64; 2]>,
}

impl KernelRuns {
    fn of(case: &Case, folder: &Path) -> KernelRuns {
        let file = |end: &str| folder.join(format!("{}.{end}", case.number));
        let text = fs::read_to_string(file("truth")).unwrap_or_default();
        let pair = |line: &str| {
            let (goodput, p95) = line.split_once(' ')?;
            Some([goodput.parse().ok()?, p95.parse().ok()?])
        };
        let known = text.lines().filter_map(pair).collect();
        KernelRuns { capture: file("pcap"), truths: file("truth"), known, used: Vec::new() }
    }

    /// Returns the results of the true path, Mbit/s and ms.
    fn truth(&mut self, case: &Case, scenario: &Scenario) -> Result<[f64; 2], String> {
        let truth = match self.known.pop_front() {
            Some(known) => known,
            None => {
                let options = || lab::LabOptions { seed: case.seed + 1, ..Default::default() };
                let run = lab::trusted(ATTEMPTS, || lab::run("kernel", scenario, options()));
                figures(&run.map_err(|e| e.to_string())?.variant)
            }
        };
        self.used.push(truth);
        Ok(truth)
    }

    fn keep(&self) -> Result<(), String> {
        let text: String = self.used.iter().map(|[goodput, p95]| format!("{goodput} {p95}\n")).collect();
        fs::write(&self.truths, text).map_err(|e| format!("{}: {e}", self.truths.display()))
    }
}

/// Plays a case, fits its capture and predicts. Runs that are kept in the folder are not repeated.
///
/// # Errors
/// Fails if the lab cannot play it.
pub fn judge_on_kernel(case: &Case, folder: &Path) -> Result<FitRow, String> {
    let scenario = play::variant(case)?.scenario;
    let mut runs = KernelRuns::of(case, folder);
    if !runs.capture.exists() {
        let host = &scenario.hosts[case.vantage.host()].name;
        // An unfinished run is not kept.
        let unfinished = folder.join("begun.pcap");
        captured_at(host, &scenario, case.seed, &unfinished, 1)?;
        fs::rename(&unfinished, &runs.capture).map_err(|e| format!("{}: {e}", unfinished.display()))?;
    }
    let reader = CaptureReader::open(&runs.capture).map_err(|e| e.to_string())?;
    let started = Instant::now();
    let model = fitted(reader);
    let row =
        predicted_row(case, &scenario, "kernel", started, model, |scenario| runs.truth(case, scenario))?;
    runs.keep().map(|()| row)
}

/// Does as [`judge_on_kernel`] with the output of `ss` on the sender's host instead of a capture.
///
/// # Errors
/// Fails if the lab cannot play it.
pub fn judge_ss_on_kernel(case: &Case, folder: &Path) -> Result<FitRow, String> {
    use std::os::unix::fs::PermissionsExt;
    let scenario = play::variant(case)?.scenario;
    // The command runs as the user `nobody`.
    let open = fs::set_permissions(folder, fs::Permissions::from_mode(0o777));
    let (script, log) = (folder.join("log.sh"), folder.join("ss.log"));
    open.and_then(|()| fs::write(&script, SS_LOG)).map_err(|e| e.to_string())?;
    let tool = format!(
        "[flows.ss]\nfrom = \"a\"\nto = \"b\"\ncc = \"{}\"\ntool = \"sh -c '. {}' {}\"\n",
        scenario.flows[0].cc.name(),
        script.display(),
        log.display()
    );
    let watched = Case { text: format!("{}{tool}", case.text), ..case.clone() };
    let options = lab::LabOptions { seed: case.seed, ..Default::default() };
    lab::run("kernel", &play::variant(&watched)?.scenario, options).map_err(|e| e.to_string())?;
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let started = Instant::now();
    let model = fitted_to(::fit::of_ss_log(&text));
    let mut runs = KernelRuns::of(case, folder);
    predicted_row(case, &scenario, "kernel-ss", started, model, |scenario| runs.truth(case, scenario))
}

/// Returns the row of a case, with the fit's predictions if there is a fit.
fn predicted_row(
    case: &Case,
    scenario: &Scenario,
    clock: &'static str,
    started: Instant,
    model: Result<MadeFit, String>,
    mut truth: impl FnMut(&Scenario) -> Result<[f64; 2], String>,
) -> Result<FitRow, String> {
    let row = row_without_fit(case, scenario, started.elapsed().as_secs_f64());
    let mut row = FitRow { clock, ..row };
    match model {
        Ok(model) => row.predict(case, scenario, &model, |scenario, _| truth(scenario))?,
        Err(why) => row.why = why,
    }
    Ok(row)
}
