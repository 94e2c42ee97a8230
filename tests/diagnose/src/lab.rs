//! Cases of the corpus on this machine's kernel: captures and truth are of the same run (`kernel.rs`).

use crate::judge::{lines, read};
use crate::kernel::{self, Files};
use crate::line::Line;
use crate::play::variant;
use crate::{Case, Truth, draw, truth};
use capture::CaptureReader;
use scenario::Scenario;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What the lab carries without a doubt on two shared cores, bit/s.
const MOST_RATE: f64 = 100e6;
/// How long a case takes at most, seconds.
const SECONDS: f64 = 10.0;

/// Case `number` of a set, cut to what the lab carries; `None`: it is too fast.
pub fn case(set: u64, number: u64) -> Option<Case> {
    let case = draw::case(set, number);
    (case.rate <= MOST_RATE).then(|| case.within(SECONDS))
}

/// Runs a case and diagnoses its capture; the hosts' captures stay in `folder`, as `<host>.pcap`.
///
/// # Errors
/// The lab says why it cannot; missing privileges as [`lab::LabError::Permission`].
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
    let seen = outcome.and_then(|o| {
        kernel::seen(&scenario, case.vantage.host(), &files, &o.flow_series).map_err(unsupported)
    });
    for stage in &files.stages {
        let _ = std::fs::remove_file(stage);
    }
    let truth = truth::truth(case, &seen?);
    let capture = CaptureReader::open(&files.hosts[case.vantage.host()]);
    let diagnosis = capture.map(read).map_err(|e| unsupported(e.to_string()))?;
    let lines = lines(&truth, &diagnosis);
    Ok((truth, lines))
}

/// The kernel runs a scenario, up to `tries` times while other work on this machine disturbs it; what `host` sees goes to `file`.
///
/// # Errors
/// The lab says why it cannot, or the file system, with the file.
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
