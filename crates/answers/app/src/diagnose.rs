//! Diagnoses one capture, several read as one, or two taken at both ends of a path.

use crate::{CommandError, both_ends, qlog};
use capture::{Batch, CaptureReader, OpenError, PacketFilter};
use print::escape::value;
use result::Diagnosis;
use std::fs;
use std::path::{Path, PathBuf};
use track::both_ends::track_both_ends;
use track::{PacketRecorder, TrackerOptions};
use units::Time;

/// The captures to diagnose.
pub enum CaptureSource<'a> {
    /// One capture, or several read as one.
    One(Box<CaptureReader>),
    /// Two captures, taken at both ends of a path.
    BothEnds([&'a Path; 2]),
}

/// Diagnoses captures together with the logs (`qlogs`) that endpoints wrote meanwhile. Each packet goes to
/// `recorder`. `progress` gets the number of bytes read and, where it is known, their total.
///
/// # Errors
/// Fails when a file cannot be read.
pub fn diagnosed(
    source: CaptureSource,
    filter: PacketFilter,
    qlogs: &[PathBuf],
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Diagnosis, CommandError> {
    let options = TrackerOptions::default();
    let progress = &mut |done, all| progress(done, all);
    let (mut tracks, info, (udp, forgotten)) = match source {
        CaptureSource::One(mut reader) => {
            reader.keep(filter);
            let all = track::track_capture_with_udp(*reader, options, recorder, progress);
            (all.tracks, diagnosis::capture_info(all.file, &all.totals), (all.udp, all.forgotten_udp))
        }
        CaptureSource::BothEnds(paths) => {
            both_ends::are_files(paths)?;
            let both = track_both_ends(paths, &filter, options, recorder, progress);
            both_ends::parts(both.map_err(|e| CommandError::Usage(e.to_string()))?)
        }
    };
    let (udp_flows, left) = diagnosis::diagnose_udp(&udp, &info);
    let endpoints = qlog::read(qlogs, Some((info.start_s, info.duration_s)))?;
    let numbers = qlog::append(&mut tracks, &endpoints);
    let mut d = diagnosis::diagnose_tracks(tracks, info);
    d.capture.omitted_udp_flows = 2 * forgotten + left;
    d.udp_flows = udp_flows;
    qlog::mark(&mut d, &endpoints, &numbers);
    Ok(d)
}

/// Returns the files of a folder, sorted by name, and one line for each other entry in it.
///
/// # Errors
/// Fails when the folder cannot be read.
pub fn listing(dir: &Path) -> Result<(Vec<PathBuf>, Vec<String>), CommandError> {
    let problem = |e| CommandError::Io(dir.display().to_string(), e);
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(problem)? {
        paths.push(entry.map_err(problem)?.path());
    }
    paths.sort();
    // Opening a pipe would block.
    let (files, others): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_file());
    let reason = |path: &PathBuf| match path.is_dir() {
        true => format!("{}: a folder; give its name to diagnose it", path.display()),
        false => format!("{}: not a regular file", path.display()),
    };
    Ok((files, others.iter().map(reason).collect()))
}

/// Returns the error for a folder without captures. It names the first entry that was left out.
pub fn none(dir: &Path, left_out: &[String]) -> CommandError {
    let dir = dir.display().to_string();
    let first = left_out.first().map(|why| format!(" ({})", value(why))).unwrap_or_default();
    CommandError::Usage(format!("{}: no captures in this folder{first}", value(&dir)))
}

/// Opens all captures of a folder as one, the earliest first. Also returns a line for each file that was left
/// out.
///
/// # Errors
/// Fails when the folder holds no capture.
pub fn joined(dir: &Path) -> Result<(CaptureReader, Vec<String>), CommandError> {
    let (files, mut left_out) = listing(dir)?;
    let mut begun: Vec<(Time, PathBuf)> = Vec::new();
    for path in files {
        match begin(&path) {
            // A capture without a timestamp has nothing to read.
            Ok(time) => begun.extend(time.map(|time| (time, path))),
            Err(why) => left_out.push(why.to_string()),
        }
    }
    begun.sort();
    if begun.is_empty() {
        return Err(none(dir, &left_out));
    }
    let paths = begun.into_iter().map(|(_, path)| path).collect();
    let reader = CaptureReader::open_all(&dir.display().to_string(), paths);
    Ok((reader.map_err(|e| CommandError::Usage(e.to_string()))?, left_out))
}

/// Returns the time at which a capture begins, from its first records. Some records may have no timestamp.
fn begin(path: &Path) -> Result<Option<Time>, OpenError> {
    let mut reader = CaptureReader::open(path)?;
    let mut batch = Batch::default();
    while reader.info().times.is_none() && reader.fill(&mut batch) {
        batch.clear();
    }
    Ok(reader.info().times.map(|(first, _)| first))
}
