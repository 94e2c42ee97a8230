//! Reads observations of a path, from which a scenario is fitted that behaves as the path did.

use crate::{CommandError, regular};
use capture::{CaptureReader, PacketFilter};
use fit::{Fit, FitError, ObservedPath};
use std::io::Read;
use std::path::Path;
use track::TrackerOptions;

/// Size limit of a text or JSON that is read, in bytes.
const MAX_SUMMARY_BYTES: u64 = 64 << 20;

/// Reads what a capture, the output of iperf or ss, or a result folder shows of its path. `variant` selects a
/// variant of the result folder. While a capture is read, `progress` gets the number of bytes read and, where
/// it is known, their total.
///
/// # Errors
/// Fails when the input cannot be read. The inner error says why the input does not show a path.
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

/// Whether the argument names an input of [`observed`]. If not, it is a scenario or does not exist.
pub fn is_observed(path: &Path) -> bool {
    let is_scenario = path == Path::new("-") || path.extension().is_some_and(|e| e == "toml");
    !is_scenario
        && match summary_kind(path) {
            Some(SummaryKind::Results) => path.join(RESULT).is_file(),
            Some(_) => path.is_file(),
            None => path.is_file() && CaptureReader::open(path).is_ok(),
        }
}

/// Observes a path in an opened capture. `progress` as in [`observed`].
///
/// # Errors
/// Fails when the capture does not show a path.
pub fn captured(
    mut reader: CaptureReader,
    filter: PacketFilter,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<ObservedPath, FitError> {
    reader.keep(filter);
    let progress = &mut |done, all| progress(done, all);
    let all = track::track_capture_with_udp(reader, TrackerOptions::default(), None, progress);
    let facts = fit::facts(&all.tracks);
    let info = diagnosis::capture_info(all.file, &all.totals);
    let diagnosis = diagnosis::diagnose_tracks(all.tracks, info);
    ObservedPath::of(&diagnosis, &facts)
}

/// Returns why a fit must not be relied on, as one or several sentences.
pub fn distrust(fit: &Fit) -> Option<String> {
    (!fit.misfits.is_empty()).then(|| fit.headline.clone())
}

/// Number of bytes at the start of a file that identify its kind.
const HEAD_BYTES: u64 = 64 << 10;

/// Returns the start of a text file; `None` for anything else.
pub fn head_of_text(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    (!head.contains(&0)).then(|| String::from_utf8_lossy(&head).into_owned())
}

/// Returns the name of a summary's kind for people; `None` for a text that [`observed`] does not read.
pub fn summary_title(text: &str) -> Option<&'static str> {
    Some(match text_kind(text)? {
        SummaryKind::Ss => "output of `ss -ti`",
        SummaryKind::Iperf3 => "JSON of iperf3",
        SummaryKind::IperfText | SummaryKind::Results => "text of iperf",
    })
}

/// Returns which kind of summary a text is.
fn text_kind(text: &str) -> Option<SummaryKind> {
    match () {
        () if fit::is_ss_log(text) => Some(SummaryKind::Ss),
        () if fit::is_iperf3(text) => Some(SummaryKind::Iperf3),
        () if fit::is_iperf_text(text) => Some(SummaryKind::IperfText),
        () => None,
    }
}

/// The result's file in a result folder.
const RESULT: &str = "result.json";

/// A summary of a path without its packets.
enum SummaryKind {
    /// A result folder.
    Results,
    /// JSON output of iperf3.
    Iperf3,
    /// Text output of iperf3 or iperf2.
    IperfText,
    /// Output of `ss -ti`, logged repeatedly.
    Ss,
}

/// Returns which kind of summary the argument names; `None` where it names none.
fn summary_kind(path: &Path) -> Option<SummaryKind> {
    match () {
        () if path.is_dir() => Some(SummaryKind::Results),
        () => match head_of_text(path).as_deref().and_then(text_kind) {
            None if path.extension().is_some_and(|e| e == "json") => Some(SummaryKind::Iperf3),
            kind => kind,
        },
    }
}

/// Observes a path in a summary; `None` where the argument is not a summary.
fn summary(
    path: &Path,
    variant: Option<&str>,
) -> Result<Option<Result<ObservedPath, FitError>>, CommandError> {
    let text = |file: &Path| {
        let bytes = regular::read_limited(file, MAX_SUMMARY_BYTES)
            .map_err(|e| CommandError::Io(file.display().to_string(), e))?;
        String::from_utf8(bytes)
            .map_err(|_| CommandError::Result(file.display().to_string(), "not UTF-8 text".into()))
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
                let what = format!("{}: no such variant, it has: {}", path.display(), known.join(", "));
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

/// Turns the error of a malformed text into one that names its file, line and key.
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
