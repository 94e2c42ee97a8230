//! Asks for a diagnosis: the one place that calls what is judged.

use crate::line::Line;
use crate::{Case, PcapSink, Truth, play};
use result::Diagnosis;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that is judged, and where captures may lie for a moment.
#[derive(Clone, Debug)]
pub struct Judge {
    /// `longfat`.
    pub program: PathBuf,
    /// A folder of its own.
    pub scratch: PathBuf,
}

impl Judge {
    /// `program`, or the `longfat` that was built beside this program.
    ///
    /// # Errors
    /// There is none, or no room for captures.
    pub fn new(program: Option<&str>) -> Result<Judge, String> {
        let beside = || Some(std::env::current_exe().ok()?.parent()?.join("longfat"));
        let program = program.map(PathBuf::from).or_else(beside).filter(|p| p.exists());
        let program = program.ok_or("no `longfat` to judge: build it, or name one with --program")?;
        let scratch = std::env::temp_dir().join(format!("longfat-judge-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        Ok(Judge { program, scratch })
    }

    /// What the program says of a capture.
    ///
    /// # Errors
    /// It fails, or what it prints is no diagnosis.
    pub fn diagnose(&self, capture: &Path) -> Result<Diagnosis, String> {
        let out = Command::new(&self.program).args(["diagnose", "--json"]).arg(capture).output();
        let out = out.map_err(|e| format!("{}: {e}", self.program.display()))?;
        if !out.status.success() {
            let why = String::from_utf8_lossy(&out.stderr);
            return Err(format!("diagnose {}: {} {why}", capture.display(), out.status));
        }
        serde_json::from_slice(&out.stdout).map_err(|e| format!("diagnose {}: {e}", capture.display()))
    }

    /// Plays a case, and scores what is said of its flows.
    ///
    /// # Errors
    /// As [`play`] and [`Judge::diagnose`].
    pub fn score(&self, case: &Case) -> Result<(Truth, Diagnosis, Vec<Line>), String> {
        let path = self.scratch.join(format!("{}.pcap", case.number));
        let text = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut sink = PcapSink::new(BufWriter::new(File::create(&path).map_err(text)?)).map_err(text)?;
        let truth = play(case, &mut sink)?;
        sink.finish().map_err(text)?;
        let diagnosis = self.diagnose(&path);
        fs::remove_file(&path).map_err(text)?;
        let diagnosis = diagnosis?;
        let lines = lines(&truth, &diagnosis);
        Ok((truth, diagnosis, lines))
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// The flows of a case beside what is said of them.
pub fn lines(truth: &Truth, diagnosis: &Diagnosis) -> Vec<Line> {
    let of = |f| Line {
        case: truth.number.to_string(),
        vantage: truth.vantage.clone(),
        flows: truth.flows.len(),
        meant: truth.meant.clone(),
        rate: truth.rate_mbps,
        ..Line::of(f, diagnosis)
    };
    truth.flows.iter().map(of).collect()
}
