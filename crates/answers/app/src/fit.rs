//! Reads what `longfat fit` and `longfat plan` fit a path to: a capture, a summary of iperf3 or ss, or a result folder.

use crate::{CommandError, regular};
use capture::{CaptureReader, PacketFilter};
use fit::{FitError, ObservedPath};
use std::io::Read;
use std::path::Path;
use track::TrackerOptions;

/// Largest summary or result that is read, bytes.
const MAX_TEXT: u64 = 64 << 20;

/// The path that a capture, a text of iperf or ss, or a `variant` of a result folder shows. `progress` is called with the bytes of a
/// capture read so far and, if known, all of them.
///
/// # Errors
/// The outer result fails if `path` cannot be read, the inner one if it shows no path.
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

/// Whether [`observed`] can read the argument; otherwise it is a scenario or nothing that longfat reads.
pub fn is_observed(path: &Path) -> bool {
    let is_scenario = path == Path::new("-") || path.extension().is_some_and(|e| e == "toml");
    !is_scenario
        && match summary_kind(path) {
            Some(SummaryKind::Results) => path.join(RESULT).is_file(),
            Some(_) => path.is_file(),
            None => path.is_file() && CaptureReader::open(path).is_ok(),
        }
}

/// The path that an opened capture shows.
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

/// Bytes at the begin of a file that show its format.
const HEAD: u64 = 64 << 10;

/// The begin of a text file; `None` if it is not a regular file or not a text.
pub fn head_of_text(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    (!head.contains(&0)).then(|| String::from_utf8_lossy(&head).into_owned())
}

/// The name of a summary's format in messages; `None` if the text is not a summary.
pub fn summary_title(text: &str) -> Option<&'static str> {
    Some(match text_kind(text)? {
        SummaryKind::Ss => "output of `ss -ti`",
        SummaryKind::Iperf3 => "JSON of iperf3",
        SummaryKind::IperfText | SummaryKind::Results => "text of iperf",
    })
}

/// The format of a summary; `None` if the text is not one.
fn text_kind(text: &str) -> Option<SummaryKind> {
    match () {
        () if fit::is_ss_log(text) => Some(SummaryKind::Ss),
        () if fit::is_iperf3(text) => Some(SummaryKind::Iperf3),
        () if fit::is_iperf_text(text) => Some(SummaryKind::IperfText),
        () => None,
    }
}

/// The file of the result in a result folder.
const RESULT: &str = "result.json";

/// Inputs without packets.
enum SummaryKind {
    /// A result folder.
    Results,
    /// JSON of iperf3.
    Iperf3,
    /// The table of iperf3 or iperf2.
    IperfText,
    /// A log of ss.
    Ss,
}

/// The format of the argument; `None` if it has none of these.
fn summary_kind(path: &Path) -> Option<SummaryKind> {
    match () {
        () if path.is_dir() => Some(SummaryKind::Results),
        () => match head_of_text(path).as_deref().and_then(text_kind) {
            None if path.extension().is_some_and(|e| e == "json") => Some(SummaryKind::Iperf3),
            kind => kind,
        },
    }
}

/// The path that a summary shows; `None` if the argument is not a summary.
fn summary(
    path: &Path,
    variant: Option<&str>,
) -> Result<Option<Result<ObservedPath, FitError>>, CommandError> {
    let text = |file: &Path| {
        let bytes = regular::read_most(file, MAX_TEXT)
            .map_err(|e| CommandError::Io(file.display().to_string(), e))?;
        String::from_utf8(bytes)
            .map_err(|_| CommandError::Result(file.display().to_string(), "it is not UTF-8 text".into()))
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
        Some(SummaryKind::Iperf3) => with_place(path, fit::of_iperf3(&text(path)?))?,
        Some(SummaryKind::IperfText) => with_place(path, fit::of_iperf_text(&text(path)?))?,
        Some(SummaryKind::Ss) => with_place(path, fit::of_ss_log(&text(path)?))?,
        None => return Ok(None),
    }))
}

/// Turns the fault of a malformed text into an error with file and line.
fn with_place(
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
