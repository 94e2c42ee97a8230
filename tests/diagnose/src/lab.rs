//! Runs cases of the corpus on this machine's kernel. Captures and truth come from the same run
//! (`kernel.rs`).

use crate::judge::{Judge, lines, read};
use crate::kernel::{self, Files};
use crate::line::Line;
use crate::play::variant;
use crate::{Case, Truth, Vantage, draw, truth};
use capture::CaptureReader;
use scenario::Scenario;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Greatest rate that the lab certainly carries on two shared cores, bit/s.
const MAX_RATE: f64 = 100e6;
/// Longest case, seconds.
const SECONDS: f64 = 10.0;

/// Draws case `number` of a set, shortened for the lab; `None` if it is too fast.
pub fn case(set: u64, number: u64) -> Option<Case> {
    let case = draw::case(set, number);
    (case.rate <= MAX_RATE).then(|| case.within(SECONDS))
}

/// Runs a case and diagnoses its capture. The hosts' captures stay in `folder` as `<host>.pcap`.
///
/// # Errors
/// Fails as the lab does; missing privileges are [`lab::LabError::Permission`].
pub fn run(case: &Case, folder: &Path) -> Result<(Truth, Vec<Line>), lab::LabError> {
    let unsupported = |why: String| lab::LabError::Unsupported { key: format!("case {}", case.number), why };
    let scenario = variant(case).map_err(unsupported)?.scenario;
    let stages: usize = scenario.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    let files = Files {
        hosts: scenario.hosts.iter().map(|h| folder.join(format!("{}.pcap", h.name))).collect(),
        stages: (0..stages).map(|i| folder.join(format!("stage-{i}.pcap"))).collect(),
    };
    let create = |paths: &[PathBuf]| -> Result<Vec<File>, lab::LabError> {
        let files: std::io::Result<_> = paths.iter().map(File::create).collect();
        files.map_err(|e| unsupported(e.to_string()))
    };
    let pcap = Some(lab::Captures { hosts: create(&files.hosts)?, stages: create(&files.stages)? });
    let outcome =
        lab::run("kernel", &scenario, lab::LabOptions { seed: case.seed, pcap, ..Default::default() });
    let observed = outcome.and_then(|o| {
        kernel::observe(&scenario, case.vantage.host(), &files, &o.flow_series).map_err(unsupported)
    });
    for stage in &files.stages {
        let _ = std::fs::remove_file(stage);
    }
    let truth = truth::truth(case, &observed?);
    let capture = CaptureReader::open(&files.hosts[case.vantage.host()]);
    let diagnosis = capture.map(read).map_err(|e| unsupported(e.to_string()))?;
    let lines = lines(&truth, &diagnosis);
    Ok((truth, lines))
}

/// A case that [`run`] ran in its own folder, with its truth ([`Truth::keep`]).
pub struct Kept {
    pub truth: Truth,
    pub scenario: Scenario,
    /// The capture at the case's vantage.
    pub capture: PathBuf,
}

impl Kept {
    /// Reads a case from its folder.
    ///
    /// # Errors
    /// Names the folder if a file is missing or malformed.
    pub fn read(folder: &Path) -> Result<Kept, String> {
        let (truth, variant) = Truth::kept(folder)?;
        let host = Vantage::ALL.into_iter().find(|v| v.name() == truth.vantage).map(Vantage::host);
        let host = host.and_then(|i| variant.scenario.hosts.get(i));
        let host = host.ok_or_else(|| format!("{}: no host {}", folder.display(), truth.vantage))?;
        let capture = folder.join(format!("{}.pcap", host.name));
        Ok(Kept { truth, scenario: variant.scenario, capture })
    }

    /// Diagnoses the capture.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn lines(&self) -> Result<Vec<Line>, String> {
        Ok(lines(&self.truth, &Judge::default().diagnose(&self.capture)?))
    }
}

/// Returns the folders of all kept cases, in the order of their numbers.
///
/// # Errors
/// Fails if the folder is missing or has no case.
pub fn kept_cases(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let text = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(text)?.collect::<Result<Vec<_>, _>>().map_err(text)?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u64>().ok();
    let paths = entries.into_iter().map(|e| e.path()).filter(|p| p.join("truth.json").exists());
    let mut cases: Vec<(u64, PathBuf)> = paths.filter_map(|p| Some((number(&p)?, p))).collect();
    cases.sort();
    match cases.is_empty() {
        true => Err(format!("{}: no kept case in this folder", folder.display())),
        false => Ok(cases.into_iter().map(|c| c.1).collect()),
    }
}

/// Runs a scenario on the kernel, up to `tries` times while other work disturbs it. The capture at `host`
/// goes to `file`.
///
/// # Errors
/// Fails as the lab does, or as the file system does, with the file.
pub fn captured_at(
    host: &str,
    scenario: &Scenario,
    seed: u64,
    file: &Path,
    tries: usize,
) -> Result<(), String> {
    let create = |file: &Path| File::create(file).map_err(|e| format!("{}: {e}", file.display()));
    let null = Path::new("/dev/null");
    let stages: usize = scenario.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    for _ in 0..tries {
        let hosts = scenario.hosts.iter().map(|h| create(if h.name == host { file } else { null }));
        let hosts = hosts.collect::<Result<Vec<File>, String>>()?;
        let stages = (0..stages).map(|_| create(null)).collect::<Result<Vec<File>, String>>()?;
        let pcap = Some(lab::Captures { hosts, stages });
        let options = lab::LabOptions { seed, pcap, ..Default::default() };
        let outcome = lab::run("kernel", scenario, options).map_err(|e| e.to_string())?;
        if outcome.variant.trust.is_none_or(|t| t.reliable) {
            break;
        }
    }
    Ok(())
}
