//! A scenario that behaves as a captured path did.

use crate::{CommandError, regular};
use capture::{CaptureReader, PacketFilter};
use fit::{FitError, ObservedPath};
use std::io::Read;
use std::path::Path;
use track::TrackerOptions;

/// The largest JSON that is read, bytes.
const MOST_JSON: u64 = 64 << 20;

/// What a capture, a text of iperf or ss, or a result folder (of it a `variant`) shows of its path. `progress` gets of a capture the
/// bytes that are read and, where that is known, how many there are.
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
            Some(_) => path.is_file(),
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

/// Bytes at the begin of a file that show what it is.
const HEAD: u64 = 64 << 10;

/// The begin of a text file; `None`: it is not a file, or not a text.
pub fn head_of_text(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    (!head.contains(&0)).then(|| String::from_utf8_lossy(&head).into_owned())
}

/// What a summary is, for people; `None`: the text is not one that [`observed`] reads.
pub fn summary_title(text: &str) -> Option<&'static str> {
    Some(match text_kind(text)? {
        SummaryKind::Ss => "output of `ss -ti`",
        SummaryKind::Iperf3 => "JSON of iperf3",
        SummaryKind::IperfText | SummaryKind::Results => "text of iperf",
    })
}

/// Which summary a text is.
fn text_kind(text: &str) -> Option<SummaryKind> {
    match () {
        () if fit::is_ss_log(text) => Some(SummaryKind::Ss),
        () if fit::is_iperf3(text) => Some(SummaryKind::Iperf3),
        () if fit::is_iperf_text(text) => Some(SummaryKind::IperfText),
        () => None,
    }
}

/// The result in a folder of results.
const RESULT: &str = "result.json";

/// What tells of a path without its packets.
enum SummaryKind {
    /// A folder of results.
    Results,
    /// An iperf3 JSON.
    Iperf3,
    /// The table of iperf3 or iperf2.
    IperfText,
    /// A log of ss.
    Ss,
}

/// Which of these the argument names; `None`: none.
fn summary_kind(path: &Path) -> Option<SummaryKind> {
    match () {
        () if path.is_dir() => Some(SummaryKind::Results),
        () => match head_of_text(path).as_deref().and_then(text_kind) {
            None if path.extension().is_some_and(|e| e == "json") => Some(SummaryKind::Iperf3),
            kind => kind,
        },
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
        Some(SummaryKind::IperfText) => whole(path, fit::of_iperf_text(&text(path)?))?,
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
