//! A scenario that behaves as a captured path did.

use crate::{CommandError, regular};
use capture::{CaptureReader, PacketFilter};
use fit::{FitError, ObservedPath};
use std::io::Read;
use std::path::Path;
use track::TrackerOptions;

/// The largest JSON that is read, bytes.
const MOST_JSON: u64 = 64 << 20;

/// What a capture, an iperf3 JSON, a log of ss or a result folder (of it a `variant`) tells of its path. `progress` is told
/// of a capture the bytes that are read and, where that is known, how many there are.
///
/// # Errors
/// It cannot be read. The inner: it tells of no path.
pub fn observed(
    path: &Path,
    variant: Option<&str>,
    filter: PacketFilter,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Result<ObservedPath, FitError>, CommandError> {
    if let Some(seen) = summary(path, variant)? {
        return Ok(seen);
    }
    let reader = CaptureReader::open(path).map_err(|e| CommandError::Usage(e.to_string()))?;
    Ok(captured(reader, filter, progress))
}

/// Whether the argument names what [`observed`] reads; if not, it is a scenario, or nothing.
pub fn is_observed(path: &Path) -> bool {
    let is_scenario = path == Path::new("-") || path.extension().is_some_and(|e| e == "toml");
    !is_scenario
        && match summary_kind(path) {
            Some(SummaryKind::Results) => path.join(RESULT).is_file(),
            Some(SummaryKind::Iperf3 | SummaryKind::Ss) => path.is_file(),
            None => path.is_file() && CaptureReader::open(path).is_ok(),
        }
}

/// What an opened capture tells.
fn captured(
    mut reader: CaptureReader,
    filter: PacketFilter,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<ObservedPath, FitError> {
    reader.keep(filter);
    let progress = &mut |done, all| progress(done, all);
    let all = track::track_datagrams_too(reader, TrackerOptions::default(), None, progress);
    let facts = fit::facts(&all.tracks);
    let info = diagnosis::capture_info(all.file, &all.totals);
    let diagnosis = diagnosis::diagnose_tracks(all.tracks, info);
    ObservedPath::of(&diagnosis, &facts)
}

/// What of a file says that it is a log of ss, bytes.
const HEAD: u64 = 64 << 10;

/// Whether a file's first lines are those of `ss -tin`.
fn begins_as_ss_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file());
    let read = file.and_then(|f| f.take(HEAD).read_to_end(&mut head).ok());
    read.is_some() && !head.contains(&0) && fit::is_ss_log(&String::from_utf8_lossy(&head))
}

/// The result in a folder of results.
const RESULT: &str = "result.json";

/// What tells of a path without its packets.
enum SummaryKind {
    /// A folder of results.
    Results,
    /// An iperf3 JSON.
    Iperf3,
    /// A log of ss.
    Ss,
}

/// Which of these the argument names; `None`: none.
fn summary_kind(path: &Path) -> Option<SummaryKind> {
    match () {
        () if path.is_dir() => Some(SummaryKind::Results),
        () if path.extension().is_some_and(|e| e == "json") => Some(SummaryKind::Iperf3),
        () if begins_as_ss_log(path) => Some(SummaryKind::Ss),
        () => None,
    }
}

/// What a summary tells; `None`: the argument is none.
fn summary(
    path: &Path,
    variant: Option<&str>,
) -> Result<Option<Result<ObservedPath, FitError>>, CommandError> {
    let text = |file: &Path| {
        let bytes = regular::read_most(file, MOST_JSON)
            .map_err(|e| CommandError::Io(file.display().to_string(), e))?;
        String::from_utf8(bytes)
            .map_err(|_| CommandError::Result(file.display().to_string(), "it is no text".into()))
    };
    Ok(Some(match summary_kind(path) {
        Some(SummaryKind::Results) => {
            let file = path.join(RESULT);
            let run = result::read_json(&text(&file)?);
            let run = run.map_err(|e| CommandError::Result(file.display().to_string(), e.to_string()))?;
            let variant = match variant {
                Some(wanted) => run.variants.iter().find(|v| v.name == wanted),
                None => run.variants.first(),
            };
            let Some(variant) = variant else {
                let known: Vec<&str> = run.variants.iter().map(|v| v.name.as_str()).collect();
                let what = format!("{}: no such variant; there are: {}", path.display(), known.join(", "));
                return Err(CommandError::Usage(what));
            };
            fit::of_result(variant)
        }
        Some(SummaryKind::Iperf3) => whole(path, fit::of_iperf3(&text(path)?))?,
        Some(SummaryKind::Ss) => whole(path, fit::of_ss_log(&text(path)?))?,
        None => return Ok(None),
    }))
}

/// What is wrong with a text is told with its place.
fn whole(
    path: &Path,
    seen: Result<ObservedPath, FitError>,
) -> Result<Result<ObservedPath, FitError>, CommandError> {
    match seen {
        Err(FitError::Malformed { line, key, why }) => {
            Err(CommandError::Result(format!("{}:{line}", path.display()), format!("`{key}`: {why}")))
        }
        seen => Ok(seen),
    }
}
