//! The only place that calls the diagnosis under test.
//!
//! A simulated capture goes to the flow tracker packet by packet, without a file. Every tenth is written as
//! pcap in memory and read back, to cover the file formats. With another program (`longfat`) all captures are
//! files.

use crate::line::Line;
use crate::watch::Sink;
use crate::{Case, PcapSink, Truth, play};
use capture::{Batch, CaptureReader, FileInfo, Frame, TcpPacket};
use diagnosis::{capture_info, diagnose_tracks};
use result::Diagnosis;
use result::diagnosis::CaptureInfo;
use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor};
use std::path::{Path, PathBuf};
use std::process::Command;
use track::{Track, Tracker, TrackerOptions};

/// One in this many cases is written as pcap and read back.
const PCAP_EVERY: u64 = 10;

/// The diagnosis under test.
#[derive(Debug, Default)]
pub struct Judge {
    /// Another build of `longfat` and a scratch folder for captures; `None` for this build's library.
    program: Option<(PathBuf, PathBuf)>,
}

/// A tracker that receives a simulated capture.
pub struct Direct(pub Tracker);

impl Default for Direct {
    fn default() -> Direct {
        Direct(Tracker::new(TrackerOptions::default()))
    }
}

impl Sink for Direct {
    fn packet(&mut self, packet: &TcpPacket) {
        self.0.packet(packet);
    }

    fn too_big(&mut self, message: &Frame) {
        message.too_big().iter().for_each(|report| self.0.report(report));
    }
}

/// Plays a case and returns its truth and the tracks of its capture.
///
/// # Errors
/// Fails as [`play`] does.
pub fn played(case: &Case) -> Result<(Truth, Vec<Track>, CaptureInfo), String> {
    let mut direct = Direct::default();
    let truth = play(case, &mut direct)?;
    let (tracks, info) = tracked(direct.0, FileInfo::default());
    Ok((truth, tracks, info))
}

/// Returns the tracks of a tracker, and the capture's summary.
fn tracked(tracker: Tracker, file: FileInfo) -> (Vec<Track>, CaptureInfo) {
    let mut tracks: Vec<Track> = Vec::new();
    let totals = tracker.finish(&mut tracks);
    (tracks, capture_info(file, &totals))
}

/// Passes on the TCP packets of an opened capture.
pub fn packets(reader: &mut CaptureReader, mut each: impl FnMut(&TcpPacket)) {
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        batch.packets.iter().for_each(&mut each);
        batch.clear();
    }
}

/// Diagnoses an opened capture with this build.
pub fn read(reader: CaptureReader) -> Diagnosis {
    let (tracks, info) = read_tracks(reader);
    diagnose_tracks(tracks, info)
}

/// Returns the tracks of an opened capture, and its summary.
pub fn read_tracks(mut reader: CaptureReader) -> (Vec<Track>, CaptureInfo) {
    let mut tracker = Tracker::new(TrackerOptions::default());
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        tracker.batch(&batch);
        batch.clear();
    }
    tracked(tracker, reader.info())
}

impl Judge {
    /// Diagnoses the packets of a tracker with this build.
    pub fn diagnose_tracker(tracker: Tracker) -> Diagnosis {
        let (tracks, info) = tracked(tracker, FileInfo::default());
        diagnose_tracks(tracks, info)
    }

    /// Uses `program`, or this build's library.
    ///
    /// # Errors
    /// Fails if there is no such program, or no scratch folder.
    pub fn new(program: Option<&str>) -> Result<Judge, String> {
        let Some(program) = program.map(PathBuf::from) else { return Ok(Judge::default()) };
        if !program.exists() {
            return Err(format!("{}: no such program", program.display()));
        }
        let scratch = std::env::temp_dir().join(format!("longfat-judge-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        Ok(Judge { program: Some((program, scratch)) })
    }

    /// Diagnoses a capture file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or the program fails or prints no diagnosis.
    pub fn diagnose(&self, capture: &Path) -> Result<Diagnosis, String> {
        let Some((program, _)) = &self.program else {
            return CaptureReader::open(capture).map(read).map_err(|e| e.to_string());
        };
        let out = Command::new(program).args(["diagnose", "--json"]).arg(capture).output();
        let out = out.map_err(|e| format!("{}: {e}", program.display()))?;
        if !out.status.success() {
            let why = String::from_utf8_lossy(&out.stderr);
            return Err(format!("diagnose {}: {} {why}", capture.display(), out.status));
        }
        serde_json::from_slice(&out.stdout).map_err(|e| format!("diagnose {}: {e}", capture.display()))
    }

    /// Plays a case and scores the verdicts on its flows.
    ///
    /// # Errors
    /// Fails as [`play`] and [`Judge::diagnose`] do.
    pub fn score(&self, case: &Case) -> Result<(Truth, Diagnosis, Vec<Line>), String> {
        let (truth, diagnosis) = match &self.program {
            Some((_, scratch)) => self.by_program(case, scratch)?,
            None if case.number.is_multiple_of(PCAP_EVERY) => {
                let mut file = Vec::new();
                let truth = write(case, &mut file)?;
                let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-");
                (truth, reader.map(read).map_err(|e| e.to_string())?)
            }
            None => {
                let (truth, tracks, info) = played(case)?;
                (truth, diagnose_tracks(tracks, info))
            }
        };
        let lines = lines(&truth, &diagnosis);
        Ok((truth, diagnosis, lines))
    }

    fn by_program(&self, case: &Case, scratch: &Path) -> Result<(Truth, Diagnosis), String> {
        let path = scratch.join(format!("{}.pcap", case.number));
        let text = |e: io::Error| format!("{}: {e}", path.display());
        let truth = write(case, BufWriter::new(File::create(&path).map_err(text)?))?;
        let diagnosis = self.diagnose(&path);
        fs::remove_file(&path).map_err(text)?;
        Ok((truth, diagnosis?))
    }
}

fn write(case: &Case, out: impl io::Write) -> Result<Truth, String> {
    let mut sink = PcapSink::new(out).map_err(|e| e.to_string())?;
    let truth = play(case, &mut sink)?;
    sink.finish().map_err(|e| e.to_string())?;
    Ok(truth)
}

impl Drop for Judge {
    fn drop(&mut self) {
        if let Some((_, scratch)) = &self.program {
            let _ = fs::remove_dir_all(scratch);
        }
    }
}

/// Scores the flows of a case.
pub fn lines(truth: &Truth, diagnosis: &Diagnosis) -> Vec<Line> {
    let line = |f| Line {
        case: truth.number.to_string(),
        vantage: truth.vantage.clone(),
        flows: truth.flows.len(),
        intended: truth.intended.clone(),
        rate: truth.rate_mbps,
        ..Line::of(f, diagnosis)
    };
    truth.flows.iter().map(line).collect()
}
