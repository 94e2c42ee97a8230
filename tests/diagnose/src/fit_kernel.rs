//! Fits of what the kernel did: a case of the corpus runs in the lab, in real time, as root, and so does what is predicted.

use crate::fit::{FitRow, begun, figures, fitted, fitted_to};
use crate::{Case, play};
use ::fit::MadeFit;
use capture::CaptureReader;
use scenario::Scenario;
use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

/// What the sender's host prints of its connections, five times a second, as a user would have it printed.
const SS_LOG: &str = "while sleep 0.2; do date +%s.%N; ss -tinO; done > $0 2> /dev/null\n";

/// Plays a case, fits the capture of its vantage point and predicts.
///
/// # Errors
/// The lab cannot play it.
pub fn judge_on_kernel(case: &Case, folder: &Path) -> Result<FitRow, String> {
    let scenario = play::variant(case)?.scenario;
    let stages: usize = scenario.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    let create = |name: String| File::create(folder.join(name)).map_err(|e| e.to_string());
    let hosts: Result<Vec<_>, _> =
        scenario.hosts.iter().map(|h| create(format!("{}.pcap", h.name))).collect();
    let stages: Result<Vec<_>, _> = (0..stages).map(|i| create(format!("stage-{i}.pcap"))).collect();
    let pcap = Some(lab::Captures { hosts: hosts?, stages: stages? });
    let options = lab::LabOptions { seed: case.seed, pcap, ..Default::default() };
    lab::run("kernel", &scenario, options).map_err(|e| e.to_string())?;
    let host = &scenario.hosts[case.vantage.host()].name;
    let reader = CaptureReader::open(&folder.join(format!("{host}.pcap"))).map_err(|e| e.to_string())?;
    let began = Instant::now();
    let made = fitted(reader);
    told(case, &scenario, "kernel", began, made)
}

/// The same of what `ss` printed on the sender's host meanwhile: no packet was captured.
///
/// # Errors
/// The lab cannot play it.
pub fn judge_ss_on_kernel(case: &Case, folder: &Path) -> Result<FitRow, String> {
    use std::os::unix::fs::PermissionsExt;
    let scenario = play::variant(case)?.scenario;
    // The program runs as nobody.
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
    let began = Instant::now();
    let made = fitted_to(::fit::of_ss_log(&text));
    told(case, &scenario, "kernel-ss", began, made)
}

/// The row of a case that was fitted.
fn told(
    case: &Case,
    scenario: &Scenario,
    clock: &'static str,
    began: Instant,
    made: Result<MadeFit, String>,
) -> Result<FitRow, String> {
    let row = begun(case, scenario, began.elapsed().as_secs_f64());
    let mut row = FitRow { clock, ..row };
    match made {
        Ok(made) => row.predict(case, scenario, &made, |asked, _| {
            let options = lab::LabOptions { seed: case.seed + 1, ..Default::default() };
            let truth = lab::run("kernel", asked, options).map_err(|e| e.to_string())?;
            Ok(figures(&truth.variant))
        })?,
        Err(why) => row.why = why,
    }
    Ok(row)
}
