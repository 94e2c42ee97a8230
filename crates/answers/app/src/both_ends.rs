//! `--both-ends`: two captures of one path, one taken at each end.

use crate::CommandError;
use print::escape::value;
use result::diagnosis::CaptureInfo;
use std::path::Path;
use track::Track;
use track::both_ends::BothEndsTracks;
use track::udp::UdpTrack;

/// Fails unless both paths are regular files. Each file is read twice, so a pipe will not do.
pub fn are_files(paths: [&Path; 2]) -> Result<(), CommandError> {
    let Some(other) = paths.into_iter().find(|path| !path.is_file()) else { return Ok(()) };
    let name = other.display().to_string();
    let what = "--both-ends takes two capture files, since it reads each twice";
    Err(CommandError::Usage(format!("{}: {what}", value(&name))))
}

/// Splits what was tracked into the tracks, the capture's information, and the UDP flows with the number of
/// UDP flows that were forgotten. The information is that of the first capture, plus what only both captures
/// together show and the damage of the second.
pub fn parts(both: BothEndsTracks) -> (Vec<Track>, CaptureInfo, (Vec<UdpTrack>, u64)) {
    let [here, there] = both.files;
    let info = diagnosis::both_ends_info(&both.paired, &there.name);
    let mut capture = diagnosis::capture_info(here, &both.totals);
    capture.both_ends = Some(info);
    if let (None, Some(damage)) = (&capture.damage, there.damage) {
        let what = format!("{}: {}", there.name, damage.what);
        capture.damage = Some(result::diagnosis::Damage { offset: damage.offset, what });
    }
    (both.tracks, capture, both.udp)
}
